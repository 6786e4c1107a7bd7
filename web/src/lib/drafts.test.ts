import { beforeEach, expect, test } from "vitest";
import { draftKey, draftsOf, forgetDrafts, forgetOldDrafts, readDraft, saveDraft } from "./drafts";

const KEY = draftKey("usr_1", "ses_1");
const HOUR = 3_600_000;
const file = { file: "a".repeat(64), name: "a.png", media_type: "image/png", size: 3 };

beforeEach(() => {
  localStorage.clear();
});

test("a draft is there again after a reload, with its files", () => {
  saveDraft(KEY, { text: "half a thought", files: [file], at: 1000 });
  expect(readDraft(KEY, 2000)).toEqual({ text: "half a thought", files: [file], at: 1000 });
});

test("sessions and people do not share drafts", () => {
  saveDraft(KEY, { text: "mine", files: [], at: 1000 });
  expect(readDraft(draftKey("usr_2", "ses_1"), 2000)).toBeNull();
  expect(readDraft(draftKey("usr_1", null), 2000)).toBeNull();
});

test("what another tab wrote later is not overwritten", () => {
  saveDraft(KEY, { text: "newer", files: [], at: 2000 });
  expect(saveDraft(KEY, { text: "older", files: [], at: 1000 })).toBe(false);
  expect(saveDraft(KEY, { text: "", files: [], at: 1000 })).toBe(false);
  expect(readDraft(KEY, 3000)?.text).toBe("newer");
});

test("an empty draft is none", () => {
  saveDraft(KEY, { text: "x", files: [], at: 1000 });
  expect(saveDraft(KEY, { text: "", files: [], at: 2000 })).toBe(true);
  expect(localStorage.length).toBe(0);
});

test("files that the server has forgotten are left out", () => {
  saveDraft(KEY, { text: "look", files: [file], at: 0 });
  expect(readDraft(KEY, 21 * HOUR)).toEqual({ text: "look", files: [], at: 0 });
});

test("what is damaged is no draft", () => {
  localStorage.setItem(KEY, "{");
  expect(readDraft(KEY)).toBeNull();
  localStorage.setItem(KEY, '{"text": 4}');
  expect(readDraft(KEY)).toBeNull();
});

test("old drafts are cleared away, and nothing else", () => {
  saveDraft(KEY, { text: "old", files: [], at: 0 });
  saveDraft(draftKey("usr_1", null), { text: "new", files: [], at: 31 * 24 * HOUR });
  localStorage.setItem("theme", "dark");
  forgetOldDrafts(31 * 24 * HOUR);
  expect(Object.keys(localStorage).sort()).toEqual(["draft:usr_1:new", "theme"]);
});

test("whoever leaves takes their drafts along, and nobody else's", () => {
  saveDraft(KEY, { text: "mine", files: [], at: 1000 });
  saveDraft(draftKey("usr_10", null), { text: "another's", files: [], at: 1000 });
  expect(draftsOf("usr_1")).toEqual([KEY]);
  forgetDrafts("usr_1");
  expect(Object.keys(localStorage)).toEqual(["draft:usr_10:new"]);
});
