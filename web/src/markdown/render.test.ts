import { describe, expect, test } from "vitest";
import { Outline } from "./outline";
import { parser } from "./parser";
import { render, Renderer } from "./render";
import { sanitized } from "./sanitize";

function html(text: string): string {
  return render(text)
    .map((block) => block.html)
    .join("");
}

function page(text: string): HTMLElement {
  const box = document.createElement("div");
  box.innerHTML = html(text);
  return box;
}

/** Pieces that mean something to Markdown, in an order that a seed decides. */
function scrambled(seed: number): string {
  const bits =
    "a| |\n|\n\n|1. x|- y|  |    |```|```py\n|~~~|¦ a ¦ b ¦\n|¦--¦--¦\n|¦|$$|\n$$\n|\\[|\\]|$x$|**|*|_|`|[a]|[a]: https://x.de\n|[b](https://q.de)|# h|---|===|> |<div>|<!--|\t|2|.|+ |2. |word |\\|'t'|[a]:".split(
      "|",
    );
  let state = seed * 7919;
  const random = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
  const length = 3 + random() * 25;
  let text = "";
  while (text.length < length * 3) text += bits[Math.floor(random() * bits.length)]!;
  return text.replaceAll("¦", "|");
}

/** On a busy machine, a test that works through a lot of text needs its time. */
const PATIENT = { timeout: 60_000 };

describe("Markdown", PATIENT, () => {
  test("headings stand below those of the page", () => {
    expect([...page("# a\n\n## b\n\n###### c").children].map((one) => one.tagName)).toEqual([
      "H3",
      "H4",
      "H6",
    ]);
  });

  test("code has its language and a button", () => {
    const box = page("```Python title=x\nprint(1)\n```").querySelector(".code")!;
    expect(box.getAttribute("data-lang")).toBe("python");
    expect(box.querySelector("pre")!.tabIndex).toBe(0);
    expect(box.querySelector("code")!.textContent).toBe("print(1)");
    expect(box.querySelector("button")!.textContent).toBe("Copy");
  });

  test("tables scroll, and align by class", () => {
    const table = page("|a|b|\n|:-:|-:|\n|1|2|").querySelector(".scroll > table")!;
    expect([...table.querySelectorAll("td")].map((cell) => cell.className)).toEqual([
      "centre",
      "right",
    ]);
  });

  test("tasks have boxes that say what they are", () => {
    const boxes = [...page("- [ ] a\n- [x] b\n- c").querySelectorAll("input")];
    expect(boxes.map((box) => [box.checked, box.disabled, box.ariaLabel])).toEqual([
      [false, true, "Not done"],
      [true, true, "Done"],
    ]);
  });

  test("names of files are no links, addresses are", () => {
    const links = [...page("main.py README.md a@b.de https://a.de/b.").querySelectorAll("a")];
    expect(links.map((link) => link.href)).toEqual(["https://a.de/b"]);
  });

  test("text from right to left runs that way", () => {
    expect(page("שלום\n\nhello").querySelectorAll('[dir="rtl"]')).toHaveLength(1);
  });

  test("a definition serves links before and after it", () => {
    const found = page("[a] first\n\n[a]: https://x.de\n\nthen [a]").querySelectorAll("a");
    expect([...found].map((link) => link.getAttribute("href"))).toEqual([
      "https://x.de",
      "https://x.de",
    ]);
  });

  test("blocks together are what the whole is", () => {
    for (let seed = 1; seed <= 60; seed++) {
      const text = scrambled(seed);
      const whole = sanitized(parser.render(text, {}));
      expect(html(text).replace(/\n/g, ""), text).toBe(whole.replace(/\n/g, ""));
    }
  });
});

