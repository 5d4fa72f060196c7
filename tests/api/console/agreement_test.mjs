// The TypeScript verification decides as `kiln verify` does, and names the same failing checks: over artifacts
// made of every golden Manifest, over roots, logs, witnesses, recalls and policies, and over changes to each.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { artifactOf, changed, check, image, ir, policy, provenance, reproduction, statement, summary, tombstone, write } from "./support/artifact.mjs";
import { bundles, canonical, digestText, ed25519, envelope, Log, p256, recallsOf, rootOf, sha256, time } from "./support/forge.mjs";
import { judgeByKiln, judgeHere } from "./support/judge.mjs";

const home = fs.mkdtempSync(path.join(os.tmpdir(), "kiln-console-"));
after(() => fs.rmSync(home, { recursive: true, force: true }));

const now = Math.floor(Date.now() / 1000);
const builder = "urn:kiln:builder:test";
const key = p256();
const stranger = p256();
const recallKeys = [p256(), p256()];
const recallRole = { threshold: 1, wideThreshold: 2, scope: 3, keys: recallKeys.map((one) => one.member) };
const witness = { name: "witness.kiln.example", key: ed25519(), time: now - 100 };
const plain = artifactOf("manifest.json");
const root = (more = {}) => rootOf({ key, builder, now, ...more });
const counts = { judged: 0, passed: 0 };

// Ages are those of a moment.
const ageless = (lines) => lines.map((line) => ({ ...line, detail: line.detail.replace(/-?\d+ s ago/, "some s ago") }));

// Both judge; what they say must be the same, and as `passes` where it is given.
async function agree(what, files, passes = undefined) {
  const here = await judgeHere(files);
  const kiln = judgeByKiln(files);
  ++counts.judged;
  if (kiln.passed) ++counts.passed;
  assert.equal(here.passed, kiln.passed, `${what}: kiln says ${JSON.stringify(kiln)}, the page ${JSON.stringify(here)}`);
  assert.deepEqual(here.failed?.map((one) => one.check) ?? null, kiln.failed?.map((one) => one.check) ?? null,
    `${what}: kiln says ${JSON.stringify(kiln.said ?? kiln)}, the page ${JSON.stringify(here.failed)}`);
  if (kiln.passed) assert.deepEqual(ageless(here.lines), ageless(kiln.lines), what);
  if (passes !== undefined) assert.equal(kiln.passed, passes, `${what}: ${JSON.stringify(kiln.said ?? kiln)}`);
  return here;
}

const rootKey = p256();
const rootRole = { rootKeys: { threshold: 1, keys: [rootKey.member] } };
const signed = (document, keys) =>
  Buffer.from(JSON.stringify(envelope("application/vnd.kiln.root.v1+json", Buffer.from(canonical(document)), keys)));

// A root that is a document and not marked development is signed by its own key.
function place({ root: given = root(), ...parts }) {
  const trusting = Buffer.isBuffer(given) || given.development ? given : signed({ ...given, ...rootRole }, [rootKey]);
  return write(path.join(home, "case"), { artifact: plain, policy: policy(), ...parts, root: trusting });
}

for (const name of ["manifest.json", "manifest-abi2.json", "manifest-abi3.json", "manifest-indices.json", "manifest-strings.json"]) {
  if (!fs.existsSync(path.join(process.env.KILN_GOLDEN_DIR, "v1", name))) continue;
  test(`accepts an artifact with ${name}`, async () => {
    const artifact = artifactOf(name);
    await agree(name, place({ artifact, bundles: bundles([provenance(artifact, { builder, now })], key) }), true);
  });
}

for (const [what, change, passes] of [
  ["as a farm makes it", () => {}, true],
  ["of another layer", (said) => { said.predicate.layers[0] = said.predicate.layers[1]; }, false],
  ["of another image", (said) => { said.predicate.image = said.predicate.layers[0]; }, false],
  ["without the image as a subject", (said) => { said.subject.pop(); }, false],
  ["with the subjects in another order", (said) => { said.subject.reverse(); }, false],
  ["without bundles", (said) => { said.predicate.bundles = []; }, false],
  ["with another member", (said) => { said.predicate.note = "more"; }, false],
]) {
  test(`an image statement ${what}`, () => agree(what, place({
    bundles: bundles([provenance(plain, { builder, now }), image(plain, change)], key),
  }), passes));
}
for (const [target, architecture] of [["cpu:aarch64", "arm64"], ["cpu:riscv64-rva22+v", "riscv64"]]) {
  const there = changed(plain, (one) => { one.spec.target = { ...one.spec.target, name: target }; });
  test(`an image statement for ${target}`, () => agree(target, place({
    artifact: there, bundles: bundles([provenance(there, { builder, now }), image(there, () => {}, architecture)], key),
  }), true));
}
test("an image statement for another processor", () => agree("another processor", place({
  bundles: bundles([provenance(plain, { builder, now }), image(plain, () => {}, "arm64")], key),
}), false));

