/** Which page is shown, kept in the address so that reload, back and links work. */

export type Place =
  | { page: "chat"; session: string | null }
  | { page: "settings"; section: string }
  | { page: "sign-in" };

export function placeOf(path: string): Place {
  const [first = "", second = ""] = path.split("/").filter(Boolean);
  if (first === "s" && second) return { page: "chat", session: second };
  if (first === "settings") return { page: "settings", section: second || "models" };
  if (first === "sign-in") return { page: "sign-in" };
  return { page: "chat", session: null };
}

export function pathOf(place: Place): string {
  if (place.page === "chat") return place.session ? `/s/${place.session}` : "/";
  return place.page === "settings" ? `/settings/${place.section}` : "/sign-in";
}

class Router {
  place: Place = $state.raw(placeOf(location.pathname));
  /** The session that was shown last: a new chat names it as the one that was left. */
  left: string | null = this.session;

  constructor() {
    addEventListener("popstate", () => {
      this.#show(placeOf(location.pathname));
    });
  }

  /** The session that is shown, if one is. */
  get session(): string | null {
    return this.place.page === "chat" ? this.place.session : null;
  }

  go(place: Place, { replace = false } = {}): void {
    const path = pathOf(place);
    if (path !== location.pathname) history[replace ? "replaceState" : "pushState"](null, "", path);
    this.#show(place);
  }

  open(session: string | null): void {
    this.go({ page: "chat", session });
  }

  #show(place: Place): void {
    this.place = place;
    this.left = this.session ?? this.left;
  }
}

export const router = new Router();
