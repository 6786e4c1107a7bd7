/** Makes one piece of the page like another, and keeps the nodes that are the same already, so that
 * a selection, the focus and what has been scrolled survive. */

export function morph(target: Node, wanted: Node): void {
  let old = target.firstChild;
  let next = wanted.firstChild;
  while (next) {
    const following = next.nextSibling;
    if (!old) target.appendChild(next);
    else {
      const after: ChildNode | null = old.nextSibling;
      align(old, next);
      old = after;
    }
    next = following;
  }
  while (old) {
    const after: ChildNode | null = old.nextSibling;
    old.remove();
    old = after;
  }
}

function align(old: ChildNode, next: ChildNode): void {
  if (old.nodeName !== next.nodeName) old.replaceWith(next);
  else if (old instanceof Text && next instanceof Text) setText(old, next.data);
  else if (old instanceof Element && next instanceof Element) {
    setAttributes(old, next);
    morph(old, next);
  }
}

/** Text mostly grows, and growing keeps what is selected in it. */
function setText(text: Text, data: string): void {
  if (text.data === data) return;
  if (data.startsWith(text.data)) text.appendData(data.slice(text.data.length));
  else text.data = data;
}

function setAttributes(old: Element, next: Element): void {
  for (const { name } of [...old.attributes])
    if (!next.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}
