/** The secret of a sign-in link. It leaves the address at once: an address is shown, kept in the
 * history, and copied. */
export function secretIn(
  place: Pick<Location, "hash" | "pathname">,
  history: Pick<History, "replaceState">,
): string | null {
  const secret = place.hash.slice(1);
  if (secret) history.replaceState(null, "", place.pathname);
  return secret || null;
}
