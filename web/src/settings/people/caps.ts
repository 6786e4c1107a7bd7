/** A cap as someone types it: null is none, undefined is no number. */
export function cap(text: string, { isWhole }: { isWhole: boolean }): number | null | undefined {
  const plain = text.replace(/[\s,_]/g, "");
  if (!plain) return null;
  const value = Number(plain);
  if (!Number.isFinite(value) || value < 0) return undefined;
  return isWhole && !Number.isInteger(value) ? undefined : value;
}
