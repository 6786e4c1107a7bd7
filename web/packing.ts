// What the build does beyond bundling: every file lies there compressed as well, the service worker
// knows which build it belongs to, the first load has a limit, and icons are plain drawings.
import { createHash } from "node:crypto";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { extname, join, relative } from "node:path";
import type { Plugin, Rolldown } from "vite";

const TEXT = new Set([".css", ".html", ".js", ".json", ".svg", ".webmanifest"]);
const SMALL = 1024;
/** The best is 11, which takes ten times as long for a few percent. */
const BROTLI = { [constants.BROTLI_PARAM_QUALITY]: 9 };

/** Every build has a worker of its own, which removes what those of older builds kept. */
export function marked(): Plugin {
  return {
    name: "roost:marked",
    apply: "build",
    writeBundle({ dir: folder = "" }) {
      const digest = createHash("sha256");
      for (const file of filesOf(folder))
        digest.update(relative(folder, file)).update(readFileSync(file));
      const worker = join(folder, "worker.js");
      const mark = digest.digest("hex").slice(0, 12);
      writeFileSync(worker, readFileSync(worker, "utf8").replace("__BUILD__", mark));
    },
  };
}

/** Browsers ask for Brotli over HTTPS only, so there is gzip too. */
export function compressed(): Plugin {
  return {
    name: "roost:compressed",
    apply: "build",
    writeBundle({ dir: folder = "" }) {
      for (const file of filesOf(folder)) {
        if (!TEXT.has(extname(file)) || statSync(file).size < SMALL) continue;
        const content = readFileSync(file);
        writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
        writeFileSync(`${file}.br`, brotliCompressSync(content, { params: BROTLI }));
      }
    },
  };
}

function filesOf(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  return names.map((name) => join(folder, name)).filter((file) => statSync(file).isFile());
}

/** Every browser that runs the app reads woff2; KaTeX brings two older formats of each font. */
export function modernFonts(): Plugin {
  return {
    name: "roost:modern-fonts",
    generateBundle(_, bundle) {
      for (const name of Object.keys(bundle)) if (/\.(ttf|woff)$/.test(name)) delete bundle[name];
    },
  };
}

type Drawing = { node: [string, Record<string, string>][] };

/** An icon of the set asks what it should be whenever it is shown, attribute by attribute. Ours are
 * shown by the dozen in every turn, and differ in nothing but these three: so each is one copy. */
export function plainIcons(): Plugin {
  return {
    name: "roost:plain-icons",
    enforce: "pre",
    transform(code, id) {
      if (!/@lucide\/svelte\/dist\/icons\/[\w-]+\.svelte$/.test(id)) return undefined;
      const found = /const iconData = (.*);/.exec(code)?.[1];
      if (found === undefined) this.error(`There is no drawing in ${id}.`);
      const { node } = JSON.parse(found) as Drawing;
      return { code: drawn(node), map: null };
    },
  };
}

function drawn(node: Drawing["node"]): string {
  const shapes = node.map(([tag, attributes]) => {
    const given = Object.entries(attributes).filter(([name]) => name !== "key");
    return `<${tag} ${given.map(([name, value]) => `${name}="${value}"`).join(" ")} />`;
  });
  return `<script>
  let { size = 24, strokeWidth = 2, fill = "none" } = $props();
</script>
<svg width={size} height={size} viewBox="0 0 24 24" {fill} stroke="currentColor"
  stroke-width={strokeWidth} stroke-linecap="round" stroke-linejoin="round"
  aria-hidden="true">${shapes.join("")}</svg>`;
}

/** The build fails when the page, its script and its style grow past `limit` bytes in gzip. */
export function firstLoad(limit: number): Plugin {
  return {
    name: "roost:first-load",
    apply: "build",
    generateBundle: {
      order: "post",
      handler(_, bundle) {
        const sizes = loadedFirst(bundle).map((name) => gzipSync(content(bundle[name])).length);
        const total = sizes.reduce((sum, size) => sum + size, 0);
        if (total > limit) this.error(`The first load is ${total} bytes, of at most ${limit}.`);
        this.info(`The first load is ${total} bytes compressed, of at most ${limit}.`);
      },
    },
  };
}

function loadedFirst(bundle: Rolldown.OutputBundle): string[] {
  const waiting = Object.keys(bundle).filter((name) => {
    const each = bundle[name];
    return name.endsWith(".html") || (each?.type === "chunk" && each.isEntry);
  });
  const found = new Set<string>();
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    const each = bundle[name];
    if (each?.type !== "chunk") continue;
    waiting.push(...each.imports, ...(each.viteMetadata?.importedCss ?? []));
  }
  return [...found];
}

function content(output: Rolldown.OutputAsset | Rolldown.OutputChunk | undefined) {
  if (output === undefined) return "";
  return output.type === "chunk" ? output.code : output.source;
}
