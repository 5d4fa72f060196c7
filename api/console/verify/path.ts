// Relative paths that stay below their folder, as manifest/spec/path.h, and sets of them, as
// manifest/artifact/path_set.h.
import { inQuotes, utf8 } from "./bytes";
import { badMember } from "./error";

export function checkRelativePath(path: string, place: string): void {
  const bad = (why: string) => badMember(place, `unsafe path: ${why}`);
  if (path === "" || utf8(path).length > 1024) throw bad("must have 1 to 1024 bytes");
  if (/[\x00-\x1f\x7f\\]/.test(path)) throw bad("has a control character or a backslash");
  for (const part of path.split("/")) {
    if (part === "") throw bad("is absolute or has an empty component");
    if (part === "." || part === "..") throw bad('has a "." or ".." component');
  }
}

// Paths of an artifact's files: each once, none below another, none that the artifact keeps for itself.
export class PathSet {
  private readonly files = new Set<string>();
  private readonly directories = new Set<string>();

  add(path: string, place: string): void {
    const bad = (why: string) => badMember(place, `its path ${inQuotes(path)} ${why}`);
    if (["artifact.json", "manifest.json", "bundles", "fixtures"].some((own) => path === own || path.startsWith(`${own}/`))) {
      throw bad("is kept for the artifact's own files");
    }
    if (this.directories.has(path)) throw bad("is a directory of another file");
    if (this.files.has(path)) throw bad("is taken by another file");
    this.files.add(path);
    for (let slash = path.indexOf("/"); slash >= 0; slash = path.indexOf("/", slash + 1)) {
      const parent = path.slice(0, slash);
      if (this.files.has(parent)) throw bad("is below another file");
      this.directories.add(parent);
    }
  }
}
