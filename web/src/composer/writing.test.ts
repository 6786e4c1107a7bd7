import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { draftKey, readDraft, saveDraft } from "../lib/drafts";
import { Writing } from "./writing.svelte";

const ONE = draftKey("usr_1", "ses_1");
const NEW = draftKey("usr_1", null);

beforeEach(() => {
  localStorage.clear();
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

function type(writing: Writing, text: string): void {
  writing.text = text;
  writing.touch();
}

test("words are kept when the person pauses, and are there again", () => {
  const writing = new Writing();
  writing.open("usr_1", "ses_1");
  type(writing, "half");
  expect(readDraft(ONE)).toBeNull();
  vi.advanceTimersByTime(300);
  const later = new Writing();
  later.open("usr_1", "ses_1");
  expect(later.text).toBe("half");
});

test("each session has its own words", () => {
  const writing = new Writing();
  writing.open("usr_1", "ses_1");
  type(writing, "for one");
  writing.open("usr_1", "ses_2");
  expect(writing.text).toBe("");
  writing.open("usr_1", "ses_1");
  expect(writing.text).toBe("for one");
});

test("what is written while a new session opens goes along into it", () => {
  const writing = new Writing();
  writing.open("usr_1", null);
  writing.clear();
  writing.carry();
  type(writing, "and also");
  writing.open("usr_1", "ses_1");
  expect(writing.text).toBe("and also");
  expect(readDraft(NEW)).toBeNull();
  expect(readDraft(ONE)?.text).toBe("and also");
});

test("words for a new chat stay there if another session is looked at", () => {
  const writing = new Writing();
  writing.open("usr_1", null);
  type(writing, "an idea");
  writing.open("usr_1", "ses_1");
  expect(writing.text).toBe("");
  expect(readDraft(NEW)?.text).toBe("an idea");
});

test("leaving a tab does not bring back what was written before in it", () => {
  const writing = new Writing();
  writing.open("usr_1", "ses_1");
  type(writing, "older");
  vi.advanceTimersByTime(300);
  saveDraft(ONE, { text: "newer, elsewhere", files: [], at: Date.now() + 5 });
  dispatchEvent(new Event("pagehide"));
  expect(readDraft(ONE)?.text).toBe("newer, elsewhere");
});

test("a tab that nobody writes in shows what was written in another", () => {
  const writing = new Writing();
  writing.open("usr_1", "ses_1");
  saveDraft(ONE, { text: "elsewhere", files: [], at: Date.now() });
  dispatchEvent(new StorageEvent("storage", { key: ONE }));
  expect(writing.text).toBe("elsewhere");
});

test("a tab that someone writes in keeps their words", () => {
  const writing = new Writing();
  writing.open("usr_1", "ses_1");
  type(writing, "here");
  saveDraft(ONE, { text: "elsewhere", files: [], at: Date.now() });
  dispatchEvent(new StorageEvent("storage", { key: ONE }));
  expect(writing.text).toBe("here");
});

test("changing a message that was sent leaves no draft", () => {
  const writing = new Writing();
  writing.open("usr_1", "ses_1");
  writing.begin("as it was sent", "trn_1");
  vi.advanceTimersByTime(300);
  expect(readDraft(ONE)).toBeNull();
});
