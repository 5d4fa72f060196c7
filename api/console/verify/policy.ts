// What an artifact must satisfy here. As signing/policy/policy.h.
import { parseDigest } from "./digest";
import { badMember } from "./error";
import { Json, parseStrictJson } from "./json";
import { ObjectReader, parseDecimal } from "./reader";
import { CheckedOn, checkedOns, vsaType } from "./statement";

export interface WantedCheck {
  readonly kind: string;
  readonly name: string; // "" for every item of the kind
  readonly maxAbsolute: number | null;
  readonly maxRelative: number | null;
  readonly minAccuracy: number | null;
}
export interface WantedStatement {
  readonly predicateType: string;
  readonly authors: readonly string[];
  readonly policies: readonly string[]; // of verification summaries alone
}
export interface Policy {
  readonly name: string;
  readonly allowDevelopment: boolean;
  readonly builderIds: readonly string[];
  readonly minBuilders: number;
  readonly minOperators: number;
  readonly minOwnSandbox: number;
  readonly targets: readonly string[];
  readonly toolchains: readonly string[];
  readonly signers: readonly string[];
  readonly minToolchainVersion: string;
  readonly maxFallbackPermille: number | null;
  readonly partitionTargets: readonly string[];
  readonly requireCheck: boolean;
  readonly checks: readonly WantedCheck[];
  readonly refuseEmulated: boolean;
  readonly checkDevices: readonly CheckedOn[]; // in the order of checkedOns; empty: as refuseEmulated says
  readonly statements: readonly WantedStatement[];
  readonly requireLog: boolean;
  readonly minWitnesses: number;
  readonly maxAgeSeconds: number | null;
  readonly maxRecallAgeSeconds: number | null;
}

const mostSeconds = 100 * 366 * 86400;

// What holds where nobody names a policy: any builder of a root that is not marked development.
export const defaultPolicy: Policy = {
  name: "default", allowDevelopment: false, builderIds: ["*"], minBuilders: 1, minOperators: 1, minOwnSandbox: 1,
  targets: ["*"], toolchains: ["*"], signers: [], minToolchainVersion: "", maxFallbackPermille: null,
  partitionTargets: [], requireCheck: false, checks: [], refuseEmulated: false, checkDevices: [], statements: [], requireLog: false,
  minWitnesses: 0, maxAgeSeconds: null, maxRecallAgeSeconds: null,
};

function readList(reader: ObjectReader, name: string): string[] {
  const list = reader.strings(name);
  if (list.length === 0) throw badMember(reader.path(name), 'must name what is accepted, or "*"');
  return list;
}
function readOptionalList(reader: ObjectReader, name: string): string[] {
  return reader.has(name) ? readList(reader, name) : [];
}
function readFlag(reader: ObjectReader, name: string): boolean {
  return reader.has(name) && reader.boolean(name);
}
function readDecimal(reader: ObjectReader, name: string): number | null {
  return reader.has(name) ? reader.decimal(name) : null;
}
function readSeconds(reader: ObjectReader, name: string): number | null {
  return reader.has(name) ? reader.integer(name, 1, mostSeconds) : null;
}
function readObjects<T>(reader: ObjectReader, name: string, read: (json: Json, place: string) => T): T[] {
  return reader.has(name) ? reader.array(name).map((one, i) => read(one, `${reader.path(name)}[${i}]`)) : [];
}

function readCheck(json: Json, place: string): WantedCheck {
  const reader = ObjectReader.open(json, place);
  const kind = reader.string("kind");
  if (kind === "") throw badMember(reader.path("kind"), "must not be empty");
  const name = reader.has("name") ? reader.string("name") : "";
  const [maxAbsolute, maxRelative, minAccuracy] = ["maxAbsolute", "maxRelative", "minAccuracy"].map((one) => readDecimal(reader, one));
  reader.finish();
  return { kind, name, maxAbsolute, maxRelative, minAccuracy };
}

function readStatement(json: Json, place: string): WantedStatement {
  const reader = ObjectReader.open(json, place);
  const predicateType = reader.string("predicateType");
  const authors = readList(reader, "authors");
  const policies = predicateType === vsaType ? readList(reader, "policies") : [];
  if (!policies.every((one) => parseDigest(one))) throw badMember(reader.path("policies"), 'must hold "sha256:" digests of policies');
  reader.finish();
  return { predicateType, authors, policies };
}

