// in-toto statements, and the predicates that Kiln writes but the provenance. As manifest/statement.
import { byteOrder, utf8 } from "./bytes";
import { Digest, digestText, parseDigest, parseHex } from "./digest";
import { badMember } from "./error";
import { Json, JsonObject, parseStrictJson } from "./json";
import { checkRelativePath } from "./path";
import { ObjectReader } from "./reader";

export const provenanceType = "https://slsa.dev/provenance/v1";
export const compileType = "urn:kiln:predicate:compile:v1";
export const checkType = "urn:kiln:predicate:check:v1";
export const reproductionType = "urn:kiln:predicate:reproduction:v1";
export const tombstoneType = "urn:kiln:predicate:tombstone:v1";
export const vsaType = "https://slsa.dev/verification_summary/v1";

export interface Statement {
  readonly subjects: readonly string[]; // hexadecimal SHA-256
  readonly predicateType: string;
  readonly predicate: Json;
}

export function parseStatement(payload: Uint8Array): Statement {
  const reader = ObjectReader.open(parseStrictJson(payload), "statement");
  reader.expect("_type", "https://in-toto.io/Statement/v1");
  const list = reader.array("subject");
  if (list.length === 0 || list.length > 1024) throw badMember("statement.subject", "must hold 1 to 1024 subjects");
  const subjects = list.map((element, i) => {
    const entry = ObjectReader.open(element, `statement.subject[${i}]`);
    entry.string("name");
    const digests = entry.object("digest");
    const digest = parseHex(digests.string("sha256"));
    if (!digest) throw badMember(digests.path("sha256"), "must be bare hex digits");
    digests.finish();
    entry.finish();
    return digest.hex;
  });
  const predicateType = reader.string("predicateType");
  reader.object("predicate");
  const predicate = reader.any("predicate");
  reader.finish();
  return { subjects, predicateType, predicate };
}

// Who ran something, and when.
export interface StatedRun {
  readonly builderId: string;
  readonly worker: string;
  readonly operator: string;
  readonly finishedOn: number;
}

// What a check was made on. "software": the processor, behind a real driver of a device.
export const checkedOns = ["hardware", "software", "emulated"] as const;
export type CheckedOn = (typeof checkedOns)[number];

function checkedOn(device: JsonObject): CheckedOn {
  if (device.has("emulated") && device.get("emulated") !== false) return "emulated";
  if (!device.has("gpu")) return "hardware";
  const gpu = device.get("gpu");
  if (!(gpu instanceof Map)) return "software";
  if (!gpu.has("type")) return "hardware";
  const type = gpu.get("type");
  return type === "discrete" || type === "integrated" || type === "virtual" ? "hardware" : "software";
}

export interface CheckStatement extends StatedRun {
  readonly passed: boolean;
  readonly items: readonly CheckItem[];
  readonly on: CheckedOn;
  readonly devices: readonly string[]; // whatever the report says of its device
}
export interface CheckItem {
  readonly kind: string;
  readonly name: string;
  readonly detail: string;
  readonly passed: boolean;
  readonly measured: ReadonlyMap<string, number>;
}

function readItem(json: Json, place: string): CheckItem {
  const item = ObjectReader.open(json, place);
  const measured = new Map<string, number>();
  const [kind, name, detail] = ["kind", "name", "detail"].map((member) => item.string(member));
  const passed = item.boolean("passed");
  if (item.has("measured")) {
    const reader = item.object("measured");
    for (const member of ["maxAbsolute", "maxRelative", "rmsRelative", "accuracy"]) {
      if (reader.has(member)) measured.set(member, reader.decimal(member));
    }
    reader.finish();
  }
  item.finish();
  return { kind, name, detail, passed, measured };
}

function stringsIn(object: JsonObject): string[] {
  return Array.from(object.values()).filter((value): value is string => typeof value === "string");
}

export function readCheck(predicate: Json): CheckStatement {
  const reader = ObjectReader.open(predicate, "predicate");
  const who = reader.object("checker");
  const [builderId, worker, operator] = ["id", "worker", "operator"].map((member) => who.string(member));
  who.finish();
  reader.string("invocationId");
  for (const member of ["action", "plan", "receipt"]) reader.digestMember(member);
  reader.time("startedOn");
  const finishedOn = reader.time("finishedOn");
  const report = reader.object("report");
  const passed = report.boolean("passed");
  const list = report.array("items");
  if (list.length === 0 || list.length > 20000) throw badMember(report.path("items"), "must hold 1 to 20000 items");
  const items = list.map((one) => readItem(one, report.path("items")));
  if (passed !== items.every((one) => one.passed)) throw badMember(report.path("passed"), "does not agree with the items");
  report.object("measured");
  report.object("device");
  const device = report.any("device") as JsonObject;
  report.finish();
  reader.finish();
  const gpu = device.get("gpu");
  return {
    builderId, worker, operator, finishedOn, passed, items,
    on: checkedOn(device),
    devices: [...stringsIn(device), ...(gpu instanceof Map ? stringsIn(gpu) : [])],
  };
}

export interface Reproduction extends StatedRun {
  readonly sandbox: string; // "" for Kiln's own
  readonly compile: Digest;
  readonly manifest: Digest;
}

function readName(reader: ObjectReader, name: string): string {
  const text = reader.string(name);
  if (text === "" || utf8(text).length > 1024) throw badMember(reader.path(name), "must have 1 to 1024 bytes");
  return text;
}

