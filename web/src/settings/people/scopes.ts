/** What a token may be made for, and the scopes that takes. */

import type { NewToken } from "../../api/types";

export type Purpose = "read" | "chat" | "admin" | "metrics";

/** Who may chat may read, and an admin may see the metrics. */
const SCOPES: Record<Purpose, NewToken["scopes"]> = {
  read: ["read"],
  chat: ["chat"],
  admin: ["chat", "admin"],
  metrics: ["metrics"],
};

export function scopesFor(purpose: Purpose): NewToken["scopes"] {
  return SCOPES[purpose];
}

/** What someone can hand on: nobody more than they have. */
export function purposes(isAdmin: boolean): Purpose[] {
  return isAdmin ? ["read", "chat", "admin", "metrics"] : ["read", "chat"];
}