describe("streaming", PATIENT, () => {
  test("ends with just what a reload shows", () => {
    for (let seed = 1; seed <= 20; seed++) {
      const text = scrambled(seed);
      const renderer = new Renderer();
      for (let end = 1; end <= text.length; end += 2) {
        renderer.update(text.slice(0, end), { streaming: true });
      }
      const blocks = renderer.update(text).blocks;
      expect(blocks.map((block) => block.html)).toEqual(render(text).map((block) => block.html));
    }
  });

  test("what is settled never changes, at whatever character the text is cut", () => {
    for (let seed = 1; seed <= 60; seed++) {
      const text = scrambled(seed);
      const parts = (outline: Outline, count: number) =>
        outline.parts.slice(0, count).map((part) => outline.source.slice(part.from, part.to));
      const whole = parts(new Outline(text, { streaming: false }), Infinity);
      for (let end = 1; end < text.length; end++) {
        const outline = new Outline(text.slice(0, end), { streaming: true });
        const settled = parts(outline, outline.settled());
        expect(settled, text).toEqual(whole.slice(0, settled.length));
      }
    }
  });

  test("renders one block for each piece of text that comes", () => {
    const renderer = new Renderer();
    const paragraph = "Some words of a paragraph, with **strong** ones and `code` [a].\n\n";
    const words = paragraph.repeat(60).split(/(?<=\s)/);
    let text = "";
    let worst = 0;
    for (const word of words) {
      const before = renderer.rendered;
      renderer.update((text += word), { streaming: true });
      worst = Math.max(worst, renderer.rendered - before);
    }
    // The one that ends with this word, and the one that begins.
    expect(worst).toBeLessThanOrEqual(2);
    expect(renderer.rendered).toBeLessThanOrEqual(words.length + 60);
  });

  test("keeps the keys of blocks, and the blocks themselves", () => {
    const renderer = new Renderer();
    const first = renderer.update("# a\n\nb c ", { streaming: true }).blocks;
    const then = renderer.update("# a\n\nb c d e ", { streaming: true }).blocks;
    expect(then[0]).toBe(first[0]);
    expect(then[1]!.key).toBe(first[1]!.key);
    expect([then[0]!.open, then[1]!.open]).toEqual([false, true]);
  });

  test("a definition that is still written changes no link above it", () => {
    const renderer = new Renderer();
    const text = "see [a] there\n\nmore\n\n[a]: https://x.de/long/ ";
    expect(renderer.update(text, { streaming: true }).blocks[0]!.html).not.toContain("href");
    const whole = renderer.update(`${text}\n\nnext\nline `, { streaming: true }).blocks[0]!.html;
    expect(whole).toContain('href="https://x.de/long/"');
  });

  test("other text in its place begins anew", () => {
    const renderer = new Renderer();
    renderer.update("a\n\nb\n\nc");
    expect(renderer.update("x\n\ny").blocks.map((block) => block.html)).toEqual(
      render("x\n\ny").map((block) => block.html),
    );
  });
});

describe("long text", PATIENT, () => {
  test("code longer than a window stays in one box", () => {
    const code = "x = 1\n".repeat(20_000);
    const boxes = page(`\`\`\`py\n${code}\`\`\`\n\nend`).querySelectorAll("code");
    expect(boxes).toHaveLength(1);
    expect(boxes[0]!.textContent).toBe(code.trimEnd());
  });

  test("longer code and tables go on as what they are, and nothing is lost", () => {
    const code = page(`\`\`\`py\n${"x = 1\n".repeat(60_000)}\`\`\`\n\nend`);
    const boxes = [...code.querySelectorAll(".code")];
    expect(new Set(boxes.map((box) => box.getAttribute("data-lang")))).toEqual(new Set(["py"]));
    expect(code.textContent!.split("x = 1")).toHaveLength(60_001);
    expect(code.querySelector("p")!.textContent).toBe("end");
    const table = page(`|a|b|\n|-|-|\n${"| one | two |\n".repeat(1500)}\n\nend`);
    expect(table.querySelectorAll("td")).toHaveLength(3000);
  });

  test("a line without end is shown in pieces", () => {
    const blocks = render("word ".repeat(50_000));
    expect(blocks.length).toBeGreaterThan(10);
    expect(page("word ".repeat(50_000)).textContent!.split("word")).toHaveLength(50_001);
  });

  test("is rendered in slices of time, in the end all of it", () => {
    const text = "A paragraph of text.\n\n".repeat(300);
    const renderer = new Renderer();
    let result = renderer.update(text, { until: 0 });
    expect(result.done).toBe(false);
    while (!result.done) result = renderer.update(text, { until: performance.now() + 5 });
    expect(result.blocks).toHaveLength(300);
  });

  test("ends at the limit", () => {
    const { blocks, shown } = new Renderer().update("a\n\n".repeat(1000), { limit: 300 });
    expect([blocks.length, shown]).toEqual([100, 300]);
  });
});
