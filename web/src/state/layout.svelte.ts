/** Which panes are shown. Wide screens remember theirs; on narrow ones they are drawers, one at a time. */

export type PanelTab = "files" | "processes" | "browser" | "memory" | "info";

/** Room for one pane beside the page, not for two. */
const TIGHT = "(max-width: 1199px)";
const NARROW = "(max-width: 899px)";
const PHONE = "(max-width: 599px)";

class Layout {
  isNarrow = $state(matchMedia(NARROW).matches);
  isPhone = $state(matchMedia(PHONE).matches);
  overlay: null | "palette" | "help" = $state(null);
  panelTab: PanelTab = $state("files");
  #sidebar = $state(localStorage.getItem("sidebar") !== "closed");
  #panel = $state(localStorage.getItem("panel") === "open");
  #drawer: null | "sidebar" | "panel" = $state(null);
  #isTight = $state(matchMedia(TIGHT).matches);
  /** Which of the two is shown where only one can be; the other is back when it closes. */
  #front: "sidebar" | "panel" = $state("sidebar");

  constructor() {
    matchMedia(TIGHT).addEventListener("change", (event) => {
      this.#isTight = event.matches;
    });
    matchMedia(NARROW).addEventListener("change", (event) => {
      this.isNarrow = event.matches;
      this.#drawer = null;
    });
    matchMedia(PHONE).addEventListener("change", (event) => {
      this.isPhone = event.matches;
    });
  }

  get sidebar(): boolean {
    if (this.isNarrow) return this.#drawer === "sidebar";
    return this.#sidebar && !(this.#isTight && this.#panel && this.#front === "panel");
  }

  set sidebar(shown: boolean) {
    if (this.isNarrow) {
      this.#slide("sidebar", shown);
    } else {
      if (shown) this.#front = "sidebar";
      this.#sidebar = shown;
      localStorage.setItem("sidebar", shown ? "open" : "closed");
    }
  }

  get panel(): boolean {
    if (this.isNarrow) return this.#drawer === "panel";
    return this.#panel && !(this.#isTight && this.#sidebar && this.#front === "sidebar");
  }

  set panel(shown: boolean) {
    if (this.isNarrow) {
      this.#slide("panel", shown);
    } else {
      if (shown) this.#front = "panel";
      this.#panel = shown;
      localStorage.setItem("panel", shown ? "open" : "closed");
    }
  }

  /** Show the panel at one of its tabs. */
  showPanel(tab: PanelTab): void {
    this.panelTab = tab;
    this.panel = true;
  }

  /** Something was chosen in a drawer: what it opens lies behind it. */
  closeDrawers(): void {
    this.#drawer = null;
  }

  #slide(drawer: "sidebar" | "panel", shown: boolean): void {
    if (shown) this.#drawer = drawer;
    else if (this.#drawer === drawer) this.#drawer = null;
  }
}

export const layout = new Layout();
