// The CompileSpec in a manifest, as manifest/spec/compile_spec.h.
import { byteOrder, inQuotes, utf8 } from "./bytes";
import { Digest, digestText } from "./digest";
import { badMember } from "./error";
import { Json, jsonObject, JsonObject } from "./json";
import { checkRelativePath } from "./path";
import { ObjectReader } from "./reader";
import { isTarget } from "./target";

export interface ModelFile { readonly path: string; readonly digest: Digest }
export interface SpecProfile { readonly name: string; readonly dims: ReadonlySet<string> }

export interface CompileSpec {
  readonly files: readonly ModelFile[];
  readonly toolchain: Digest;
  readonly target: string;
  readonly features: readonly string[];
  readonly profiles: readonly SpecProfile[];
  readonly outOfProfile: string;
  readonly fallback: string;
  readonly tuning: Digest | null;
  readonly numerics: JsonObject;
  readonly json: JsonObject; // the document, sizes as decimal strings
}

const largest = Number.MAX_SAFE_INTEGER;
const mostFiles = 4096;
const mostRules = 256;

export function digestJson(digest: Digest): JsonObject {
  return jsonObject({ digest: digestText(digest), size: String(digest.size) });
}

function checkName(name: string, place: string): void {
  if (name === "" || utf8(name).length > 1024) throw badMember(place, "must have 1 to 1024 bytes");
}

function oneOf(reader: ObjectReader, name: string, allowed: readonly string[]): string {
  const value = reader.string(name);
  if (!allowed.includes(value)) throw badMember(reader.path(name), `must be one of ${allowed.map((one) => `"${one}"`).join(", ")}`);
  return value;
}

// "sorted, each once": what comes after `before`.
function checkAfter(before: string | null, name: string, place: string): string {
  if (before !== null && byteOrder(name, before) <= 0) throw badMember(place, "must be sorted, each once");
  return name;
}

function readProfile(json: Json, place: string): SpecProfile {
  const reader = ObjectReader.open(json, place);
  const name = reader.string("name");
  if (!/^[\x20-\x7e]{1,200}$/.test(name) || /[/\\]/.test(name) || name.startsWith(".") || name === "fixtures.json") {
    throw badMember(reader.path("name"), `the profile name ${inQuotes(name)} is not usable`);
  }
  let before: string | null = null;
  const dims = new Set<string>();
  reader.array("dims").forEach((one, i) => {
    const dim = ObjectReader.open(one, `${reader.path("dims")}[${i}]`);
    const of = dim.string("dim");
    checkName(of, dim.path("dim"));
    before = checkAfter(before, of, dim.path("dim"));
    const min = dim.integer("min", -largest, largest);
    const opt = dim.integer("opt", min, largest);
    const max = dim.integer("max", opt, largest);
    if (dim.has("multiple")) {
      const multiple = dim.integer("multiple", 2, 2 ** 31);
      if ([min, opt, max].some((size) => size % multiple !== 0)) {
        throw badMember(dim.path("multiple"), "min, opt and max must be multiples of it");
      }
    }
    dim.finish();
    dims.add(of);
  });
  reader.finish();
  return { name, dims };
}

function readProfiles(reader: ObjectReader): SpecProfile[] {
  const list = reader.array("profiles");
  if (list.length === 0 || list.length > 64) throw badMember(reader.path("profiles"), "must hold 1 to 64 profiles");
  const profiles = list.map((one, i) => readProfile(one, `${reader.path("profiles")}[${i}]`));
  if (new Set(profiles.map((one) => one.name)).size !== profiles.length) {
    throw badMember(reader.path("profiles"), "a second profile of this name");
  }
  return profiles;
}

