// SLSA provenance of a compile, and that it tells of exactly the artifact's spec. As
// manifest/statement/{provenance,spec_mapping}.
import { inQuotes } from "./bytes";
import { Digest, digestText, parseHex, sameDigest } from "./digest";
import { badMember, VerifyError } from "./error";
import { canonicalJson, Json } from "./json";
import { ObjectReader, parseDecimal } from "./reader";
import { CompileSpec } from "./spec";

export interface Material {
  readonly name: string;
  readonly uri: string; // "" for none
  readonly digest: Digest;
  readonly annotations: ReadonlyMap<string, string>; // besides "size"
}
export interface Builder {
  readonly worker: string;
  readonly operator: string;
  readonly receipt: Digest;
  readonly sandbox: string; // "" for Kiln's own
}
export interface Provenance {
  readonly externalParameters: ReadonlyMap<string, string>;
  readonly internalParameters: ReadonlyMap<string, string>;
  readonly resolvedDependencies: readonly Material[];
  readonly builderId: string;
  readonly invocationId: string;
  readonly startedOn: number;
  readonly finishedOn: number;
  readonly builders: readonly Builder[];
  readonly byproducts: readonly Material[];
}

const required = ["externalData", "fallback", "features", "model", "numerics", "outOfProfile", "pins", "profiles",
  "target", "toolchain", "budgets"];
const optional = ["modelSource", "parameters", "partition", "sequences", "toolchainLabel"];

export function fixturesOf(provenance: Provenance): Material | null {
  return provenance.byproducts.find((one) => one.name === "fixtures") ?? null;
}
export function fixturesSandbox(provenance: Provenance): string {
  return fixturesOf(provenance)?.annotations.get("sandbox") ?? "";
}

function readMaterial(json: Json, place: string): Material {
  const reader = ObjectReader.open(json, place);
  const name = reader.string("name");
  const uri = reader.has("uri") ? reader.string("uri") : "";
  const annotations = reader.stringMap("annotations");
  const size = parseDecimal(annotations.get("size") ?? "");
  if (size === null) throw badMember(reader.path("annotations.size"), "must be a decimal string");
  annotations.delete("size");
  const digests = reader.object("digest");
  const digest = parseHex(digests.string("sha256"), size);
  if (!digest) throw badMember(digests.path("sha256"), "must be 64 lowercase hex digits");
  digests.finish();
  reader.finish();
  return { name, uri, digest, annotations };
}

function readMaterials(parent: ObjectReader, name: string): Material[] {
  const list = parent.array(name);
  if (list.length > 8192) throw badMember(parent.path(name), "too many entries");
  return list.map((one, i) => readMaterial(one, `${parent.path(name)}[${i}]`));
}

// By-products named "receipt" are the builders.
function splitByproducts(all: readonly Material[]): { builders: Builder[]; byproducts: Material[] } {
  const bad = (what: string) => new VerifyError("invalid", `predicate: ${what}`);
  const builders: Builder[] = [];
  const byproducts: Material[] = [];
  for (const one of all) {
    const foreign = one.annotations.has("sandbox");
    if (one.name === "fixtures") {
      if (one.uri !== "" || one.annotations.size !== (foreign ? 1 : 0)) throw bad("the fixtures must have a digest and a size alone");
      if (byproducts.some((other) => other.name === "fixtures")) throw bad("names fixtures twice");
    }
    if (one.name !== "receipt") {
      byproducts.push(one);
      continue;
    }
    const worker = one.annotations.get("worker") ?? "";
    const operator = one.annotations.get("operator") ?? "";
    const sandbox = one.annotations.get("sandbox") ?? "";
    if (one.annotations.size !== (foreign ? 3 : 2) || one.uri !== "" || worker === "" || operator === "" || foreign !== (sandbox !== "")) {
      throw bad("a receipt must name its worker and operator, the sandbox if it is not Kiln's, and nothing else");
    }
    if (builders.some((other) => other.worker === worker && other.operator === operator)) {
      throw bad(`worker ${inQuotes(worker)} is listed twice as a builder`);
    }
    builders.push({ worker, operator, receipt: one.digest, sandbox });
  }
  if (builders.length === 0) throw bad("names no builder's receipt");
  return { builders, byproducts };
}

