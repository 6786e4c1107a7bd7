/** A message in a few words. */

import type { MessageView } from "../api/types";
import { t } from "../text/text";

const LONGEST = 400;

export function gist(parts: MessageView["parts"]): string {
  const said = parts.map(inWords).filter(Boolean).join("\n").trim();
  return said.length > LONGEST ? `${said.slice(0, LONGEST).trimEnd()}…` : said;
}

function inWords(part: MessageView["parts"][number]): string {
  switch (part.kind) {
    case "text":
      return part.text;
    case "tool_call":
      return t.panel.rewrites.called(part.name);
    case "tool_result":
      return part.content.map((each) => (each.kind === "text" ? each.text : "")).join("\n");
    case "image":
      return part.name ?? t.panel.rewrites.picture;
    case "file":
      return part.name;
    default:
      return "";
  }
}
