/** What every browser has and jsdom has not, for tests. */

import { ReadableStream, TextDecoderStream } from "node:stream/web";

Object.assign(globalThis, { ReadableStream, TextDecoderStream });