// A number as std::to_chars writes it: its shortest digits, plain or with an exponent, whichever is shorter.
function shortestText(value: number): string {
  const [mantissa, exponent] = value.toExponential().split("e");
  const power = Number(exponent);
  const sign = value < 0 ? "-" : "";
  const digits = mantissa.replace(/[-.]/g, "");
  const scientific = `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  const plain = power < 0 ? `${sign}0.${"0".repeat(-power - 1)}${digits}`
    : digits.length > power + 1 ? `${sign}${digits.slice(0, power + 1)}.${digits.slice(power + 1)}`
      : String(BigInt(value));
  return plain.length <= scientific.length ? plain : scientific;
}

// Whether a text is how a pin's value is written: an integer of 64 bits, else a number that is none.
function isPin(text: string): boolean {
  const isInteger = (value: bigint) => value >= -(BigInt(1) << BigInt(63)) && value < BigInt(1) << BigInt(63);
  if (text === "-0" || (/^(0|-?[1-9][0-9]*)$/.test(text) && isInteger(BigInt(text)))) return true;
  if (!/^-?[0-9]+(\.[0-9]+)?(e[+-][0-9]{2,3})?$/.test(text)) return false;
  const value = Number(text);
  if (!Number.isFinite(value) || (Number.isInteger(value) && isInteger(BigInt(value)))) return false;
  return shortestText(value) === text;
}

function checkPins(reader: ObjectReader): void {
  let before: string | null = null;
  reader.array("pins").forEach((one, i) => {
    const pin = ObjectReader.open(one, `${reader.path("pins")}[${i}]`);
    const input = pin.string("input");
    checkName(input, pin.path("input"));
    before = checkAfter(before, input, pin.path("input"));
    if (!pin.strings("values").every(isPin)) {
      throw badMember(pin.path("values"), "must be decimal numbers as strings, each in its shortest form");
    }
    pin.finish();
  });
}

function checkSequences(reader: ObjectReader): void {
  const list = reader.array("sequences");
  if (list.length === 0) throw badMember(reader.path("sequences"), "must be left out where it is empty");
  let before: string | null = null;
  list.forEach((one, i) => {
    const entry = ObjectReader.open(one, `${reader.path("sequences")}[${i}]`);
    const input = entry.string("input");
    checkName(input, entry.path("input"));
    before = checkAfter(before, input, entry.path("input"));
    const present = entry.boolean("present");
    const tensors = entry.array("tensors");
    const isShape = (tensor: Json) => tensor === "declared" ||
      (Array.isArray(tensor) && tensor.length <= 32 && tensor.every((dim) => typeof dim === "number" && dim >= 0));
    if (tensors.length > 4096 || (!present && tensors.length > 0) || !tensors.every(isShape)) {
      throw badMember(entry.path("tensors"), "must hold at most 4096 tensors, none of an input that is absent");
    }
    entry.finish();
  });
}

function checkParameters(reader: ObjectReader, files: readonly ModelFile[]): void {
  const paths = reader.strings("parameters");
  if (paths.length === 0 || paths.length > mostFiles || new Set(paths).size !== paths.length) {
    throw badMember(reader.path("parameters"), `must hold 1 to ${mostFiles} paths, each once, and be left out where there are none`);
  }
  paths.forEach((path, i) => {
    checkRelativePath(path, `${reader.path("parameters")}[${i}]`);
    if (!files.slice(1).some((file) => file.path === path)) {
      throw badMember(`spec.parameters[${i}]`, "is no file beside the model");
    }
  });
}

function checkPartition(reader: ObjectReader): void {
  const rules = reader.object("partition");
  let said = 0;
  for (const name of ["affinities", "exclusions"]) {
    const list = rules.array(name);
    if (list.length > mostRules) throw badMember(rules.path(name), `must hold at most ${mostRules} rules`);
    list.forEach((one, i) => {
      const entry = ObjectReader.open(one, `${rules.path(name)}[${i}]`);
      for (const member of ["pattern", "target"]) checkName(entry.string(member), entry.path(member));
      entry.finish();
    });
    said += list.length;
  }
  const operators = rules.strings("fallbackOperators");
  if (operators.length > mostRules || operators.some((one, i) => i > 0 && byteOrder(one, operators[i - 1]) <= 0)) {
    throw badMember(rules.path("fallbackOperators"), `must be sorted, each operator once, at most ${mostRules} of them`);
  }
  const most = rules.integer("fallbackPermille", 0, 1000);
  if (said + operators.length === 0 && most === 1000) throw badMember(reader.path("partition"), "must be left out where it says nothing");
  rules.finish();
}

function readNumerics(reader: ObjectReader): JsonObject {
  const numerics = reader.object("numerics");
  oneOf(numerics, "contraction", ["on", "off"]);
  oneOf(numerics, "reassociation", ["on", "off", "deterministic"]);
  oneOf(numerics, "precision", ["f32", "tf32", "bf16", "f16", "int8"]);
  numerics.finish();
  return reader.any("numerics") as JsonObject;
}

function readBudgets(reader: ObjectReader): JsonObject {
  const budgets = reader.object("budgets");
  const out = jsonObject({
    artifactBytes: String(budgets.unsigned64("artifactBytes")),
    plannedBytes: String(budgets.unsigned64("plannedBytes")),
  });
  budgets.finish();
  return out;
}

function readFiles(reader: ObjectReader): ModelFile[] {
  const list = reader.array("files");
  if (list.length === 0 || list.length > mostFiles) throw badMember(reader.path("files"), `must hold 1 to ${mostFiles} files`);
  const isModel = (path: string) => path === "model.onnx" || path === "model.mlir";
  const out: ModelFile[] = [];
  list.forEach((one, i) => {
    const entry = ObjectReader.open(one, `${reader.path("files")}[${i}]`);
    const path = entry.string("path");
    checkRelativePath(path, entry.path("path"));
    const digest = entry.digest();
    entry.finish();
    if (i === 0 && !isModel(path)) throw badMember(entry.path("path"), 'the first file is the model, "model.onnx" or "model.mlir"');
    if (i > 0 && (isModel(path) || path === "spec.json")) throw badMember(entry.path("path"), "this name is taken by the action's own files");
    if (i > 1) checkAfter(out[i - 1].path, path, entry.path("path"));
    out.push({ path, digest });
  });
  return out;
}

export function readSpec(json: Json): CompileSpec {
  const reader = ObjectReader.open(json, "spec");
  reader.expect("apiVersion", "kiln/v1");
  reader.expect("kind", "CompileSpec");
  const files = readFiles(reader);
  const toolchain = reader.digestMember("toolchain");
  const about = reader.object("target");
  const target = about.string("name");
  if (!isTarget(target)) throw badMember(about.path("name"), "is no target");
  const features = about.strings("features");
  features.forEach((feature, i) => {
    const size = utf8(feature).length;
    if (size < 2 || size > 64 || feature[0] !== "+") throw badMember(`${about.path("features")}[${i}]`, 'must be "+" and a feature name');
    if (i > 0) checkAfter(features[i - 1], feature, `${about.path("features")}[${i}]`);
  });
  about.finish();
  const profiles = readProfiles(reader);
  const outOfProfile = oneOf(reader, "outOfProfile", ["fail", "pad", "request"]);
  checkPins(reader);
  const numerics = readNumerics(reader);
  const fallback = oneOf(reader, "fallback", ["fail", "cpu"]);
  const budgets = readBudgets(reader);
  if (reader.has("sequences")) checkSequences(reader);
  if (reader.has("parameters")) checkParameters(reader, files);
  if (reader.has("partition")) checkPartition(reader);
  const tuning = reader.has("tuning") ? reader.digestMember("tuning") : null;
  reader.finish();
  const normal: JsonObject = new Map(json as JsonObject);
  normal.set("budgets", budgets);
  normal.set("files", files.map((file) => digestJson(file.digest).set("path", file.path)));
  return { files, toolchain, target, features, profiles, outOfProfile, fallback, tuning, numerics, json: normal };
}
