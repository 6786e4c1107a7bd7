import { expect, test } from "vitest";
import { morph } from "./morph";

function made(html: string): HTMLElement {
  const box = document.createElement("div");
  box.innerHTML = html;
  return box;
}

test("the result is what was wanted", () => {
  const pairs = [
    ["", "<p>a</p>"],
    ["<p>a</p><p>b</p>", "<p>a</p>"],
    ["<p>a</p>", "<ul><li>a</li></ul>"],
    ['<p class="x" dir="ltr">a</p>', '<p class="y">a <b>b</b></p>tail'],
    ["<pre><code><span>let</span> a</code></pre>", "<pre><code>let a;</code></pre>"],
  ];
  for (const [old, wanted] of pairs) {
    const box = made(old!);
    morph(box, made(wanted!));
    expect(box.innerHTML).toBe(wanted);
  }
});

test("nodes that stay the same stay the same nodes", () => {
  const box = made("<p>one <b>two</b> thr</p>");
  const [paragraph, bold] = [box.querySelector("p"), box.querySelector("b")];
  const text = paragraph!.lastChild;
  morph(box, made("<p>one <b>two</b> three four</p><p>next</p>"));
  expect(box.querySelector("p")).toBe(paragraph);
  expect(box.querySelector("b")).toBe(bold);
  expect(paragraph!.lastChild).toBe(text);
});

test("a selection in text that grows is kept", () => {
  const box = made("<p>some words</p>");
  document.body.append(box);
  const text = box.querySelector("p")!.firstChild!;
  getSelection()!.setBaseAndExtent(text, 0, text, 4);
  morph(box, made("<p>some words and more</p>"));
  expect(getSelection()!.toString()).toBe("some");
});
