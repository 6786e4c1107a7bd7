/** What can't be taken back on the server is done a little later: until then it can be undone here. */

import { t } from "../text/text";
import { toast, type Toast } from "../ui/toasts.svelte";
import { succeeded } from "./attempt";

type Wanted = {
  /** What is said meanwhile, beside "Undo". */
  said: string;
  run: () => Promise<unknown>;
  /** Show again what was hidden: it was undone, or it failed. */
  back: () => void;
};

const waiting = new Set<Toast>();

export function later({ said, run, back }: Wanted): void {
  const passed = async (): Promise<void> => {
    waiting.delete(shown);
    if (!(await succeeded(run()))) back();
  };
  const undo = (): void => {
    waiting.delete(shown);
    back();
  };
  const shown = toast(said, {
    action: { label: t.common.undo, run: undo },
    passed: () => void passed(),
  });
  waiting.add(shown);
}

// Whoever leaves the page meant it.
addEventListener("pagehide", () => {
  for (const shown of [...waiting]) shown.close();
});
