/** What a text that begins with a slash may become. */

import type { Offered } from "../api/types";
import { t } from "../text/text";
import { completions, modelWanted } from "./commands";
import { hintOf } from "./offers";

/** What is put in its place, and what is said about it. */
export type Completed = { text: string; name: string; argument: string; help: string };

const MOST_MODELS = 20;

export function completed(text: string, offered: Offered[]): Completed[] {
  const wanted = modelWanted(text);
  if (wanted !== null) return modelsFor(wanted.toLowerCase(), offered);
  return completions(text).map((name) => {
    const argument = t.composer.commandArguments[name];
    const text = argument ? `/${name} ` : `/${name}`;
    return { text, name: `/${name}`, argument, help: t.composer.commandHelp[name] };
  });
}

function modelsFor(wanted: string, offered: Offered[]): Completed[] {
  return offered
    .filter((each) => each.name.toLowerCase().includes(wanted))
    .slice(0, MOST_MODELS)
    .map((each) => ({
      text: `/model ${each.name}`,
      name: each.name,
      argument: "",
      help: hintOf(each),
    }));
}
