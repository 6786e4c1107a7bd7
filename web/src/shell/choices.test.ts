import { expect, test } from "vitest";
import type { Hit, SessionView } from "../api/types";
import { choicesFor, sectionsOf } from "./choices";

const session = (id: string, title: string | null): SessionView => ({ id, title }) as SessionView;
const known = {
  commands: [{ id: "theme", label: "Switch theme", run: () => undefined }],
  sessions: [session("a", "Trees of the north"), session("b", null)],
  hits: [] as Hit[],
};

test("before anything is typed there are the last sessions, and every command", () => {
  const sections = sectionsOf(choicesFor("", known));
  expect(sections.map(([name, inside]) => [name, inside.map((each) => each.label)])).toEqual([
    ["Recent sessions", ["Trees of the north", "New chat"]],
    ["Commands", ["Switch theme"]],
  ]);
});

test("what was typed finds titles and commands, then what was said", () => {
  const hit = { seq: 7, session: "c", title: "Elms", message: "m" } as Hit;
  const choices = choicesFor("th", { ...known, hits: [hit] });
  expect(choices.map((each) => each.id)).toEqual(["c-theme", "s-a", "h-7"]);
  expect(choices[2]).toMatchObject({ session: "c", label: "Elms" });
});

test("what is named better comes first, and of two alike the command", () => {
  const first = (typed: string): string | undefined => choicesFor(typed, known)[0]?.id;
  expect(first("trees")).toBe("s-a");
  expect(first("theme")).toBe("c-theme");
  const commands = [{ id: "new", label: "New chat", run: () => undefined }];
  expect(choicesFor("new chat", { ...known, commands })[0]?.id).toBe("c-new");
});
