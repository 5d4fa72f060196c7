// The Manifest of an artifact. As manifest/artifact/manifest.h.
import { byteOrder, utf8 } from "./bytes";
import { sameDigest } from "./digest";
import { badMember, VerifyError } from "./error";
import { Json, jsonObject, JsonObject, parseCanonicalJson } from "./json";
import { ArtifactFile, cubinType, OciManifest, programType, spirvType, weightsType } from "./oci";
import { checkRelativePath, PathSet } from "./path";
import { ObjectReader } from "./reader";
import { CompileSpec, readSpec } from "./spec";
import { targetNames } from "./target";

const largest = Number.MAX_SAFE_INTEGER;

export interface Tensor {
  readonly name: string;
  readonly dtype: string;
  readonly shape: ReadonlyArray<number | string>;
}
export interface ProgramProfile {
  readonly name: string;
  readonly arenaBytes: bigint;
  readonly scratchBytes: bigint;
}
export interface DeviceImage {
  readonly target: string;
  readonly image: ArtifactFile;
  readonly kernels: readonly string[];
}
export interface Manifest {
  readonly spec: CompileSpec;
  readonly abi: number;
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
  readonly profiles: readonly ProgramProfile[];
  readonly program: ArtifactFile;
  readonly devices: readonly DeviceImage[];
  readonly weights: readonly ArtifactFile[];
  readonly stages: JsonObject;
}

export function filesOf(manifest: Manifest): ArtifactFile[] {
  return [manifest.program, ...manifest.devices.map((one) => one.image), ...manifest.weights];
}

const dtypes = new Set(["f32", "f64", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool",
  "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0fnu", "f4e2m1fn", "i4", "u4", "i2", "u2"]);

function readTensor(json: Json, first: boolean, place: string): Tensor {
  const reader = ObjectReader.open(json, place);
  const name = reader.string("name");
  const dtype = reader.string("dtype");
  if (!dtypes.has(dtype)) throw badMember(reader.path("dtype"), "is no element type");
  const list = reader.array("shape");
  if (list.length > 64) throw badMember(reader.path("shape"), "more than 64 dimensions");
  const shape = list.map((dim) => {
    if (typeof dim === "number" && dim >= 0) return dim;
    if (!first && typeof dim === "string" && dim !== "" && utf8(dim).length <= 1024) return dim;
    throw badMember(reader.path("shape"), "must hold integers from 0 to 2^53-1 and expressions of 1 to 1024 bytes");
  });
  if (first && reader.strings("dimNames").length !== shape.length) {
    throw badMember(reader.path("dimNames"), 'must have one name per dimension ("" where static)');
  }
  if (reader.has("text")) {
    if (!reader.boolean("text")) throw badMember(reader.path("text"), "must be left out where it is false");
    if (first || dtype !== "i64") throw badMember(reader.path("text"), "is for tensors of i64");
  }
  reader.finish();
  return { name, dtype, shape };
}

function readTensors(program: ObjectReader, name: string, first: boolean): Tensor[] {
  const list = program.array(name);
  if (list.length > 4096) throw badMember(program.path(name), "too many tensors");
  const out = list.map((one, i) => readTensor(one, first, `${program.path(name)}[${i}]`));
  if (new Set(out.map((one) => one.name)).size !== out.length) throw badMember(program.path(name), "a second tensor of this name");
  return out;
}

function checkElement(index: number, input: Tensor, place: string): void {
  if (!/^(i|u|bool)/.test(input.dtype)) throw badMember(place, "the input's elements are no integers");
  let elements = BigInt(1);
  for (const dim of input.shape) {
    if (typeof dim !== "number") throw badMember(place, "the input's shape is not fixed");
    elements *= BigInt(dim);
    if (elements >= BigInt(1) << BigInt(63)) throw badMember(place, "the input's shape is not fixed");
  }
  if (BigInt(index) >= elements) throw badMember(place, "the input has no such element");
}

