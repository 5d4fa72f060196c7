// The evaluator of policies. As signing/policy/evaluate.h: every rule in a fixed order, each with what
// satisfied it or what is missing.
import { byteOrder, printable } from "./bytes";
import { addCheckRules, RuleResult } from "./check_rules";
import { formatTime } from "./clock";
import { Digest, digestText } from "./digest";
import { JsonObject } from "./json";
import { Manifest } from "./manifest";
import { parseVersion, Policy, WantedStatement } from "./policy";
import { fixturesSandbox, Provenance } from "./provenance";
import { CheckStatement, Reproduction, VerificationSummary, vsaType } from "./statement";
import { targetNames } from "./target";

export interface StatementEvidence {
  readonly payload: string; // hexadecimal digest of the statement
  readonly keyId: string;
  readonly logged: boolean;
  readonly witnesses: readonly string[]; // that cosigned the log with it, in byte order, each once
  readonly ids: readonly string[]; // whom the key speaks for, where the statement itself does not say
  readonly log: string; // origin of its log and its place there
  readonly logIndex: bigint;
}
export interface Attestation {
  readonly predicateType: string;
  readonly evidence: StatementEvidence;
  readonly summary: VerificationSummary | null;
  readonly image: Digest | null; // of an image statement: the image that it names
  readonly ir: Digest | null; // of an IR statement: the OCI manifest of its files
}
export interface PolicyFacts {
  readonly developmentRoot: boolean;
  readonly provenance: Provenance;
  readonly checks: readonly CheckStatement[];
  readonly reproductions: readonly Reproduction[];
  readonly evidence: StatementEvidence;
  readonly manifest: Manifest;
  readonly attestations: readonly Attestation[];
  readonly now: number;
  readonly recallsIssued: number | null; // of the newest recalls.json, unless it has expired
}
// Who made these bytes, by the statements that count.
export interface Agreement {
  readonly workers: ReadonlySet<string>;
  readonly own: ReadonlySet<string>; // those of them that ran in Kiln's sandbox
  readonly operators: ReadonlySet<string>;
}

function accepts(accepted: readonly string[], value: string): boolean {
  return accepted.some((one) => one === "*" || one === value);
}
function joined(values: Iterable<string>): string {
  return Array.from(values, (one) => printable(one)).join(", ");
}
function inOrder(values: Iterable<string>): string[] {
  return Array.from(values).sort(byteOrder);
}

function oneOf(rule: string, accepted: readonly string[], value: string): RuleResult {
  return accepts(accepted, value)
    ? { ok: true, rule, detail: `satisfied by ${printable(value)}` }
    : { ok: false, rule, detail: `${printable(value)} is not accepted; accepted: ${joined(accepted)}` };
}

function allOf(rule: string, accepted: readonly string[], values: readonly string[]): RuleResult {
  const refused = values.map((value) => oneOf(rule, accepted, value)).find((one) => !one.ok);
  return refused ?? { ok: true, rule, detail: `satisfied by ${values.map((one) => printable(one)).join(",")}` };
}

function atLeast(rule: string, wanted: number, found: ReadonlySet<string>): RuleResult {
  const counted = `${found.size} of ${wanted}: ${joined(inOrder(found))}`;
  return found.size >= wanted ? { ok: true, rule, detail: `satisfied by ${counted}` } : { ok: false, rule, detail: counted };
}

function development(policy: Policy, developmentRoot: boolean): RuleResult {
  const rule = "allowDevelopment";
  if (!developmentRoot) return { ok: true, rule, detail: "satisfied by a root that is not for development" };
  return policy.allowDevelopment
    ? { ok: true, rule, detail: "satisfied: the root is marked development, which this policy allows" }
    : { ok: false, rule, detail: "the root is marked development, which this policy refuses" };
}

// Labels are "kiln-<version>+<component>...".
function toolchainVersion(wanted: string, label: string): RuleResult {
  const rule = "minToolchainVersion";
  const dash = label.indexOf("-");
  const plus = label.indexOf("+");
  const version = dash < 0 ? null : parseVersion(label.slice(dash + 1, plus < 0 ? undefined : Math.max(plus, dash + 1)));
  if (!version) return { ok: false, rule, detail: "the provenance states no toolchain label with a version" };
  const least = parseVersion(wanted)!;
  for (let i = 0; ; ++i) {
    if (i === least.length) return { ok: true, rule, detail: `satisfied by ${printable(label)}` };
    if (i === version.length || version[i] < least[i]) return { ok: false, rule, detail: `${printable(label)} is older than ${wanted}` };
    if (version[i] > least[i]) return { ok: true, rule, detail: `satisfied by ${printable(label)}` };
  }
}

