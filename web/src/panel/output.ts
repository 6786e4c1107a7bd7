/** What a command has printed, as it is shown. */

const CONTROL =
  /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

/** The last lines, without colours and the like. A line that was written over shows its last state. */
export function tail(output: string, lines: number): string {
  return output
    .replace(/\r\n/g, "\n")
    .replace(CONTROL, "")
    .trimEnd()
    .split("\n")
    .slice(-lines)
    .map((line) => line.slice(line.lastIndexOf("\r") + 1))
    .join("\n");
}
