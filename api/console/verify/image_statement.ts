// Which container image a farm made of an artifact. As manifest/statement/image_statement.h, and
// manifest/artifact/oci_image.h.
import { utf8 } from "./bytes";
import { Digest, digestOf, digestText, sameDigest } from "./digest";
import { badMember, VerifyError } from "./error";
import { canonicalJson, Json, jsonObject, JsonObject } from "./json";
import { ObjectReader } from "./reader";
import { Statement } from "./statement";
import { targetNames } from "./target";

export const imageType = "urn:kiln:predicate:image:v1";
const mostBundles = 64;

// As Go calls the processor of the host program; null for one that has no images.
function architectureOf(target: string): string | null {
  const host = targetNames(target)[0];
  if (host.startsWith("cpu:aarch64")) return "arm64";
  if (host.startsWith("cpu:riscv64")) return "riscv64";
  return /^(cpu:x86-64|cuda:|vulkan:)/.test(host) ? "amd64" : null;
}

function descriptor(mediaType: string, digest: Digest): JsonObject {
  return jsonObject({ mediaType, digest: digestText(digest), size: Number(digest.size) });
}

async function imageOf(artifact: Digest, architecture: string, layers: readonly Digest[]): Promise<Digest> {
  const config = await digestOf(utf8(canonicalJson(jsonObject({
    architecture, os: "linux", config: jsonObject({}),
    rootfs: jsonObject({ type: "layers", diff_ids: layers.map(digestText) }),
  }))));
  return digestOf(utf8(canonicalJson(jsonObject({
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: descriptor("application/vnd.oci.image.config.v1+json", config),
    layers: layers.map((one) => descriptor("application/vnd.oci.image.layer.v1.tar", one)),
    subject: descriptor("application/vnd.oci.image.manifest.v1+json", artifact),
  }))));
}

function readDigests(reader: ObjectReader, name: string, least: number, most: number): Digest[] {
  const list: readonly Json[] = reader.array(name);
  if (list.length < least || list.length > most) throw badMember(reader.path(name), `must hold ${least} to ${most} digests`);
  return list.map((one) => {
    const entry = ObjectReader.open(one, reader.path(name));
    const digest = entry.digest();
    entry.finish();
    return digest;
  });
}

// The image that the statement names: the one that the stated layers make of this artifact, and no other.
export async function readImageStatement({ subjects, predicate }: Statement, artifact: Digest, target: string): Promise<Digest> {
  const reader = ObjectReader.open(predicate, "image");
  const image = reader.digestMember("image");
  const layers = readDigests(reader, "layers", 2, 2);
  readDigests(reader, "bundles", 1, mostBundles);
  reader.finish();
  const architecture = architectureOf(target);
  const made = architecture === null ? null : await imageOf(artifact, architecture, layers);
  if (made !== null && sameDigest(made, image) && subjects.length === 2 && subjects[0] === artifact.hex && subjects[1] === made.hex) return made;
  throw new VerifyError("data-loss", `its statement is about another artifact than ${digestText(artifact)}, or about another image than its layers make`);
}
