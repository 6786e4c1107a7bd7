/** JSON that was kept in the browser; null if there is none, or it can't be read. */
export function parsed<T>(text: string | null): T | null {
  try {
    return JSON.parse(text ?? "null") as T | null;
  } catch {
    return null;
  }
}