function readSymbols(program: ObjectReader, inputs: readonly Tensor[]): string[] {
  const list = program.array("symbols");
  if (list.length > 4096) throw badMember(program.path("symbols"), "too many symbols");
  const names = list.map((one, i) => {
    const reader = ObjectReader.open(one, `${program.path("symbols")}[${i}]`);
    const name = reader.string("name");
    if (name === "") throw badMember(reader.path("name"), "must not be empty");
    const of = reader.string("input");
    const member = reader.has("element") ? "element" : "dim";
    const index = reader.integer(member, 0, largest);
    const pad = reader.boolean("pad");
    reader.finish();
    const input = inputs.find((tensor) => tensor.name === of);
    if (!input) throw badMember(reader.path("input"), "no input of this name");
    if (member === "element") {
      if (pad) throw badMember(reader.path("pad"), "a value cannot be padded");
      checkElement(index, input, reader.path(member));
    } else if (input.shape[index] !== name) {
      throw badMember(reader.path(member), "the input has no dimension of this name there");
    }
    return name;
  });
  if (new Set(names).size !== names.length) throw badMember(program.path("symbols"), "a second symbol of this name");
  inputs.forEach((input, i) => {
    for (const dim of input.shape) {
      if (typeof dim === "string" && !names.includes(dim)) throw badMember(`${program.path("inputs")}[${i}].shape`, `no symbol is called ${dim}`);
    }
  });
  return names;
}

function readProfiles(program: ObjectReader, spec: CompileSpec, symbols: readonly string[], devices: number | null): ProgramProfile[] {
  const list = program.array("profiles");
  if (list.length !== spec.profiles.length) throw badMember(program.path("profiles"), "must have one entry for each profile of the spec");
  return list.map((one, i) => {
    const reader = ObjectReader.open(one, `${program.path("profiles")}[${i}]`);
    const name = reader.string("name");
    const wanted = spec.profiles[i];
    if (name !== wanted.name) throw badMember(reader.path("name"), "must be the spec's");
    if (symbols.some((symbol) => !wanted.dims.has(symbol))) throw badMember(reader.path("name"), "the spec's profile has no range for a symbol");
    const arenaBytes = reader.unsigned64("arenaBytes");
    const scratchBytes = reader.unsigned64("scratchBytes");
    if (reader.has("transferBytes") && reader.unsigned64("transferBytes") === BigInt(0)) {
      throw badMember(reader.path("transferBytes"), "must be left out where it is 0");
    }
    if (devices !== null) {
      const sizes = reader.array("deviceArenaBytes");
      sizes.forEach((size) => ObjectReader.open(jsonObject({ size }), reader.path("deviceArenaBytes")).unsigned64("size"));
      if (sizes.length !== devices) throw badMember(reader.path("deviceArenaBytes"), "must have one number per device");
    }
    reader.finish();
    return { name, arenaBytes, scratchBytes };
  });
}

function readFile(reader: ObjectReader, mediaType: string, paths: PathSet): ArtifactFile {
  const path = reader.string("path");
  checkRelativePath(path, reader.path("path"));
  reader.expect("mediaType", mediaType);
  const digest = reader.digest();
  reader.finish();
  paths.add(path, reader.path("path"));
  return { path, mediaType, digest };
}

function readDevice(json: Json, spec: CompileSpec, place: string, paths: PathSet): DeviceImage {
  const reader = ObjectReader.open(json, place);
  const target = reader.string("target");
  const arch = reader.string("arch");
  if (!targetNames(spec.target).includes(target)) throw badMember(reader.path("target"), "is none of the spec's");
  const vulkan = target.startsWith("vulkan:");
  if (target !== `${vulkan ? "vulkan" : "cuda"}:${arch}`) throw badMember(reader.path("arch"), "is not that of the target");
  const image = readFile(reader.object("image"), vulkan ? spirvType : cubinType, paths);
  const kernels = reader.strings("kernels");
  if (kernels.length > 65536) throw badMember(reader.path("kernels"), "too many kernels");
  if (new Set(kernels).size !== kernels.length || !kernels.every((name) => /^[A-Za-z_][A-Za-z0-9_]{0,255}$/.test(name))) {
    throw badMember(reader.path("kernels"), "must be names of letters, digits and _, each once");
  }
  for (const name of ["driver", "computeCapability"]) {
    if (!/^(0|[1-9][0-9]{0,2})\.(0|[1-9][0-9]{0,2})$/.test(reader.string(name))) throw badMember(reader.path(name), "must be two numbers, as in 13.0");
  }
  reader.boolean("exact");
  reader.finish();
  return { target, image, kernels };
}