for (const [what, options, passes] of [
  ["as a farm makes it", {}, true],
  ["by another builder", { builder: "urn:kiln:builder:another" }, true],
  ["of another toolchain", { change: (said) => { said.toolchain = said.ir; } }, false],
  ["of another file", { change: (said) => { said.files[0].digest = said.files[1].digest; } }, false],
  ["in another order", { change: (said) => { said.files.reverse(); } }, false],
  ["that leaves its folder", { change: (said) => { said.files[0].path = "../01-capture.mlir"; } }, false],
  ["of more than is kept", { change: (said) => { said.files[1].size = String(256 << 20); } }, false],
  ["without files", { change: (said) => { said.files = []; } }, false],
  ["with another member", { change: (said) => { said.note = "more"; } }, false],
]) {
  test(`an IR statement ${what}`, () => agree(what, place({
    bundles: bundles([provenance(plain, { builder, now }), ir(plain, { builder, now, ...options })], key),
  }), passes));
}

const statements = (artifact = plain) => [
  provenance(artifact, { builder, now }), check(artifact, { builder, now }), reproduction(artifact, { builder, now }),
  tombstone(artifact, { builder, now }), ir(artifact, { builder, now }), summary(artifact, { builder, now, policy: "77".repeat(32) }),
  statement(artifact, "https://example.com/sbom", { name: "sbom" }),
];

// A root that delegates everything, and an artifact whose statements are all in its log.
function everything() {
  const log = new Log("log.kiln.example", [witness]);
  const made = bundles(statements(), key, log);
  const recalls = recallsOf({ recalls: [recall({ what: `sha256:${"99".repeat(32)}` })], keys: recallKeys, now, log });
  const list = Buffer.from(canonical({ version: "1", files: [], profiles: [], tolerance: { rtol: "0.001", atol: "0.0001" } }));
  return { log, list, parts: {
    bundles: made, recalls, root: root({ recallKeys: recallRole, logs: [log], witnesses: [witness] }),
    policy: policy({ requireLog: true, minWitnesses: 1, requireCheck: true, minBuilders: 3, maxAgeSeconds: 3600, maxRecallAgeSeconds: 3600 }),
  } };
}

const recall = (more) => ({ apiVersion: "kiln/v1", kind: "Recall", recalls: "artifact", what: digestText(plain.artifactJson),
  reason: "test", issuedOn: time(now - 60), whole: true, listed: [], ...more });

test("accepts every kind of statement, in a log that a witness cosigned", async () => {
  const here = await agree("everything", place(everything().parts), true);
  assert.ok(here.lines.length > 15);
});

// The places in a file whose bits are turned: all over it, the same in every run.
function spots(length, count) {
  return Array.from({ length: Math.min(count, length) }, (_, i) => Math.floor((i * length) / Math.min(count, length)));
}

test("refuses or notes every bit that is turned, as kiln does", async () => {
  const { parts } = everything();
  const files = place(parts);
  const names = fs.readdirSync(files.directory, { recursive: true }).map(String).filter((one) => fs.statSync(path.join(files.directory, one)).isFile());
  const all = names.length > 0 ? names : [];
  for (const name of [...all.map((one) => path.join(files.directory, one)), files.root, files.policy]) {
    const bytes = fs.readFileSync(name);
    for (const at of spots(bytes.length, /bundles|recalls|root/.test(name) ? 24 : 6)) {
      const turned = Buffer.from(bytes);
      turned[at] ^= 1 << at % 7;
      fs.writeFileSync(name, turned);
      await agree(`${path.basename(name)} with byte ${at} changed`, files);
    }
    fs.writeFileSync(name, bytes.subarray(0, bytes.length - 1));
    await agree(`${path.basename(name)} without its last byte`, files);
    fs.writeFileSync(name, Buffer.concat([bytes, Buffer.from(" ")]));
    await agree(`${path.basename(name)} with a byte more`, files);
    fs.writeFileSync(name, bytes);
  }
});

