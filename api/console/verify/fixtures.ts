// fixtures.json: what lies in fixtures/ beside an artifact. As manifest/artifact/fixture_list.h.
import { byteOrder } from "./bytes";
import { Digest } from "./digest";
import { badMember } from "./error";
import { parseStrictJson } from "./json";
import { checkRelativePath } from "./path";
import { ObjectReader } from "./reader";

export interface FixtureFile { readonly path: string; readonly digest: Digest }

export function parseFixtureList(bytes: Uint8Array): FixtureFile[] {
  const reader = ObjectReader.open(parseStrictJson(bytes, { bytes: 4 << 20, depth: 8 }), "");
  reader.expect("version", "1");
  const list = reader.array("files");
  if (list.length > 4095) throw badMember("files", "more than 4095 files");
  const files: FixtureFile[] = [];
  list.forEach((one, i) => {
    const entry = ObjectReader.open(one, `files[${i}]`);
    const path = entry.string("path");
    checkRelativePath(path, entry.path("path"));
    if (!path.endsWith(".npy")) throw badMember(entry.path("path"), "must end in .npy");
    const digest = entry.digest();
    entry.finish();
    if (i > 0 && byteOrder(path, files[i - 1].path) <= 0) throw badMember(`files[${i}].path`, "must come after the path before it");
    files.push({ path, digest });
  });
  const names = new Set(files.map((file) => file.path));
  for (const { path } of files) {
    for (let slash = path.indexOf("/"); slash >= 0; slash = path.indexOf("/", slash + 1)) {
      if (names.has(path.slice(0, slash))) throw badMember("files", "a file is below a file");
    }
  }
  const profiles = reader.array("profiles");
  if (profiles.length > 256) throw badMember("profiles", "more than 256 profiles");
  profiles.forEach((one, i) => {
    const entry = ObjectReader.open(one, `profiles[${i}]`);
    entry.string("name");
    const [, outputs] = ["inputs", "outputs"].map((member) => {
      const used = entry.strings(member);
      if (!used.every((path) => names.has(path))) throw badMember(entry.path(member), "names what is not among the files");
      return used;
    });
    if (entry.has("atol") && entry.decimals("atol").length !== outputs.length) throw badMember(entry.path("atol"), "must have one for each output");
    entry.finish();
  });
  const tolerance = reader.object("tolerance");
  tolerance.decimal("rtol");
  tolerance.decimal("atol");
  tolerance.finish();
  reader.finish();
  return files;
}