function partitionStage(manifest: Manifest): JsonObject | null {
  const stage = manifest.stages.get("partition");
  return stage instanceof Map ? stage : null;
}

function fallbackShare(most: number, partition: JsonObject | null): RuleResult {
  const rule = "maxFallbackPermille";
  if (!partition) return { ok: false, rule, detail: "the manifest does not say how it was partitioned" };
  const share = partition.get("fallbackPermille");
  const nodes = partition.get("fallback");
  let found = 0;
  if (typeof share === "number") found = share;
  else if (!Array.isArray(nodes) || nodes.length > 0) {
    return { ok: false, rule, detail: "the manifest does not state the share of nodes that fell back" };
  }
  const text = `${found} of 1000 nodes fell back, at most ${most} may`;
  return { ok: found <= most, rule, detail: found <= most ? `satisfied: ${text}` : text };
}

function partitionTargets(accepted: readonly string[], partition: JsonObject | null): RuleResult {
  const list = partition?.get("partitions");
  const targets: string[] = [];
  for (const one of Array.isArray(list) ? list : []) {
    const target = one instanceof Map ? one.get("target") : null;
    if (typeof target === "string") targets.push(target);
  }
  return targets.length === 0
    ? { ok: false, rule: "partitionTargets", detail: "the manifest does not say how it was partitioned" }
    : allOf("partitionTargets", accepted, targets);
}

// By the log where both are in one, else by the times that they state.
function isLater(one: Attestation, other: Attestation): boolean {
  if (one.evidence.log !== "" && one.evidence.log === other.evidence.log) return one.evidence.logIndex > other.evidence.logIndex;
  return one.summary!.timeVerified > other.summary!.timeVerified;
}

function promoted(wanted: WantedStatement, attestations: readonly Attestation[]): RuleResult {
  const latest = new Map<string, Attestation>();
  for (const one of attestations) {
    if (one.predicateType !== vsaType || !one.summary || !wanted.policies.includes(one.summary.policy)) continue;
    for (const id of one.evidence.ids) {
      const held = latest.get(id);
      if (!held || isLater(one, held)) latest.set(id, one);
    }
  }
  let why = `no verdict under ${joined(wanted.policies)} by any of ${joined(wanted.authors)}`;
  for (const id of inOrder(latest.keys())) {
    if (!accepts(wanted.authors, id)) continue;
    const { failed } = latest.get(id)!.summary!;
    if (failed.length === 0) return { ok: true, rule: "statements", detail: `${vsaType}: satisfied by ${printable(id)}, PASSED` };
    why = `the latest verdict of ${printable(id)} is FAILED: ${joined(failed)}`;
  }
  return { ok: false, rule: "statements", detail: `${vsaType}: ${why}` };
}

function attested(wanted: WantedStatement, attestations: readonly Attestation[]): RuleResult {
  if (wanted.predicateType === vsaType) return promoted(wanted, attestations);
  const type = printable(wanted.predicateType);
  for (const one of attestations) {
    if (one.predicateType !== wanted.predicateType) continue;
    const id = one.evidence.ids.find((author) => accepts(wanted.authors, author));
    if (id !== undefined) return { ok: true, rule: "statements", detail: `${type}: satisfied by ${printable(id)}` };
  }
  return { ok: false, rule: "statements", detail: `${type}: no statement of it by any of ${joined(wanted.authors)}` };
}

function logRules(policy: Policy, evidence: StatementEvidence): RuleResult[] {
  if (!policy.requireLog) return [];
  const logged: RuleResult = {
    ok: evidence.logged, rule: "requireLog",
    detail: evidence.logged ? "satisfied by an entry in a log of the root" : "the provenance is in no log of the root",
  };
  if (policy.minWitnesses === 0) return [logged];
  const seen = atLeast("minWitnesses", policy.minWitnesses, new Set(evidence.witnesses));
  const missing = `cosigned by ${evidence.witnesses.length} of the ${policy.minWitnesses} witnesses wanted: ` +
    (evidence.witnesses.length === 0 ? "none" : joined(evidence.witnesses));
  return [logged, seen.ok ? seen : { ...seen, detail: missing }];
}