function checkTexts(program: ObjectReader): void {
  if (program.has("strings")) {
    const strings = program.strings("strings");
    const bad = strings.length === 0 || strings.length > 16384 || strings.some((text, i) =>
      utf8(text).length > 4096 || text.includes("\0") || (i > 0 && byteOrder(text, strings[i - 1]) <= 0));
    if (bad) throw badMember(program.path("strings"), "must be texts in the order of their bytes, each once");
  }
  if (program.has("indexChecks")) {
    const nodes = program.strings("indexChecks");
    if (nodes.length === 0 || nodes.length > 4096 || new Set(nodes).size !== nodes.length) {
      throw badMember(program.path("indexChecks"), "must name each node once");
    }
  }
}

function readStages(reader: ObjectReader): JsonObject {
  const stages = reader.object("stages");
  for (const name of ["capture", "analyse", "rewrite", "partition", "schedule", "codegen", "plan", "package"]) {
    if (stages.has(name)) stages.object(name);
  }
  stages.finish();
  return reader.any("stages") as JsonObject;
}

export function parseManifest(bytes: Uint8Array): Manifest {
  const reader = ObjectReader.open(parseCanonicalJson(bytes), "");
  reader.expect("apiVersion", "kiln/v1");
  reader.expect("kind", "Manifest");
  const spec = readSpec(reader.any("spec"));
  const program = reader.object("program");
  const abi = program.integer("abi", 1, 0xffffffff);
  const first = abi === 1;
  // Devices are the whole difference between ABI 2 and 3; a later one may have them.
  const withDevices = abi === 3 || (abi > 3 && program.has("devices"));
  const inputs = readTensors(program, "inputs", first);
  const outputs = readTensors(program, "outputs", first);
  const paths = new PathSet();
  const file = readFile(program.object("file"), programType, paths);
  let devices: DeviceImage[] = [];
  if (withDevices) {
    const list = program.array("devices");
    if (list.length === 0 || list.length > 16) throw badMember(program.path("devices"), "must hold 1 to 16 devices");
    devices = list.map((one, i) => readDevice(one, spec, `${program.path("devices")}[${i}]`, paths));
    if (new Set(devices.map((one) => one.target)).size !== devices.length) throw badMember(program.path("devices"), "a second device of this target");
  }
  let profiles: ProgramProfile[];
  if (first) {
    profiles = [{ name: spec.profiles[0].name, arenaBytes: program.unsigned64("arenaBytes"), scratchBytes: program.unsigned64("scratchBytes") }];
  } else {
    profiles = readProfiles(program, spec, readSymbols(program, inputs), withDevices ? devices.length : null);
    checkTexts(program);
  }
  const list = program.array("weights");
  if (list.length > 16384) throw badMember(program.path("weights"), "too many weight files");
  const weights = list.map((one, i) => {
    const weight = ObjectReader.open(one, `${program.path("weights")}[${i}]`);
    if (withDevices) weight.integer("space", 0, devices.length);
    return readFile(weight, weightsType, paths);
  });
  program.finish();
  const stages = readStages(reader);
  reader.finish();
  return { spec, abi, inputs, outputs, profiles, program: file, devices, weights, stages };
}

export function checkLayers(oci: OciManifest, manifest: Manifest): void {
  const files = filesOf(manifest);
  const same = files.length === oci.layers.length && files.every((file, i) => {
    const layer = oci.layers[i];
    return file.path === layer.path && file.mediaType === layer.mediaType && sameDigest(file.digest, layer.digest);
  });
  if (!same) throw new VerifyError("data-loss", "the layers of the OCI manifest are not the files that manifest.json lists");
}
