import { flushSync, mount, unmount } from "svelte";
import { afterEach, describe, expect, test, vi } from "vitest";
import { announcer } from "../ui/announce.svelte";
import Markdown from "./Markdown.svelte";

type Props = { text: string; streaming?: boolean };

let end: (() => void) | undefined;

function show(given: Props): { page: HTMLElement; props: Props } {
  const props = $state(given);
  const component = mount(Markdown, { target: document.body, props });
  end = () => void unmount(component);
  flushSync();
  return { page: document.querySelector<HTMLElement>(".markdown")!, props };
}

afterEach(() => {
  end?.();
  vi.unstubAllGlobals();
});

const PATIENT = { timeout: 20_000, interval: 10 };

describe("a message", { timeout: 60_000 }, () => {
  test("keeps the elements of its blocks while it grows", async () => {
    const { page, props } = show({ text: "# One\n\nsome wor", streaming: true });
    const [heading, paragraph] = [page.querySelector("h3"), page.querySelector("p")];
    props.text = "# One\n\nsome words and more\n\n- next ";
    await vi.waitFor(() => expect(page.querySelector("li")).not.toBeNull(), PATIENT);
    expect(page.querySelector("h3")).toBe(heading);
    expect(page.querySelector("p")).toBe(paragraph);
    expect(paragraph!.textContent).toBe("some words and more");
  });

  test("shows its last word when it is finished", async () => {
    const { page, props } = show({ text: "some wor", streaming: true });
    expect(page.textContent!.trim()).toBe("some");
    props.streaming = false;
    await vi.waitFor(() => expect(page.textContent!.trim()).toBe("some wor"), PATIENT);
  });

  test("changes only its last block with a word that comes", async () => {
    const { page, props } = show({ text: "one\n\ntwo\n\nthree ", streaming: true });
    const changed = new Set<Node>();
    const observer = new MutationObserver((records) => {
      for (const { target } of records) changed.add(target.parentElement!.closest(".block")!);
    });
    observer.observe(page, { subtree: true, childList: true, characterData: true });
    props.text = "one\n\ntwo\n\nthree four ";
    await vi.waitFor(() => expect(page.textContent).toContain("four"), PATIENT);
    expect([...changed]).toEqual([page.querySelectorAll(".block")[2]]);
    observer.disconnect();
  });

  test("colours code once it is finished", async () => {
    const { page, props } = show({ text: "```py\nx = 'a'\n", streaming: true });
    expect(page.querySelector("code")!.textContent).toBe("x = 'a'");
    expect(page.querySelector(".hljs-string")).toBeNull();
    props.text += "```\n";
    props.streaming = false;
    await vi.waitFor(() => expect(page.querySelector(".hljs-string")).not.toBeNull(), PATIENT);
  });

  test("writes formulas", async () => {
    const { page } = show({ text: "so $x^2$ it is" });
    await vi.waitFor(() => expect(page.querySelector("span.tex math")).not.toBeNull(), PATIENT);
  });

  test("offers to draw a large diagram instead of drawing it", () => {
    const lines = Array.from({ length: 80 }, (_, n) => `  a${n} --> b${n}`).join("\n");
    const { page } = show({ text: `\`\`\`mermaid\nflowchart LR\n${lines}\n\`\`\`` });
    expect(page.querySelector(".note button.draw")!.textContent).toBe("Draw it");
    expect(page.querySelector("pre")!.textContent).toContain("a79 --> b79");
  });

  test("copies code, and says so", async () => {
    const writeText = vi.fn(() => Promise.resolve());
    vi.stubGlobal("navigator", { clipboard: { writeText } });
    const { page } = show({ text: "```py\nprint(1)\n```" });
    page.querySelector<HTMLElement>("button.copy")!.click();
    await vi.waitFor(() => expect(announcer.text.trim()).toBe("Copied"), PATIENT);
    expect(writeText).toHaveBeenCalledWith("print(1)");
  });

  test("that is very long is cut, and whole when asked for", async () => {
    const { page } = show({ text: "word ".repeat(30_000) });
    await vi.waitFor(
      () => expect(page.querySelector(".cut")!.textContent).toContain("128"),
      PATIENT,
    );
    page.querySelector<HTMLElement>(".cut button")!.click();
    await vi.waitFor(() => expect(page.textContent!.split("word")).toHaveLength(30_001), PATIENT);
    expect(page.querySelector(".cut")).toBeNull();
  });
});