test("refuses bundles of another artifact, without a provenance, by strangers and none", async () => {
  const other = artifactOf("manifest-abi2.json");
  const theirs = bundles([provenance(other, { builder, now })], key);
  const ours = bundles([provenance(plain, { builder, now })], key);
  await agree("swapped", place({ bundles: theirs }), false);
  await agree("swapped beside a good one", place({ bundles: [...ours, ...theirs] }), false);
  await agree("none", place({ bundles: [] }), false);
  await agree("no provenance", place({ bundles: bundles([check(plain, { builder, now })], key) }), false);
  await agree("by a stranger", place({ bundles: bundles([provenance(plain, { builder, now })], stranger) }), false);
  await agree("by a stranger beside a good one", place({ bundles: [...ours, ...bundles([check(plain, { builder, now })], stranger)] }), true);
  const replayed = JSON.parse(ours[0]);
  replayed.dsseEnvelope.signatures = JSON.parse(bundles([provenance(plain, { builder, now: now - 1 })], key)[0]).dsseEnvelope.signatures;
  await agree("a signature of another payload", place({ bundles: [Buffer.from(canonical(replayed))] }), false);
});

const bundleChanges = {
  "a second signature": (one) => one.dsseEnvelope.signatures.push(one.dsseEnvelope.signatures[0]),
  "another payload type": (one) => { one.dsseEnvelope.payloadType = "text/plain"; },
  "an unknown member": (one) => { one.more = 1; },
  "timestamps": (one) => { one.verificationMaterial.timestampVerificationData = {}; },
  "a key id that lies": (one) => { one.dsseEnvelope.signatures[0].keyid = "someone"; },
  "a hint of nobody": (one) => { one.verificationMaterial.publicKey.hint = "x"; },
  "no media type": (one) => { delete one.mediaType; },
  "no log entry": (one) => { one.verificationMaterial.tlogEntries = []; },
  "two log entries": (one) => one.verificationMaterial.tlogEntries.push(one.verificationMaterial.tlogEntries[0]),
};
const entryChanges = {
  "a truncated proof": (entry) => entry.inclusionProof.hashes.pop(),
  "a proof that is too long": (entry) => entry.inclusionProof.hashes.push(entry.inclusionProof.hashes[0]),
  "a swapped proof": (entry) => entry.inclusionProof.hashes.reverse(),
  "another index": (entry) => { entry.logIndex = entry.inclusionProof.logIndex = "0"; },
  "two indices": (entry) => { entry.logIndex = "0"; },
  "another size": (entry) => { entry.inclusionProof.treeSize = "8"; },
  "another root": (entry) => { entry.inclusionProof.rootHash = Buffer.alloc(32).toString("base64"); },
  "another log's id": (entry) => { entry.logId.keyId = Buffer.alloc(32).toString("base64"); },
  "a promise": (entry) => { entry.inclusionPromise = { signedEntryTimestamp: "" }; },
  "a time": (entry) => { entry.integratedTime = "1"; },
  "a number that is none": (entry) => { entry.inclusionProof.treeSize = "09"; },
  "another leaf": (entry) => { entry.canonicalizedBody = Buffer.from("{}").toString("base64"); },
};

test("holds changed bundles and log entries to the same rules", async () => {
  const { parts } = everything();
  const change = async (what, work, i = 0) => {
    const made = [...parts.bundles];
    const one = JSON.parse(made[i]);
    work(one);
    made[i] = Buffer.from(canonical(one));
    await agree(`bundle ${i + 1} with ${what}`, place({ ...parts, bundles: made }));
  };
  for (const [what, work] of Object.entries(bundleChanges)) await change(what, work);
  for (const [what, work] of Object.entries(entryChanges)) {
    for (const i of [0, 1]) await change(what, (one) => work(one.verificationMaterial.tlogEntries[0]), i);
  }
  await change("white space", () => {});
  const spaced = Buffer.from(JSON.stringify(JSON.parse(parts.bundles[0]), null, 2));
  await agree("spaced", place({ ...parts, bundles: [spaced, ...parts.bundles.slice(1)] }), true);
  for (const [what, text] of Object.entries({ duplicates: '{"a":1,"a":1}', trailing: "{} x", deep: "[".repeat(70), empty: "", nul: '{"a\0":1}' })) {
    await agree(what, place({ ...parts, bundles: [Buffer.from(text), ...parts.bundles] }), false);
  }
});

