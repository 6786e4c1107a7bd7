import { describe, expect, test } from "vitest";
import { formula } from "./math";
import { render, Renderer } from "./render";

function formulas(text: string): string[] {
  const box = document.createElement("div");
  box.innerHTML = render(text)
    .map((block) => block.html)
    .join("");
  return [...box.querySelectorAll("code.tex")].map((code) => code.textContent!);
}

describe("formulas", () => {
  test.each([
    ["so $x^2$ is", ["x^2"]],
    ["so $E = mc^2$, and $a$.", ["E = mc^2", "a"]],
    ["so \\(a + b\\) is", ["a + b"]],
    ["so \\[a + b\\] is", ["a + b"]],
    ["so $$a + b$$ is", ["a + b"]],
    ["$$\na + b\n$$", ["a + b"]],
    ["text:\n$$\na\n= b\n$$\nmore", ["a\n= b"]],
    ["\\[\na_1 * b_1 * c\n\\]", ["a_1 * b_1 * c"]],
    ["- item\n\n  $$\n  x\n  $$", ["x"]],
  ])("%j has %j", (text, found) => expect(formulas(text)).toEqual(found));

  test.each([
    "It costs $5, or $10 with tax.",
    "Between $5 and $10",
    "from $5-$10",
    "$100k for two and 50$ for one",
    "cd $HOME and $PATH",
    "$HOME/$USER/x",
    "`$x$`",
    "\\$x\\$",
    "a $ b $ c",
    "$$\n\nno formula",
    "US$5 to US$6",
  ])("%j has none", (text) => expect(formulas(text)).toEqual([]));

  test("one that is being written is shown as its source", () => {
    const { blocks } = new Renderer().update("so:\n\n$$\na_1 * b_2 * ", { streaming: true });
    expect(blocks[1]!.html).toContain('<code class="tex display">a_1 * b_2 *</code>');
  });

  test("are MathML, without styles or addresses", () => {
    const math = formula("\\frac{a}{b} \\color{red}{x} \\boxed{y} \\href{https://a.de}{z}", true);
    expect(math!.localName).toBe("math");
    expect(math!.querySelector("mfrac")).not.toBeNull();
    for (const element of [math!, ...math!.querySelectorAll("*")]) {
      for (const name of ["style", "href", "id", "onclick"]) {
        expect(element.hasAttribute(name)).toBe(false);
      }
    }
    expect(math!.textContent).not.toContain("\\frac");
  });

  test("that can't be read, or never end, stay source", () => {
    expect(formula("\\frac{", false)).toBeUndefined();
    expect(formula("\\def\\a{\\a\\a}\\a", false)).toBeUndefined();
    expect(formula("x".repeat(5000), false)).toBeUndefined();
  });
});