export function readReproduction(predicate: Json): Reproduction {
  const reader = ObjectReader.open(predicate, "predicate");
  const rebuilder = reader.object("rebuilder");
  const [builderId, worker, operator] = ["id", "worker", "operator"].map((member) => readName(rebuilder, member));
  const sandbox = rebuilder.has("sandbox") ? readName(rebuilder, "sandbox") : "";
  rebuilder.finish();
  reader.string("invocationId");
  const compile = reader.digestMember("compile");
  if (reader.has("reference")) reader.digestMember("reference");
  const manifest = reader.digestMember("manifest");
  if (reader.has("fixtures")) reader.digestMember("fixtures");
  reader.digestMember("sandboxPolicy");
  if (reader.has("receipt")) reader.digestMember("receipt");
  const absent = reader.array("absent");
  if (absent.length > 4096) throw badMember(reader.path("absent"), "must hold at most 4096 files");
  for (const one of absent) {
    const file = ObjectReader.open(one, reader.path("absent"));
    checkRelativePath(file.string("path"), file.path("path"));
    file.digest();
    file.finish();
  }
  reader.time("startedOn");
  const finishedOn = reader.time("finishedOn");
  reader.finish();
  if (reader.has("fixtures") !== reader.has("reference")) {
    throw badMember("predicate.fixtures", "stands beside the reference that made them, or neither does");
  }
  return { builderId, worker, operator, finishedOn, sandbox, compile, manifest };
}

export interface Tombstone {
  readonly builderId: string;
  readonly issuedOn: number;
  readonly reason: string;
}

export function readTombstone(predicate: Json): Tombstone {
  const reader = ObjectReader.open(predicate, "predicate");
  const issuer = reader.object("issuer");
  const builderId = issuer.string("id");
  if (builderId === "") throw badMember(issuer.path("id"), "must not be empty");
  issuer.finish();
  const issuedOn = reader.time("issuedOn");
  const reason = reader.string("reason");
  if (reason === "" || utf8(reason).length > 1000) throw badMember(reader.path("reason"), "must have 1 to 1000 bytes");
  const list = reader.array("statements");
  if (list.length === 0 || list.length > 1024) throw badMember(reader.path("statements"), "must name 1 to 1024 statements");
  let last = "";
  for (const one of list) {
    if (typeof one !== "string" || !parseDigest(one) || one <= last) {
      throw badMember(reader.path("statements"), 'must be sorted digests "sha256:<hex>", each once');
    }
    last = one;
  }
  reader.finish();
  return { builderId, issuedOn, reason };
}

export interface VerificationSummary {
  readonly verifierId: string;
  readonly timeVerified: number;
  readonly artifact: Digest;
  readonly policy: string; // "sha256:<hex>"
  readonly failed: readonly string[]; // none: it passed
}

function readHash(parent: ObjectReader): Digest {
  const digests = parent.object("digest");
  const digest = parseHex(digests.string("sha256"));
  if (!digest) throw badMember(digests.path("sha256"), "must be 64 lowercase hex digits");
  digests.finish();
  return digest;
}

function readNames(reader: ObjectReader, name: string, some: boolean): string[] {
  const list = reader.strings(name);
  if ((some && list.length === 0) || list.length > 1024 || new Set(list).size !== list.length) {
    throw badMember(reader.path(name), `must hold ${some ? 1 : 0} to 1024 names, each once`);
  }
  return list;
}

export function readSummary(predicate: Json): VerificationSummary {
  const failedMember = "urn:kiln:vsa:failed:v1";
  const reader = ObjectReader.open(predicate, "predicate");
  const verifier = reader.object("verifier");
  const verifierId = verifier.string("id");
  if (verifierId === "") throw badMember(verifier.path("id"), "must not be empty");
  const version = verifier.object("version");
  version.string("kiln");
  version.finish();
  verifier.finish();
  const timeVerified = reader.time("timeVerified");
  const prefix = "urn:kiln:artifact:";
  const resource = reader.string("resourceUri");
  const rest = resource.slice(prefix.length);
  const artifact = resource.startsWith(prefix) ? parseDigest(rest) ?? parseHex(rest) : null;
  if (!artifact) throw badMember(reader.path("resourceUri"), "must be urn:kiln:artifact:sha256:<hex>");
  const about = reader.object("policy");
  about.string("uri");
  const policy = digestText(readHash(about));
  about.finish();
  const inputs = reader.array("inputAttestations");
  if (inputs.length > 1024) throw badMember(reader.path("inputAttestations"), "too many entries");
  for (const one of inputs) {
    const input = ObjectReader.open(one, reader.path("inputAttestations"));
    readHash(input);
    input.finish();
  }
  const passed = !reader.has(failedMember);
  reader.expect("verificationResult", passed ? "PASSED" : "FAILED");
  const failed = passed ? [] : readNames(reader, failedMember, true);
  if (failed.some((name, i) => i > 0 && byteOrder(failed[i - 1], name) > 0)) throw badMember(reader.path(failedMember), "must be sorted");
  const levels = reader.strings("verifiedLevels");
  if (levels.length !== 1 || !(passed ? /^SLSA_BUILD_LEVEL_[0-3]$/ : /^FAILED$/).test(levels[0])) {
    throw badMember(reader.path("verifiedLevels"), passed ? "must be one of SLSA_BUILD_LEVEL_0 to 3" : "must be FAILED where the result is");
  }
  reader.expect("slsaVersion", "1.0");
  const agreement = reader.object("urn:kiln:vsa:agreement:v1");
  const builders = readNames(agreement, "builders", passed);
  const operators = readNames(agreement, "operators", passed);
  for (const [name, list] of [["reproduced", builders], ["independently", operators]] as const) {
    if (agreement.boolean(name) !== list.length >= 2) throw badMember(agreement.path(name), "is not what the names listed say");
  }
  agreement.finish();
  reader.finish();
  return { verifierId, timeVerified, artifact, policy, failed };
}
