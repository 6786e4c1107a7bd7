/** What a tool says of itself is written for models, and long: people get its first sentence. */
export function firstSentence(text: string): string {
  const line =
    text
      .trim()
      .split(/\n\n|\n- /)[0]
      ?.replace(/\s+/g, " ") ?? "";
  const end = /[.!?](?=\s+[A-Z`"“])/.exec(line);
  return end ? line.slice(0, end.index + 1) : line;
}