test("refuses forged checkpoints and cosignatures, and logs of strangers", async () => {
  const log = new Log("log.kiln.example", [witness]);
  const made = bundles([provenance(plain, { builder, now })], key, log);
  const trusting = (more) => root({ logs: [log], witnesses: [witness], ...more });
  const wants = policy({ requireLog: true, minWitnesses: 1 });
  const forger = new Log("log.kiln.example", [witness]);
  forger.leaves = log.leaves;
  forger.id = log.id;
  const forge = (entry, note) => {
    const one = JSON.parse(made[0]);
    one.verificationMaterial.tlogEntries[0].inclusionProof.checkpoint.envelope = note;
    return place({ bundles: [Buffer.from(canonical(one))], root: trusting(), policy: wants });
  };
  await agree("a good one", place({ bundles: made, root: trusting(), policy: wants }), true);
  await agree("a checkpoint by another key", forge(made[0], forger.checkpoint()), false);
  await agree("a cosignature by another key", forge(made[0], (() => {
    log.witnesses = [{ ...witness, key: { ...ed25519(), spki: witness.key.spki, sign: (bytes) => stranger25519.sign(bytes) } }];
    const note = log.checkpoint();
    log.witnesses = [witness];
    return note;
  })()), false);
  log.witnesses = [];
  await agree("no cosignature", forge(made[0], log.checkpoint()), false);
  log.witnesses = [witness];
  const foreign = new Log("log.kiln.example", [witness]);
  await agree("a foreign log", place({ bundles: bundles([provenance(plain, { builder, now })], key, foreign), root: trusting(), policy: wants }), false);
  await agree("a foreign log that nobody asks for", place({ bundles: bundles([provenance(plain, { builder, now })], key, foreign), root: trusting() }), true);
  const ended = { logs: [{ ...log.key.member, origin: log.origin, validFrom: time(now - 999), validUntil: time(now - 500) }] };
  await agree("a log key that had ended", place({ bundles: made, root: trusting({ more: ended }), policy: wants }), false);
});
const stranger25519 = ed25519();

test("holds roots to the same rules", async () => {
  const made = bundles([provenance(plain, { builder, now })], key);
  const log = new Log("log.kiln.example", [witness]);
  const logged = bundles([provenance(plain, { builder, now })], key, log);
  const with_ = (more) => root({ logs: [log], witnesses: [witness], more });
  const revoked = (more) => ({ revocations: [{ keyid: key.id, at: time(now - 50), reason: "lost", ...more }] });
  await agree("a development root", place({ bundles: made, root: root({ development: true }) }), false);
  await agree("a development root that is allowed", place({ bundles: made, root: root({ development: true }), policy: policy({ allowDevelopment: true }) }), true);
  await agree("a root without keys of its own", place({ bundles: made, root: Buffer.from(canonical(root())) }), false);
  await agree("an expired root", place({ bundles: made, root: root({ development: true, more: { expires: time(now - 1) } }) }), false);
  await agree("a foreign root", place({ bundles: made, root: rootOf({ key: stranger, builder, now, development: true }), policy: policy({ allowDevelopment: true }) }), false);
  await agree("another builder", place({ bundles: made, root: rootOf({ key, builder: "urn:other", now, development: true }), policy: policy({ allowDevelopment: true }) }), false);
  await agree("a signed root", place({ bundles: made, root: signed(root({ more: rootRole }), [rootKey]) }), true);
  await agree("a root signed by a stranger", place({ bundles: made, root: signed(root({ more: rootRole }), [stranger]) }), false);
  await agree("a root that nobody signed", place({ bundles: made, root: Buffer.from(canonical(root({ more: rootRole }))) }), false);
  await agree("a revoked key", place({ bundles: made, root: root({ more: revoked() }) }), false);
  for (const [what, more, passes] of [
    ["seen before the revocation", { at: time(now - 50) }, true], ["seen after it", { at: time(now - 150) }, false],
    ["before a size of the log", { logs: [{ origin: log.origin, size: "4" }] }, true], ["behind it", { logs: [{ origin: log.origin, size: "3" }] }, false],
  ]) {
    await agree(what, place({ bundles: logged, root: with_(revoked(more)) }), passes);
  }
  const late = { keys: [{ ...key.member, validFrom: time(now - 90), validUntil: time(now + 9999) }] };
  await agree("a key that was not valid when witnesses saw it", place({ bundles: logged, root: with_(late) }), false);
  const early = { keys: [{ ...key.member, validFrom: time(now - 999), validUntil: time(now - 90) }] };
  await agree("a key that has ended since", place({ bundles: logged, root: with_(early) }), true);
  await agree("a key that has ended, without a log", place({ bundles: made, root: with_(early) }), false);
});

