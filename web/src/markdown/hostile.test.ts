import { describe, expect, test } from "vitest";
import { render, Renderer } from "./render";
import { ATTRIBUTES, CLASSES, sanitized, TAGS } from "./sanitize";

function page(html: string): HTMLElement {
  const box = document.implementation.createHTMLDocument("").createElement("div");
  box.innerHTML = html;
  return box;
}

function shown(text: string): HTMLElement {
  return page(
    render(text)
      .map((block) => block.html)
      .join(""),
  );
}

/** Nothing but what the list allows, and no address that does anything but leave. */
function expectHarmless(box: HTMLElement): void {
  for (const element of box.querySelectorAll("*")) {
    expect(TAGS).toContain(element.localName);
    for (const { name, value } of element.attributes) {
      expect([...ATTRIBUTES, "data-char"]).toContain(name);
      if (name === "href") expect(value).toMatch(/^(https?:|mailto:)/i);
      if (name === "src") expect(value).toMatch(/^(\/api\/|blob:)/);
    }
    for (const name of element.classList) expect(CLASSES).toContain(name);
  }
  for (const link of box.querySelectorAll("a[href]")) {
    expect(link.getAttribute("rel")).toBe("noopener noreferrer nofollow");
    expect(link.getAttribute("target")).toBe("_blank");
  }
}

const ATTACKS = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "<svg onload=alert(1)><script>alert(1)</script></svg>",
  "<math><mtext><style><img src=x onerror=alert(1)></style></mtext></math>",
  "<style>body{display:none}</style>",
  '<p style="position:fixed" id="app" class="dialog">x</p>',
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  "<form action=https://evil.example><input name=password></form>",
  "<a href='javascript:alert(1)'>x</a>",
  "<base href=https://evil.example>",
  "<meta http-equiv=refresh content='0;url=https://evil.example'>",
  "[x](javascript:alert(1))",
  "[x](JaVaScRiPt:alert(1))",
  "[x](java&#115;cript:alert(1))",
  "[x](&#x6A;avascript:alert(1))",
  "[x](\tjavascript:alert(1))",
  "[x](vbscript:msgbox(1))",
  "[x](data:text/html,<script>alert(1)</script>)",
  "[x](data:image/svg+xml,<svg onload=alert(1)>)",
  "[x](file:///etc/passwd)",
  "[x](//evil.example)",
  "[x](/api/sessions/1/delete)",
  "[x](#app)",
  '[x](https://a.de "onclick=alert(1)")',
  '[x](https://a.de/"onmouseover="alert(1))',
  "<javascript:alert(1)>",
  "<https://a.de/\"onclick='alert(1)'>",
  "![x](javascript:alert(1))",
  "![x](https://evil.example/pixel.png)",
  "![x](data:image/svg+xml;base64,PHN2Zz4=)",
  "![x](/api/files/../../evil\\x)",
  '![x" onerror="alert(1)](/api/files/1/content)',
  "[x]: javascript:alert(1)\n\n[x]",
  '```"><script>alert(1)</script>\nx\n```',
  "```js onload=alert(1)\n</code></pre><script>alert(1)</script>\n```",
  "`</code><script>alert(1)</script>`",
  "| <script> | b |\n|--|--|\n| <img src=x onerror=alert(1)> | [x](javascript:y) |",
  "$<script>alert(1)</script>$ and $$</code><img src=x onerror=alert(1)>$$",
  "- [x] <input onfocus=alert(1) autofocus>",
  "&lt;script&gt;alert(1)&lt;/script&gt;",
  "# <h1 onclick=alert(1)>x</h1>",
  "https://a.de/<script>alert(1)</script>",
  "https://a.de/\u202egnp.exe",
];

