// Which IR a worker's compile of an artifact has left. As manifest/statement/ir_statement.h, and
// makeReferrer() of manifest/artifact/oci_layout.h.
import { byteOrder, utf8 } from "./bytes";
import { Digest, digestOf, digestText, sameDigest } from "./digest";
import { badMember, VerifyError } from "./error";
import { canonicalJson, Json, jsonObject } from "./json";
import { ArtifactFile } from "./oci";
import { checkRelativePath } from "./path";
import { ObjectReader } from "./reader";
import { StatedRun } from "./statement";

export const irType = "urn:kiln:predicate:ir:v1";
const mostFiles = 1024;
const mostBytes = BigInt(256) << BigInt(20);
const manifestType = "application/vnd.oci.image.manifest.v1+json";

export interface IrStatement extends StatedRun {
  readonly toolchain: Digest;
  readonly ir: Digest; // the OCI manifest whose layers are the files
  readonly files: readonly Pick<ArtifactFile, "path" | "digest">[];
}

function readFiles(reader: ObjectReader): IrStatement["files"] {
  const list: readonly Json[] = reader.array("files");
  if (list.length === 0 || list.length > mostFiles) throw badMember(reader.path("files"), "must hold 1 to 1024 files");
  let left = mostBytes;
  let before = "";
  return list.map((one, i) => {
    const file = ObjectReader.open(one, `${reader.path("files")}[${i}]`);
    const path = file.string("path");
    checkRelativePath(path, file.path("path"));
    if (i > 0 && byteOrder(path, before) <= 0) throw badMember(file.path("path"), "must come after the path before it");
    before = path;
    const digest = file.digest();
    file.finish();
    if (digest.size > left) throw badMember(reader.path("files"), "must hold 256 MiB together at most");
    left -= digest.size;
    return { path, digest };
  });
}

export function readIr(predicate: Json): IrStatement {
  const reader = ObjectReader.open(predicate, "predicate");
  const who = reader.object("compiler");
  const [builderId, worker, operator] = ["id", "worker", "operator"].map((member) => who.string(member));
  who.finish();
  reader.string("invocationId");
  for (const member of ["action", "receipt"]) reader.digestMember(member);
  reader.time("startedOn");
  const finishedOn = reader.time("finishedOn");
  const toolchain = reader.digestMember("toolchain");
  const ir = reader.digestMember("ir");
  const files = readFiles(reader);
  reader.finish();
  return { builderId, worker, operator, finishedOn, toolchain, ir, files };
}

// The IR is what the files of this artifact make, and the toolchain its spec's.
export async function checkIr(said: IrStatement, artifact: Digest, toolchain: Digest): Promise<void> {
  if (!sameDigest(said.toolchain, toolchain)) {
    throw new VerifyError("data-loss", `its IR is of another toolchain (${digestText(said.toolchain)})`);
  }
  const descriptor = (mediaType: string, digest: Digest, more = {}) =>
    jsonObject({ mediaType, digest: digestText(digest), size: Number(digest.size), ...more });
  const made = await digestOf(utf8(canonicalJson(jsonObject({
    schemaVersion: 2,
    mediaType: manifestType,
    artifactType: "application/vnd.kiln.ir.v1",
    config: descriptor("application/vnd.oci.empty.v1+json", await digestOf(utf8("{}"))),
    layers: said.files.map(({ path, digest }) => descriptor("application/octet-stream", digest,
      { annotations: jsonObject({ "org.opencontainers.image.title": path }) })),
    subject: descriptor(manifestType, artifact),
  }))));
  if (!sameDigest(made, said.ir)) {
    throw new VerifyError("data-loss", `its files make another IR of ${digestText(artifact)} than ${digestText(said.ir)}`);
  }
}
