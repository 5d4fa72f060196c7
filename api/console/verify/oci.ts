// The OCI image manifest of an artifact. As manifest/artifact/oci.h.
import { Digest } from "./digest";
import { badMember } from "./error";
import { Json, parseStrictJson } from "./json";
import { checkRelativePath, PathSet } from "./path";
import { ObjectReader } from "./reader";

const ociManifest = "application/vnd.oci.image.manifest.v1+json";
const artifactType = "application/vnd.kiln.artifact.v1+json";
const manifestType = "application/vnd.kiln.manifest.v1+json";
export const programType = "application/vnd.kiln.program.v1+elf";
export const cubinType = "application/vnd.kiln.kernels.v1+cubin";
export const spirvType = "application/vnd.kiln.kernels.v1+spirv";
export const weightsType = "application/vnd.kiln.weights.v1";
const mostBytes = 4 << 20;
const largest = Number.MAX_SAFE_INTEGER;

export interface ArtifactFile {
  readonly path: string;
  readonly mediaType: string;
  readonly digest: Digest;
}
export interface OciManifest {
  readonly config: Digest;
  readonly layers: readonly ArtifactFile[];
}

function readDescriptor(reader: ObjectReader): Digest {
  const size = reader.integer("size", 0, largest);
  return { ...reader.digest(), size: BigInt(size) };
}

function readLayer(json: Json, place: string, first: boolean): ArtifactFile {
  const title = "org.opencontainers.image.title";
  const reader = ObjectReader.open(json, place);
  const mediaType = reader.string("mediaType");
  if (first && mediaType !== programType) throw badMember(reader.path("mediaType"), `must be "${programType}"`);
  const digest = readDescriptor(reader);
  const annotations = reader.object("annotations");
  const path = annotations.string(title);
  checkRelativePath(path, annotations.path(title));
  annotations.finish();
  reader.finish();
  return { path, mediaType, digest };
}

export function parseOciManifest(bytes: Uint8Array): OciManifest {
  const reader = ObjectReader.open(parseStrictJson(bytes, { bytes: mostBytes - 1, depth: 8 }), "artifact");
  reader.integer("schemaVersion", 2, 2);
  reader.expect("mediaType", ociManifest);
  reader.expect("artifactType", artifactType);
  const about = reader.object("config");
  about.expect("mediaType", manifestType);
  const config = readDescriptor(about);
  if (config.size >= BigInt(mostBytes)) throw badMember(about.path("size"), "must be below 4 MiB");
  about.finish();
  const list = reader.array("layers");
  if (list.length === 0 || list.length > 16384) throw badMember("artifact.layers", "must hold 1 to 16384 layers");
  const paths = new PathSet();
  const layers: ArtifactFile[] = [];
  list.forEach((one, i) => {
    const place = `artifact.layers[${i}]`;
    const layer = readLayer(one, place, i === 0);
    const before = i === 0 ? layer.mediaType : layers[i - 1].mediaType;
    const isKernels = layer.mediaType === cubinType || layer.mediaType === spirvType;
    if (i > 0 && layer.mediaType !== weightsType && (!isKernels || before === weightsType)) {
      throw badMember(`${place}.mediaType`, "must be that of kernels or, behind these, of weights");
    }
    paths.add(layer.path, place);
    layers.push(layer);
  });
  reader.finish();
  return { config, layers };
}