describe("a hostile message", () => {
  test.each(ATTACKS)("%j neither runs nor leaves the list", (attack) => {
    expectHarmless(shown(attack));
    expectHarmless(shown(`- a\n\n  > ${attack}`));
    const { blocks } = new Renderer().update(`${attack} `, { streaming: true });
    expectHarmless(page(blocks.map((block) => block.html).join("")));
  });

  test("shows its markup as text", () => {
    expect(shown("<script>alert(1)</script>").textContent).toContain("<script>");
    expect(shown("[x](javascript:alert(1))").textContent).toContain("javascript:");
  });

  test.each(ATTACKS)("%j is harmless as HTML, too", (attack) => {
    expectHarmless(page(sanitized(attack)));
  });

  test("a picture of another host is a link, one of ours is shown", () => {
    expect(shown("![x](https://evil.example/p.png)").querySelector("img")).toBeNull();
    expect(shown("![x](https://evil.example/p.png)").querySelector("a")).not.toBeNull();
    expect(shown("![x](/api/files/7/content)").querySelector("img")!.alt).toBe("x");
  });

  test("a link that names one host and leads to another says so", () => {
    const lie = shown("[https://good.example](https://evil.example/x)");
    expect(lie.textContent).toContain("leads to evil.example");
    expect(shown("[good.example/a](https://www.good.example/b)").textContent).not.toContain(
      "leads",
    );
    expect(shown("[main.py](https://evil.example/x)").textContent).not.toContain("leads");
  });
});

describe("characters that deceive", () => {
  test("are named in code and links, and can still be copied", () => {
    const code = shown("`user\u202egnp.exe`").querySelector("code")!;
    expect(code.textContent).toBe("user\u202egnp.exe");
    expect(code.querySelector("bdi")!.getAttribute("data-char")).toBe("U+202E");
    const link = shown("[a\u200bb](https://a.de)").querySelector("a bdi")!;
    expect(link.getAttribute("data-char")).toBe("U+200B");
    expect(shown("```\nx\u2066y\n```").querySelector("pre bdi")).not.toBeNull();
  });

  test("end where they stand in prose, without a mark", () => {
    const control = shown("say \u202eolleh").querySelector("bdi.control")!;
    expect([control.textContent, control.hasAttribute("data-char")]).toEqual(["\u202e", false]);
  });

  test("of which there are very many are replaced", () => {
    const box = shown("a\u202e".repeat(3000));
    expect(box.querySelectorAll("bdi")).toHaveLength(0);
    expect(box.textContent).not.toContain("\u202e");
  });
});

function filled(piece: string, length: number): string {
  return piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
}

describe("text made to be slow", { timeout: 60_000 }, () => {
  // A window's worth of each; longer text is looked at in windows of this size.
  const pieces = [
    "[",
    "[]",
    "![[",
    "![](",
    "[a](",
    "*a ",
    "*a_ ",
    "**a *a ",
    "*",
    "_a__b",
    "`a``b",
  ];
  pieces.push(">", "> ", "- ", "* - + ", "1. ", "$a", "$a ", "\\(", "\\[", "$$", "&amp", "&#", "<");
  pieces.push(
    "<a:b",
    "http://",
    "https://a.b/(",
    "[a]: b\n",
    "[a][a]",
    "> a\nb\n",
    "> - ",
    "- a\n",
  );
  pieces.push(
    "|",
    "|-",
    "a\u202e",
    "\0",
    "\ud800",
    "a\u0301",
    "~~a ~",
    "`\u202e` ",
    "*a* ",
    "\u05d0 ",
  );

  test.each(pieces)("%j a thousand times over loses nothing and ends soon", (piece) => {
    const start = performance.now();
    const box = shown(filled(piece, 16_000));
    // Far more than it takes, even on a busy machine; far less than what is out of bounds.
    expect(performance.now() - start).toBeLessThan(20_000);
    expectHarmless(box);
    expect(box.textContent!.length).toBeGreaterThan(0);
  });

  test("ten thousand lists in each other are text", () => {
    const box = shown("- ".repeat(10_000) + "deep");
    expect(box.textContent).toContain("deep");
    expect(box.querySelectorAll("li").length).toBeLessThan(100);
  });

  test("ten thousand quotes in each other are text", () => {
    const box = shown(">".repeat(10_000) + " deep");
    expect(box.textContent).toContain("deep");
    expect(box.querySelectorAll("blockquote").length).toBeLessThan(100);
  });

  test("a short text can't make a very large table", () => {
    const wide = `|${"a|".repeat(5000)}\n|${"-|".repeat(5000)}\n${"a\n".repeat(2000)}`;
    expect(shown(wide).querySelectorAll("td")).toHaveLength(0);
  });

  test("a million characters in one line take no more than a window at a time", () => {
    const text = "x".repeat(1_000_000);
    const renderer = new Renderer();
    const { done, shown: end } = renderer.update(text, { until: 0 });
    expect(done).toBe(false);
    expect(end).toBeLessThanOrEqual(16_000);
  });
});
