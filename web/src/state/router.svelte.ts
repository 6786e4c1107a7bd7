/** Which page is shown, kept in the address so that reload, back and links work. */

export type Place =
  | { page: "chat"; session: string | null; message?: string }
  | { page: "settings"; section: string }
  | { page: "sign-in" };

export function placeOf(address: string): Place {
  const [path = "", query = ""] = address.split("?");
  const [first = "", second = ""] = path.split("/").filter(Boolean);
  const message = new URLSearchParams(query).get("m");
  if (first === "s" && second)
    return { page: "chat", session: second, ...(message ? { message } : {}) };
  if (first === "settings") return { page: "settings", section: second || "models" };
  if (first === "sign-in") return { page: "sign-in" };
  return { page: "chat", session: null };
}

export function pathOf(place: Place): string {
  if (place.page === "chat") {
    const message = place.message ? `?m=${encodeURIComponent(place.message)}` : "";
    return place.session ? `/s/${place.session}${message}` : "/";
  }
  return place.page === "settings" ? `/settings/${place.section}` : "/sign-in";
}

class Router {
  place: Place = $state.raw(placeOf(location.pathname + location.search));
  /** The session that was shown last: a new chat names it as the one that was left. */
  left: string | null = this.session;

  constructor() {
    addEventListener("popstate", () => {
      this.#show(placeOf(location.pathname + location.search));
    });
  }

  /** The session that is shown, if one is. */
  get session(): string | null {
    return this.place.page === "chat" ? this.place.session : null;
  }

  go(place: Place, { replace = false } = {}): void {
    const path = pathOf(place);
    const here = location.pathname + location.search;
    if (path !== here) history[replace ? "replaceState" : "pushState"](null, "", path);
    this.#show(place);
  }

  /** The message that was asked for, if one was. */
  get message(): string | null {
    return (this.place.page === "chat" && this.place.message) || null;
  }

  open(session: string | null, message?: string): void {
    this.go({ page: "chat", session, ...(message ? { message } : {}) });
  }

  #show(place: Place): void {
    this.place = place;
    this.left = this.session ?? this.left;
  }
}

export const router = new Router();