test("applies recalls and lifts alike", async () => {
  const made = bundles([provenance(plain, { builder, now }), check(plain, { builder, now })], key);
  const trusting = root({ recallKeys: recallRole });
  const judge = (what, recalls, passes, keys = recallKeys) =>
    agree(what, place({ bundles: made, root: trusting, recalls: recallsOf({ recalls, keys, now }) }), passes);
  const { spec } = plain.manifest;
  const lift = (one) => ({ apiVersion: "kiln/v1", kind: "Recall", recalls: "lift", what: digestText(Buffer.from(canonical(one))), reason: "mistake", issuedOn: time(now) });
  await judge("nothing", [], true);
  await judge("the artifact", [recall({})], false);
  await judge("the artifact, by too few", [recall({})], true, [recallKeys[0]]);
  await judge("the artifact, listed", [recall({ whole: false, listed: [digestText(plain.artifactJson)] })], false, [recallKeys[0]]);
  await judge("the toolchain", [recall({ recalls: "toolchain", what: spec.toolchain.digest })], false);
  await judge("the model", [recall({ recalls: "source", what: spec.files[0].digest })], false);
  await judge("something else", [recall({ what: `sha256:${"88".repeat(32)}` })], true);
  await judge("lifted", [recall({}), lift(recall({}))], true);
  await judge("lifted by too few", [recall({}), lift(recall({}))], true, [recallKeys[0]]);
  await judge("lifted before it was there", [lift(recall({})), recall({})], true);
  await judge("one worker", [recall({ recalls: "worker", what: "w1" })], true);
  await judge("both operators", [recall({ recalls: "operator", what: "acme" }), recall({ recalls: "operator", what: "other" })], false);
  await judge("the key", [recall({ recalls: "key", what: key.id })], false);
  await judge("the key, in a window that has passed", [recall({ recalls: "key", what: key.id, until: time(now - 1000) })], true);
  await judge("the key, in a window", [recall({ recalls: "key", what: key.id, since: time(now - 1000) })], false);
  await judge("a device", [recall({ recalls: "device", what: "cpu" })], true);
  await judge("malformed", [recall({ listed: ["x"] })], true);
});

