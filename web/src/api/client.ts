/** Calls to the API: typed by its own document, with its problems as errors. */

import { t } from "../text/text";
import type { Calls, FileView, Problem as ProblemBody } from "./types";

type Given<C extends keyof Calls> = {
  [
    K in "path" | "query" | "body" as Calls[C][K] extends undefined
      ? never
      : Partial<Calls[C][K]> extends Calls[C][K]
        ? never
        : K
  ]: Calls[C][K];
} & {
  [K in "query" | "body" as Partial<Calls[C][K]> extends Calls[C][K] ? K : never]?: Calls[C][K];
} & { signal?: AbortSignal };

type Arguments<C extends keyof Calls> =
  Partial<Given<C>> extends Given<C> ? [given?: Given<C>] : [given: Given<C>];

type Plain = {
  path?: Record<string, string | number>;
  query?: Record<string, string | number | boolean | null | undefined>;
  body?: unknown;
  signal?: AbortSignal;
};

/** A request that was refused (`status` as the server said) or got nowhere (`status` 0). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    readonly detail: string,
    readonly code = "",
    /** Seconds to wait before another try, if the server says so. */
    readonly wait: number | null = null,
  ) {
    super(status === 0 ? `${title}. ${detail}` : detail || title);
  }

  /** Nobody knows whether it arrived: it may be sent again, with the same id. */
  get isOffline(): boolean {
    return this.status === 0;
  }
}

/** Of a proxy that finds no server, or waits for it in vain. */
const BEFORE_ROOST = new Set([502, 503, 504]);

/** Set by who wants to know that this browser is signed in no more. */
export const hooks: { signedOut: () => void } = { signedOut: () => undefined };

export async function call<C extends keyof Calls>(
  what: C,
  ...[given]: Arguments<C>
): Promise<Calls[C]["answer"]> {
  const [method, template] = what.split(" ") as [string, string];
  const { path, query, body, signal } = (given ?? {}) as Plain;
  // What was taken away is gone, even if the page goes first.
  const init: RequestInit = { method, signal: signal ?? null, keepalive: method === "DELETE" };
  if (body instanceof Blob) {
    init.body = body;
  } else if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { "Content-Type": "application/json" };
  }
  const response = await reach(address(template, path, query), init);
  return (await answer(response)) as Calls[C]["answer"];
}

export function address(
  template: string,
  path: Plain["path"] = {},
  query: Plain["query"] = {},
): string {
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(path[name])),
  );
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined) asked.set(name, String(value));
  }
  return asked.size ? `${filled}?${asked}` : filled;
}

/** Fetch, where whatever goes wrong is a `Problem`. */
export async function reach(url: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw away(init.method);
  }
  if (!response.ok) throw await refusal(response, init.method);
  return response;
}

/** Of what was only read, nobody asks whether it was done. */
function away(method = "GET"): Problem {
  const detail = method === "GET" ? t.errors.offlineDetail : t.errors.notChanged;
  return new Problem(0, t.errors.offline, detail);
}

async function answer(response: Response): Promise<unknown> {
  const kind = response.headers.get("content-type") ?? "";
  if (response.status === 204 || !kind) return undefined;
  return kind.startsWith("application/json") ? await response.json() : await response.blob();
}

async function refusal(response: Response, method: string | undefined): Promise<Problem> {
  if (response.status === 401) hooks.signedOut();
  const wait = Number(response.headers.get("retry-after")) || null;
  const text = await response.text();
  return problemOf(response.status, text, wait) ?? unread(response.status, method);
}

/** Null if it is not Roost that speaks. */
function problemOf(status: number, text: string, wait: number | null = null): Problem | null {
  try {
    const said = JSON.parse(text) as ProblemBody;
    return new Problem(status, said.title, said.detail, said.type, wait);
  } catch {
    return null;
  }
}

/** Whoever stands before Roost says in words of its own that it is not there. */
function unread(status: number, method?: string): Problem {
  return BEFORE_ROOST.has(status)
    ? away(method)
    : new Problem(status, t.errors.unexpected, t.errors.unexpectedDetail);
}

/** Send a file, and say how much of it has arrived (0 to 1). */
export function upload(
  file: Blob,
  { progress, signal }: { progress?: (part: number) => void; signal?: AbortSignal } = {},
): Promise<FileView> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/api/files");
    request.setRequestHeader("Content-Type", file.type || "application/octet-stream");
    request.upload.onprogress = (event) => {
      if (event.lengthComputable) progress?.(event.loaded / event.total);
    };
    request.onload = () => {
      if (request.status < 300) resolve(JSON.parse(request.responseText) as FileView);
      else reject(problemOf(request.status, request.responseText) ?? unread(request.status));
    };
    request.onerror = () => {
      reject(away());
    };
    request.onabort = () => {
      reject(new DOMException("Aborted", "AbortError"));
    };
    signal?.addEventListener("abort", () => {
      request.abort();
    });
    request.send(file);
  });
}

/** What to show of anything that was thrown. */
export function asProblem(error: unknown): Problem {
  return error instanceof Problem
    ? error
    : new Problem(-1, t.errors.unexpected, t.errors.unexpectedDetail);
}
