/** Words around rendered text. */

import { counted } from "./counted";

export const markdown = {
  code: (language: string) => (language ? `Code, ${language}` : "Code"),
  table: "Table",
  done: "Done",
  notDone: "Not done",
  image: "Image",
  diagram: "Diagram",
  diagramSource: "Source",
  diagramFailed: "This diagram can't be drawn. Here is its source.",
  diagramLarge: "This diagram is large.",
  diagramDraw: "Draw it",
  leadsTo: (host: string) => `leads to ${host}`,
  cut: (shown: string, whole: string) => `The first ${shown} of ${whole} are shown.`,
  showAll: "Show all",
  diff: {
    label: "Changes",
    added: "added",
    removed: "removed",
    counts: (added: string, removed: string) => `${added} added, ${removed} removed`,
    more: (lines: number) => `Show ${counted(lines, "more line")}`,
    less: "Show less",
  },
};
