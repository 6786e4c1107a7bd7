/** What a key means in the composer. */

export type Pressed = Pick<
  KeyboardEvent,
  "key" | "shiftKey" | "ctrlKey" | "metaKey" | "altKey" | "isComposing" | "keyCode"
>;
type Meaning = "send" | "steer" | "recall" | null;
export type Moment = { touch: boolean; empty: boolean; runs: boolean };

/** While an input method composes, Enter takes its word. Safari ends the composition first, and
 * tells by the key code alone. */
export function composes(pressed: Pressed): boolean {
  return pressed.isComposing || pressed.keyCode === 229;
}

/** Null leaves it to the text field. */
export function meaning(pressed: Pressed, { touch, empty, runs }: Moment): Meaning {
  if (composes(pressed)) return null;
  const bare = !pressed.shiftKey && !pressed.altKey;
  const command = pressed.ctrlKey || pressed.metaKey;
  if (pressed.key === "Enter" && bare) {
    if (command) return runs ? "steer" : "send";
    return touch ? null : "send";
  }
  return pressed.key === "ArrowUp" && bare && !command && empty ? "recall" : null;
}