export function readProvenance(predicate: Json): Provenance {
  const reader = ObjectReader.open(predicate, "predicate");
  const definition = reader.object("buildDefinition");
  definition.expect("buildType", "urn:kiln:build-type:compile:v1");
  const externalParameters = definition.stringMap("externalParameters");
  const internalParameters = definition.stringMap("internalParameters");
  const resolvedDependencies = readMaterials(definition, "resolvedDependencies");
  const invalid = (what: string) => new VerifyError("invalid", what);
  for (const name of externalParameters.keys()) {
    if (!required.includes(name) && !optional.includes(name)) {
      throw invalid(`externalParameters: unknown parameter ${inQuotes(name)}`);
    }
  }
  for (const name of required) {
    if (!externalParameters.has(name)) throw invalid(`externalParameters: "${name}" is missing`);
  }
  for (const name of internalParameters.keys()) {
    if (externalParameters.has(name)) throw invalid(`internalParameters: ${inQuotes(name)} is an external parameter's name`);
  }
  definition.finish();
  const run = reader.object("runDetails");
  const builder = run.object("builder");
  const builderId = builder.string("id");
  if (builderId === "") throw badMember(builder.path("id"), "must not be empty");
  builder.stringMap("version");
  builder.finish();
  const metadata = run.object("metadata");
  const invocationId = metadata.string("invocationId");
  const startedOn = metadata.time("startedOn");
  const finishedOn = metadata.time("finishedOn");
  if (finishedOn < startedOn) throw badMember(metadata.path("finishedOn"), "is before startedOn");
  metadata.finish();
  const { builders, byproducts } = splitByproducts(readMaterials(run, "byproducts"));
  run.finish();
  reader.finish();
  return {
    externalParameters, internalParameters, resolvedDependencies, builderId, invocationId, startedOn, finishedOn,
    builders, byproducts,
  };
}

// The inputs that a spec names: the toolchain, then the files, the model first, then the tuning entries.
export function dependencies(spec: CompileSpec): Array<{ name: string; digest: Digest }> {
  return [
    { name: "toolchain", digest: spec.toolchain },
    ...spec.files.map((file) => ({ name: `input/${file.path}`, digest: file.digest })),
    ...(spec.tuning ? [{ name: "input/tuning.json", digest: spec.tuning }] : []),
  ];
}

// The external parameters that a spec alone decides.
function parametersOf(spec: CompileSpec): Map<string, string> {
  const out = new Map<string, string>();
  for (const name of ["profiles", "pins", "numerics", "budgets", "sequences", "parameters", "partition"]) {
    const value = spec.json.get(name);
    if (value !== undefined) out.set(name, canonicalJson(value));
  }
  out.set("features", canonicalJson([...spec.features]));
  out.set("externalData", canonicalJson((spec.json.get("files") as Json[]).slice(1)));
  out.set("model", digestText(spec.files[0].digest));
  out.set("toolchain", digestText(spec.toolchain));
  out.set("target", spec.target);
  out.set("outOfProfile", spec.outOfProfile);
  out.set("fallback", spec.fallback);
  return out;
}

// "invalid" unless the provenance tells of exactly this spec.
export function checkAgainstSpec(provenance: Provenance, spec: CompileSpec): void {
  for (const [name, value] of Array.from(parametersOf(spec)).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (provenance.externalParameters.get(name) !== value) {
      throw new VerifyError("invalid", `externalParameters.${name} is not what the artifact's spec says`);
    }
  }
  const inputs = dependencies(spec);
  const stated = provenance.resolvedDependencies;
  if (inputs.length !== stated.length ||
    !inputs.every((one, i) => one.name === stated[i].name && sameDigest(one.digest, stated[i].digest))) {
    throw new VerifyError("invalid", "resolvedDependencies are not the toolchain and files that the artifact's spec names");
  }
}
