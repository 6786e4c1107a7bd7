/** Any icon of the set, to be given as a prop. */
export type { LucideIcon } from "@lucide/svelte";
