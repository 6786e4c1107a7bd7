/** Paths of a workspace, as the browser of files walks them. "" is the workspace itself. */

type Crumb = { name: string; path: string };

export function join(folder: string, name: string): string {
  return folder ? `${folder}/${name}` : name;
}

/** The folders that lead to a path, the outermost first, the path itself last. */
export function crumbs(path: string): Crumb[] {
  const names = path.split("/").filter(Boolean);
  return names.map((name, n) => ({ name, path: names.slice(0, n + 1).join("/") }));
}

export function parent(path: string): string {
  return path.split("/").slice(0, -1).join("/");
}

const PICTURES = new Set(["png", "jpg", "jpeg", "gif", "webp"]);

/** Whether a browser may show it as a picture. SVG is served as text: it can hold script. */
export function isPicture(name: string): boolean {
  return PICTURES.has(ending(name));
}

function ending(name: string): string {
  const dot = name.lastIndexOf(".");
  return dot < 0 ? "" : name.slice(dot + 1).toLowerCase();
}

type Named = { name: string; kind: string };

/** Folders first, names as people sort them: 2 before 10. */
export function sorted<E extends Named>(entries: readonly E[]): E[] {
  const folders = (entry: Named): number => (entry.kind === "folder" ? 0 : 1);
  return [...entries].sort(
    (a, b) => folders(a) - folders(b) || a.name.localeCompare(b.name, undefined, { numeric: true }),
  );
}
