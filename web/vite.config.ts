import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";
import { compressed, firstLoad, marked, modernFonts, plainIcons } from "./packing.ts";

const SERVER = process.env.ROOST_URL ?? "http://127.0.0.1:7667";

export default defineConfig({
  plugins: [plainIcons(), svelte(), modernFonts(), firstLoad(250_000), marked(), compressed()],
  build: {
    outDir: "../src/roost/http/static",
    emptyOutDir: true,
    target: "es2023",
    // The policy of the page lets no font or style come from a data: address.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // Diagrams are large; they come when one is shown. What matters is the first load.
    chunkSizeWarningLimit: 4000,
  },
  // The server takes writes from its own pages only, so it has to be told that this is one.
  server: {
    proxy: { "/api": { target: SERVER, changeOrigin: true, headers: { origin: SERVER } } },
  },
  resolve: {
    // Mermaid asks for an older one: with its own there would be two of 260 KB each.
    dedupe: ["katex"],
    // Without this, tests get Svelte's server side.
    ...(process.env.VITEST ? { conditions: ["browser"] } : {}),
  },
  test: {
    environment: "jsdom",
    // A page of its own for each file, but not a process: to start one takes ten times as long.
    pool: "vmThreads",
    setupFiles: ["testing.ts"],
    include: ["src/**/*.test.ts"],
    passWithNoTests: true,
    // Styles that a test reads as text; others are left out.
    css: { include: [/\.css\?raw$/] },
  },
});
