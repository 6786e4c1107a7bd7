import { count } from "../lib/numbers";

/** So many of something: "1 word", "1,200 words". */
export function counted(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}