test("evaluates every rule of a policy alike", async () => {
  const verdict = policy({ name: "inner" });
  const hash = sha256(Buffer.from(canonical(verdict))).toString("hex");
  const log = new Log("log.kiln.example", [witness]);
  const said = [
    provenance(plain, { builder, now }), check(plain, { builder, now, emulated: true }), reproduction(plain, { builder, now }),
    summary(plain, { builder, now, policy: hash }), statement(plain, "https://example.com/sbom", { a: 1 }),
  ];
  const trusting = root({ logs: [log], witnesses: [witness] });
  const made = bundles(said, key, log);
  const devices = [["hardware"], ["software"], ["emulated"], ["software", "hardware"], [], ["gpu"], ["hardware", "hardware"]]
    .flatMap((checkDevices) => [{ requireCheck: true, checkDevices }, { requireCheck: true, refuseEmulated: true, checkDevices }]);
  const rules = [
    {}, { builderIds: ["urn:other"] }, { minBuilders: 3 }, { minBuilders: 4 }, { minBuilders: 3, minOperators: 3 }, { minBuilders: 16, minOperators: 9 },
    { minBuilders: 2, minOwnSandbox: 2 }, { targets: ["cuda:sm_90a"] }, { toolchains: [plain.manifest.spec.toolchain.digest] },
    { toolchains: [`sha256:${"00".repeat(32)}`] }, { signers: [key.id] }, { signers: ["x"] }, { minToolchainVersion: "0.1.0" },
    { minToolchainVersion: "0.1" }, { minToolchainVersion: "0.1.0.1" }, { minToolchainVersion: "1" }, { maxFallbackPermille: 0 }, { partitionTargets: ["cpu:x86-64-v3"] },
    { requireCheck: true }, { requireCheck: true, refuseEmulated: true }, ...devices, { requireCheck: true, checks: [{ kind: "fixture" }] },
    { requireCheck: true, checks: [{ kind: "fixture", name: "default", maxAbsolute: "0.001" }] },
    { requireCheck: true, checks: [{ kind: "fixture", maxAbsolute: "0.00001" }] }, { requireCheck: true, checks: [{ kind: "golden" }] },
    { requireCheck: true, checks: [{ kind: "fixture", maxRelative: "1" }] }, { checks: [{ kind: "fixture" }] },
    { statements: [{ predicateType: "https://example.com/sbom", authors: ["*"] }] }, { statements: [{ predicateType: "https://example.com/sbom", authors: ["urn:x"] }] },
    { statements: [{ predicateType: "https://slsa.dev/verification_summary/v1", authors: [builder], policies: [`sha256:${hash}`] }] },
    { statements: [{ predicateType: "https://slsa.dev/verification_summary/v1", authors: [builder], policies: [`sha256:${"00".repeat(32)}`] }] },
    { requireLog: true }, { requireLog: true, minWitnesses: 1 }, { requireLog: true, minWitnesses: 2 }, { minWitnesses: 1 },
    { maxAgeSeconds: 3600 }, { maxAgeSeconds: 1 }, { maxRecallAgeSeconds: 60 }, { minBuilders: 0 }, { more: 1 }, { targets: [] },
  ];
  for (const more of rules) await agree(JSON.stringify(more), place({ bundles: made, root: trusting, policy: policy(more) }));
  for (const gpu of [{ name: "d", type: "software" }, { name: "d", type: "discrete" }, { name: "d" }, { type: 7 }, { type: "other" }]) {
    const on = bundles([provenance(plain, { builder, now }), check(plain, { builder, now, gpu })], key, log);
    for (const more of [{ requireCheck: true, refuseEmulated: true }, ...devices]) {
      await agree(`${JSON.stringify(gpu)} ${JSON.stringify(more)}`, place({ bundles: on, root: trusting, policy: policy(more) }));
    }
  }
});

test("holds provenances and Manifests to the same rules", async () => {
  const trusting = { root: root({ development: true }), policy: policy({ allowDevelopment: true }) };
  const changes = {
    "an unknown parameter": (one) => { one.buildDefinition.externalParameters.more = "x"; },
    "another target": (one) => { one.buildDefinition.externalParameters.target = "cpu:aarch64"; },
    "a missing dependency": (one) => one.buildDefinition.resolvedDependencies.pop(),
    "no builder": (one) => { one.runDetails.byproducts = []; },
    "a builder twice": (one) => one.runDetails.byproducts.push(one.runDetails.byproducts[0]),
    "a builder in a cluster": (one) => { one.runDetails.byproducts[0].annotations.sandbox = "reapi-cluster/1"; },
    "a time that is none": (one) => { one.runDetails.metadata.startedOn = "2026-02-30T00:00:00Z"; },
    "an end before its beginning": (one) => { one.runDetails.metadata.startedOn = time(now); },
    "another build type": (one) => { one.buildDefinition.buildType = "x"; },
    "an external name inside": (one) => { one.buildDefinition.internalParameters.target = "x"; },
  };
  for (const [what, change] of Object.entries(changes)) {
    await agree(what, place({ ...trusting, bundles: bundles([provenance(plain, { builder, now, change })], key) }));
  }
  const manifests = {
    "an unknown member": (one) => { one.more = 1; },
    "a target that is none": (one) => { one.spec.target.name = "native"; },
    "a target of another release": (one) => { one.spec.target.name = "cuda:sm_120a"; },
    "features out of order": (one) => one.spec.target.features.reverse(),
    "a path that leaves": (one) => { one.spec.files[0].path = "../model.onnx"; },
    "an unknown stage": (one) => { one.stages.more = {}; },
    "budgets as numbers": (one) => { one.spec.budgets.plannedBytes = 0; },
    "another program": (one) => { one.program.file.size = "1"; },
    "a dtype that is none": (one) => { one.program.inputs[0].dtype = "f31"; },
    "no profile": (one) => { one.spec.profiles = []; },
    "a pin that is no number": (one) => { one.spec.pins = [{ input: "x", values: ["01"] }]; },
    ...Object.fromEntries(["0.50", "-0", "1e5", "1e+05", "0.0001", "1e-04", "-0.5", "9223372036854775808", "1e+400", "5.0", "0.30000000000000004", ".5", "-1.5e-10", "1e+19", "12345678901234567168", ""]
      .map((value) => [`the pin ${value}`, (one) => { one.spec.pins = [{ input: "x", values: [value] }]; }])),
    "pins of every spelling": (one) => { one.spec.pins = [{ input: "x", values: ["1", "-1", "0.5", "1e+30", "1e-07", "9223372036854775807"] }]; },
    "tuning": (one) => { one.spec.tuning = { digest: `sha256:${"55".repeat(32)}`, size: "9" }; },
    "a partition that says nothing": (one) => { one.spec.partition = { affinities: [], exclusions: [], fallbackOperators: [], fallbackPermille: 1000 }; },
    "a partition": (one) => { one.spec.partition = { affinities: [{ pattern: "op:Conv", target: "cpu:x86-64-v3" }], exclusions: [], fallbackOperators: ["Conv"], fallbackPermille: 100 }; },
  };
  for (const [what, change] of Object.entries(manifests)) {
    const artifact = changed(plain, change);
    await agree(what, place({ ...trusting, artifact, bundles: bundles([provenance(artifact, { builder, now })], key) }));
  }
});

