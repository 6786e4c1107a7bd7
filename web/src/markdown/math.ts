/** Formulas as MathML, by KaTeX: it needs neither styles nor fonts of its own. */

import createDOMPurify from "dompurify";
import katex from "katex";

export const LONGEST = 4000;

const purifier = createDOMPurify(window);

/** The formula as an element, or nothing if it can't be read. */
export function formula(source: string, display: boolean): Element | undefined {
  if (source.length > LONGEST) return undefined;
  const markup = rendered(source, display);
  if (markup === undefined) return undefined;
  const fragment = purifier.sanitize(markup, {
    USE_PROFILES: { mathMl: true },
    FORBID_ATTR: ["style", "href", "id", "src"],
    // The source, which would be shown a second time.
    FORBID_CONTENTS: ["annotation", "script", "style"],
    RETURN_DOM_FRAGMENT: true,
  });
  return fragment.querySelector("math") ?? undefined;
}

function rendered(source: string, display: boolean): string | undefined {
  try {
    return katex.renderToString(source, {
      displayMode: display,
      output: "mathml",
      strict: "ignore",
      trust: false,
      maxSize: 20,
      maxExpand: 200,
    });
  } catch {
    return undefined;
  }
}