function readCheckDevices(reader: ObjectReader, refuseEmulated: boolean): CheckedOn[] {
  const place = reader.path("checkDevices");
  const out: CheckedOn[] = [];
  for (const name of readOptionalList(reader, "checkDevices")) {
    const on = checkedOns.find((one) => one === name);
    if (!on) throw badMember(place, 'must hold "hardware", "software" or "emulated"');
    if (on === "emulated" && refuseEmulated) throw badMember(place, "names emulated devices, which refuseEmulated refuses");
    out.push(on);
  }
  if (new Set(out).size !== out.length) throw badMember(place, "names one twice");
  return checkedOns.filter((one) => out.includes(one));
}

// Whether a check on this counts.
export function counts(policy: Policy, on: CheckedOn): boolean {
  if (policy.checkDevices.length > 0) return policy.checkDevices.includes(on);
  return !policy.refuseEmulated || on === "hardware";
}

// A version "1.22.3" as numbers; null if it is no list of 1 to 4 numbers.
export function parseVersion(text: string): number[] | null {
  const parts = text.split(".").map(parseDecimal);
  if (parts.length > 4) return null;
  const out: number[] = [];
  for (const part of parts) {
    if (part === null || part > BigInt(0xffffffff)) return null;
    out.push(Number(part));
  }
  return out;
}

export function parsePolicy(bytes: Uint8Array): Policy {
  const reader = ObjectReader.open(parseStrictJson(bytes, { bytes: 1 << 20, depth: 8 }), "policy");
  reader.expect("apiVersion", "kiln/v1");
  reader.expect("kind", "Policy");
  const name = reader.string("name");
  const allowDevelopment = reader.boolean("allowDevelopment");
  const builderIds = readList(reader, "builderIds");
  const minBuilders = reader.integer("minBuilders", 1, 16);
  const minOperators = reader.integer("minOperators", 1, minBuilders);
  const minOwnSandbox = reader.has("minOwnSandbox") ? reader.integer("minOwnSandbox", 0, minBuilders) : 1;
  const targets = readList(reader, "targets");
  const toolchains = readList(reader, "toolchains");
  if (!toolchains.every((one) => one === "*" || parseDigest(one))) {
    throw badMember(reader.path("toolchains"), 'must hold "sha256:" digests; a label can be re-pointed, a digest cannot');
  }
  const signers = readOptionalList(reader, "signers");
  const minToolchainVersion = reader.has("minToolchainVersion") ? reader.string("minToolchainVersion") : "";
  if (reader.has("minToolchainVersion") && !parseVersion(minToolchainVersion)) {
    throw badMember(reader.path("minToolchainVersion"), 'must be a version such as "0.2.0"');
  }
  const maxFallbackPermille = reader.has("maxFallbackPermille") ? reader.integer("maxFallbackPermille", 0, 1000) : null;
  const partitionTargets = readOptionalList(reader, "partitionTargets");
  const requireCheck = readFlag(reader, "requireCheck");
  const checks = readObjects(reader, "checks", readCheck);
  if (checks.length > 0 && !requireCheck) throw badMember(reader.path("checks"), "says what a check must hold, so requireCheck must be true");
  const refuseEmulated = readFlag(reader, "refuseEmulated");
  const checkDevices = readCheckDevices(reader, refuseEmulated);
  const statements = readObjects(reader, "statements", readStatement);
  const requireLog = readFlag(reader, "requireLog");
  const minWitnesses = reader.has("minWitnesses") ? reader.integer("minWitnesses", 0, 16) : 0;
  if (minWitnesses > 0 && !requireLog) throw badMember(reader.path("minWitnesses"), "witnesses see a log, so requireLog must be true");
  const maxAgeSeconds = readSeconds(reader, "maxAgeSeconds");
  const maxRecallAgeSeconds = readSeconds(reader, "maxRecallAgeSeconds");
  reader.finish();
  return {
    name, allowDevelopment, builderIds, minBuilders, minOperators, minOwnSandbox, targets, toolchains, signers,
    minToolchainVersion, maxFallbackPermille, partitionTargets, requireCheck, checks, refuseEmulated, checkDevices, statements,
    requireLog, minWitnesses, maxAgeSeconds, maxRecallAgeSeconds,
  };
}
