import { createRawSnippet, flushSync, mount, unmount } from "svelte";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import Dialog from "./Dialog.svelte";

const children = createRawSnippet(() => ({ render: () => `<input data-focus>` }));
let opener: HTMLButtonElement;

beforeEach(() => {
  // It has no top layer. What matters: a closed dialog that is not in the page gives nothing back.
  HTMLDialogElement.prototype.showModal = function () {
    this.open = true;
  };
  HTMLDialogElement.prototype.close = vi.fn();
  opener = document.createElement("button");
  document.body.replaceChildren(opener);
  opener.focus();
});

afterEach(() => {
  document.body.replaceChildren();
});

function open(): () => void {
  const props = { title: "New", onclose: () => undefined, children };
  const component = mount(Dialog, { target: document.body, props });
  flushSync();
  expect(document.activeElement?.tagName).toBe("INPUT");
  return () => {
    void unmount(component);
    flushSync();
  };
}

test("whatever had the focus before a dialog has it again afterwards", () => {
  open()();
  expect(document.activeElement).toBe(opener);
});

test("what has left the page meanwhile is not looked for", () => {
  const close = open();
  opener.remove();
  close();
  expect(document.activeElement).toBe(document.body);
});

test("who took the focus meanwhile keeps it", () => {
  const close = open();
  const other = document.body.appendChild(document.createElement("button"));
  other.focus();
  close();
  expect(document.activeElement).toBe(other);
});