// What a release adds to a document stands in its schema first.
const schema = (name) => JSON.parse(fs.readFileSync(path.join(process.env.KILN_GOLDEN_DIR, "../../manifest/schemas", `${name}.schema.json`), "utf8"));

test("takes every numeric setting and every measure that the schemas name", async () => {
  const trusting = { root: root({ development: true }), policy: policy({ allowDevelopment: true }) };
  for (const [member, { enum: values }] of Object.entries(schema("compile-spec").properties.numerics.properties)) {
    for (const value of values) {
      const artifact = changed(plain, (one) => { one.spec.numerics[member] = value; });
      await agree(`${member} ${value}`, place({ ...trusting, artifact, bundles: bundles([provenance(artifact, { builder, now })], key) }), true);
    }
    const artifact = changed(plain, (one) => { one.spec.numerics[member] = "some"; });
    await agree(`${member} some`, place({ ...trusting, artifact, bundles: bundles([provenance(artifact, { builder, now })], key) }), false);
  }
  const wants = policy({ allowDevelopment: true, requireCheck: true });
  const checked = (measured) => place({ ...trusting, policy: wants, bundles: bundles([provenance(plain, { builder, now }), check(plain, { builder, now, measured })], key) });
  for (const measure of Object.keys(schema("check").properties.report.properties.items.items.properties.measured.properties)) {
    await agree(measure, checked({ [measure]: "0.5" }), true);
    await agree(`${measure} as a number`, checked({ [measure]: 0.5 }), false);
  }
  await agree("a measure that nobody knows", checked({ more: "0.5" }), false);
});

test("holds fixtures to the list that is signed", async () => {
  const trusting = { root: root({ development: true }), policy: policy({ allowDevelopment: true }) };
  const npy = Buffer.from("an array");
  const list = Buffer.from(canonical({ version: "1", files: [{ path: "default/input_0.npy", digest: digestText(npy), size: String(npy.length) }],
    profiles: [{ name: "default", inputs: ["default/input_0.npy"], outputs: [] }], tolerance: { rtol: "0.001", atol: "0.00001" } }));
  const made = bundles([provenance(plain, { builder, now, fixtures: list })], key);
  const files = (more) => new Map([["fixtures.json", list], ["default/input_0.npy", npy], ...more]);
  await agree("good", place({ ...trusting, bundles: made, fixtures: files([]) }), true);
  await agree("one more", place({ ...trusting, bundles: made, fixtures: files([["more.npy", npy]]) }), false);
  await agree("changed", place({ ...trusting, bundles: made, fixtures: files([["default/input_0.npy", Buffer.from("an arraz")]]) }), false);
  await agree("another list", place({ ...trusting, bundles: made, fixtures: files([["fixtures.json", Buffer.from("{}")]]) }), false);
});

after(() => console.log(`${counts.judged} artifacts judged twice, ${counts.passed} of them accepted by both`));
