/** Ids made here, so that a request whose answer was lost can be sent again without harm. */

const LETTERS = "0123456789abcdefghjkmnpqrstvwxyz";

export function newId(kind: "ses" | "trn", now = Date.now()): string {
  const time = letters(BigInt(now), 10);
  const chance = crypto.getRandomValues(new Uint8Array(10));
  const noise = chance.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  return `${kind}_${time}${letters(noise, 16)}`;
}

function letters(value: bigint, length: number): string {
  let found = "";
  for (let n = 0; n < length; n++) {
    found = LETTERS[Number(value & 31n)] + found;
    value >>= 5n;
  }
  return found;
}
