import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Attachments, LARGEST, MOST } from "./attachments.svelte";

/** Uploads that end when the test says so. */
class Uploading {
  static sent: Uploading[] = [];
  upload: { onprogress?: (event: object) => void } = {};
  onload = (): void => undefined;
  onerror = (): void => undefined;
  onabort = (): void => undefined;
  status = 0;
  responseText = "";
  aborted = false;
  open(): void {
    Uploading.sent.push(this);
  }
  setRequestHeader(): void {
    // What it is, is told by its content.
  }
  send(): void {
    // It goes on until it is answered.
  }
  abort(): void {
    this.aborted = true;
    this.onabort();
  }
  answer(status: number, body: unknown): void {
    this.status = status;
    this.responseText = JSON.stringify(body);
    this.onload();
  }
}

const stored = { id: "f".repeat(64), media_type: "text/plain", size: 2 };

beforeEach(() => {
  Uploading.sent = [];
  vi.stubGlobal("XMLHttpRequest", Uploading);
});

afterEach(() => {
  vi.unstubAllGlobals();
});

function text(name: string, size = 2): File {
  const file = new File(["ab"], name, { type: "text/plain" });
  Object.defineProperty(file, "size", { value: size });
  return file;
}

test("files are uploaded at once, and named in the message when they are there", async () => {
  const attachments = new Attachments();
  attachments.add([text("a.txt"), text("b.txt")]);
  expect(attachments.isLoading).toBe(true);
  expect(attachments.named).toEqual([]);
  for (const each of Uploading.sent) each.answer(201, stored);
  await vi.waitFor(() => {
    expect(attachments.isLoading).toBe(false);
  });
  expect(attachments.named).toEqual([
    { file: stored.id, name: "a.txt" },
    { file: stored.id, name: "b.txt" },
  ]);
});

test("a file that is too large says so and is not sent", () => {
  const attachments = new Attachments();
  attachments.add([text("film.mkv", LARGEST + 1)]);
  expect(attachments.files[0]?.problem).toContain("limit");
  expect(Uploading.sent).toEqual([]);
});

test("what the server says about a file is shown with it, and it can be tried again", async () => {
  const attachments = new Attachments();
  attachments.add([text("a.txt")]);
  Uploading.sent[0]?.answer(507, { title: "Full", detail: "No room is left.", type: "" });
  await vi.waitFor(() => {
    expect(attachments.files[0]?.problem).toBe("No room is left.");
  });
  const [file] = attachments.files;
  if (file) void attachments.retry(file);
  Uploading.sent[1]?.answer(201, stored);
  await vi.waitFor(() => {
    expect(attachments.named.length).toBe(1);
  });
});

test("more than a message takes are left out, in words", () => {
  const attachments = new Attachments();
  const many = Array.from({ length: MOST + 1 }, (_, n) => text(`${n}.txt`));
  expect(attachments.add(many)).toContain(String(MOST));
  expect(attachments.files.length).toBe(MOST);
});

test("removing a file ends its upload, without a word", () => {
  const attachments = new Attachments();
  attachments.add([text("a.txt")]);
  const [file] = attachments.files;
  if (file) attachments.remove(file);
  expect(Uploading.sent[0]?.aborted).toBe(true);
  expect(attachments.files).toEqual([]);
});

test("files of the same name are told apart", () => {
  const attachments = new Attachments();
  attachments.add([text("image.png"), text("image.png"), text("image.png")]);
  expect(attachments.files.map((each) => each.name)).toEqual([
    "image.png",
    "image 2.png",
    "image 3.png",
  ]);
});