function youngerThan(rule: string, what: string, most: number, at: number | null, now: number): RuleResult {
  if (at === null) return { ok: false, rule, detail: `${what} is not known` };
  const age = Math.floor(now - at);
  const text = `${what} is of ${formatTime(at)}, ${age} s ago; at most ${most} s`;
  return { ok: age <= most, rule, detail: age <= most ? `satisfied: ${text}` : text };
}

export function agreementOf(policy: Policy, facts: PolicyFacts): Agreement {
  const workers = new Set<string>();
  const own = new Set<string>();
  const operators = new Set<string>();
  const add = (name: string, operator: string, sandbox: string) => {
    workers.add(name);
    operators.add(operator);
    if (sandbox === "") own.add(name);
  };
  const { provenance } = facts;
  for (const one of provenance.builders) add(`${one.worker} (${one.operator})`, one.operator, one.sandbox);
  const action = provenance.internalParameters.get("action");
  for (const one of facts.reproductions) {
    if (action !== digestText(one.compile) || !accepts(policy.builderIds, one.builderId)) continue;
    if (one.builderId === provenance.builderId) add(`${one.worker} (${one.operator})`, one.operator, one.sandbox);
    else add(`${one.builderId} (${one.builderId})`, one.builderId, one.sandbox);
  }
  return { workers, own, operators };
}

// Whether a policy counts a statement at all.
export function countsStatement(policy: Policy, evidence: StatementEvidence): boolean {
  return (!policy.requireLog || evidence.logged) && evidence.witnesses.length >= policy.minWitnesses;
}

export function evaluate(policy: Policy, facts: PolicyFacts): RuleResult[] {
  const { provenance } = facts;
  const agreement = agreementOf(policy, facts);
  const parameter = (name: string) => provenance.externalParameters.get(name) ?? "";
  const out: RuleResult[] = [development(policy, facts.developmentRoot), oneOf("builderIds", policy.builderIds, provenance.builderId)];
  if (policy.signers.length > 0) out.push(oneOf("signers", policy.signers, facts.evidence.keyId));
  out.push(atLeast("minBuilders", policy.minBuilders, agreement.workers));
  out.push(atLeast("minOperators", policy.minOperators, agreement.operators));
  if (policy.minOwnSandbox > 1 || (policy.minOwnSandbox === 1 && agreement.own.size !== agreement.workers.size)) {
    out.push(atLeast("minOwnSandbox", policy.minOwnSandbox, agreement.own));
  }
  const elsewhere = fixturesSandbox(provenance);
  if (policy.minOwnSandbox > 0 && elsewhere !== "") {
    out.push({ ok: false, rule: "minOwnSandbox", detail: `the fixtures were made in ${printable(elsewhere)}, not in Kiln's own` });
  }
  out.push(allOf("targets", policy.targets, targetNames(parameter("target"))));
  out.push(oneOf("toolchains", policy.toolchains, parameter("toolchain")));
  if (policy.minToolchainVersion !== "") out.push(toolchainVersion(policy.minToolchainVersion, parameter("toolchainLabel")));
  const partition = partitionStage(facts.manifest);
  if (policy.maxFallbackPermille !== null) out.push(fallbackShare(policy.maxFallbackPermille, partition));
  if (policy.partitionTargets.length > 0) out.push(partitionTargets(policy.partitionTargets, partition));
  out.push(...addCheckRules(policy, facts.checks));
  out.push(...policy.statements.map((wanted) => attested(wanted, facts.attestations)));
  out.push(...logRules(policy, facts.evidence));
  if (policy.maxAgeSeconds !== null) {
    out.push(youngerThan("maxAgeSeconds", "the compile", policy.maxAgeSeconds, provenance.finishedOn, facts.now));
  }
  if (policy.maxRecallAgeSeconds !== null) {
    out.push(youngerThan("maxRecallAgeSeconds", "the newest recalls.json that has not expired",
      policy.maxRecallAgeSeconds, facts.recallsIssued, facts.now));
  }
  return out;
}
