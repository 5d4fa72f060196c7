// The parts of the verification that an artifact alone does not reach: proofs, notes, strict JSON, successors of
// roots, news of recalls, and the golden bundles in their log.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { canonical, consistencyPath, envelope, leafHash, Log, p256, pathOf, recallsOf, rootOf, time, treeHash } from "./support/forge.mjs";
import { verifier } from "./support/verifier.mjs";

const golden = (name) => new Uint8Array(fs.readFileSync(path.join(process.env.KILN_GOLDEN_DIR, "v1", name)));
const now = Math.floor(Date.now() / 1000);
const bytes = (text) => new TextEncoder().encode(text);
const refuses = (work, code, message) => assert.rejects(async () => work(), (error) =>
  error instanceof verifier.VerifyError && error.code === code && error.message.includes(message));

test("inclusion proofs of every tree up to 17 leaves hold, and no other", async () => {
  for (let size = 1; size <= 17; ++size) {
    const leaves = Array.from({ length: size }, (_, i) => Buffer.from([i]));
    const root = treeHash(leaves);
    for (let i = 0; i < size; ++i) {
      const proof = pathOf(i, leaves);
      const check = (index, count, path_) => verifier.verifyInclusion(BigInt(index), BigInt(count), leafHash(leaves[i]), path_, root);
      await check(i, size, proof);
      await refuses(() => check(size, size, proof), "data-loss", "behind the end");
      await refuses(() => check(i, size, [...proof, root]), "data-loss", "inclusion proof");
      if (proof.length > 0) await refuses(() => check(i, size, proof.slice(1)), "data-loss", "inclusion proof");
      if (size > 1) await refuses(() => check((i + 1) % size, size, proof), "data-loss", "inclusion proof");
    }
  }
});

test("consistency proofs of every pair of trees up to 17 leaves hold, and no other", async () => {
  const leaves = Array.from({ length: 17 }, (_, i) => Buffer.from([i]));
  for (let to = 1; to <= 17; ++to) {
    for (let from = 1; from <= to; ++from) {
      const [before, after] = [treeHash(leaves.slice(0, from)), treeHash(leaves.slice(0, to))];
      const proof = consistencyPath(from, leaves.slice(0, to));
      const check = (path_, first = before, second = after) => verifier.verifyConsistency(BigInt(from), BigInt(to), first, second, path_);
      await check(proof);
      await refuses(() => check([...proof, before]), "data-loss", "too many hashes");
      await refuses(() => check(proof, leafHash(Buffer.from("x"))), "data-loss", "consistency proof");
      await refuses(() => check(proof, before, leafHash(Buffer.from("x"))), "data-loss", "consistency proof");
      if (proof.length > 0) await refuses(() => check(proof.slice(1)), "data-loss", "consistency proof");
    }
  }
  await refuses(() => verifier.verifyConsistency(2n, 1n, treeHash([]), treeHash([]), []), "data-loss", "smaller");
});

test("the golden bundles are in their log, and a witness saw them", async () => {
  const { root } = await verifier.parseRootFile(golden("logged/root.json"));
  const logs = await verifier.RootLogs.of(root);
  for (const name of ["bundle", "vsa"]) {
    const bundle = verifier.parseBundle(golden(`logged/${name}.sigstore.json`));
    const key = root.findKey(bundle.keyId);
    await verifier.verifyEnvelope(bundle.envelope, [key]);
    const proof = await verifier.checkLogEntry(bundle, key, logs.logs, logs.witnesses);
    assert.ok(proof.index >= 256n);
    assert.deepEqual(proof.cosigned.map((one) => one.witness), ["witness.kiln.example"]);
  }
  const seen = await logs.open(verifier.parseNoteBytes(golden("logged/log/checkpoint")), now);
  assert.equal(seen.checkpoint.size, 258n);
});

test("every golden document reads as what it is", async () => {
  for (const name of ["root.json", "root-full.json"]) await verifier.parseTrustRoot(golden(name));
  for (const name of ["policy.json", "policy-devices.json", "policy-full.json"]) verifier.parsePolicy(golden(name));
  for (const name of ["artifact.json", "artifact-abi3.json"]) verifier.parseOciManifest(golden(name));
  verifier.readRecall(verifier.parseCanonicalJson(golden("recall.json")));
  verifier.readProvenance(verifier.parseStatement(golden("provenance.json")).predicate);
  verifier.parseFixtureList(golden("fixtures.json"));
});

test("strict JSON is that of Kiln's own readers", () => {
  const parse = (text) => verifier.parseStrictJson(typeof text === "string" ? bytes(text) : text);
  for (const text of ['{"a":1,"a":2}', "1 2", "1.0", "1e3", "9007199254740992", '{"\u00e9":1}', "\ufeff1", '"\\ud800"', '"\\udc00\\ud800"', '"\t"', "01", "+1",
    "[1,]", '{"a":}', "{", '"', "nul", "", "// x\n1", "'a'", "-", `${"[".repeat(65)}${"]".repeat(65)}`, '"\\x"', "1\0"]) {
    assert.throws(() => parse(text), verifier.VerifyError, JSON.stringify(text));
  }
  assert.throws(() => parse(new Uint8Array([0x22, 0xc0, 0x80, 0x22])), verifier.VerifyError);
  assert.equal(parse(' {"__proto__":[ -0 , true,null,"\\u00e9\\ud83d\\ude00\\u0000"]}\r\n').get("__proto__").length, 4);
  assert.equal(verifier.canonicalJson(parse('{"b":"\\u001f/\\"","a":-5}')), '{"a":-5,"b":"\\u001f/\\""}');
  assert.throws(() => verifier.parseCanonicalJson(bytes('{"b":1,"a":2}')), verifier.VerifyError);
});

test("base64 and DER have one spelling", async () => {
  for (const text of ["QQ", "QR==", "Q===", "QUI", "QUJ=", " QQ==", "QQ==\n", "Q-==", "===="]) assert.equal(verifier.fromBase64(text), null, text);
  assert.deepEqual(verifier.fromBase64("QQ=="), new Uint8Array([65]));
  const key = p256();
  const der = key.sign(Buffer.from("x"));
  const known = await verifier.PublicKey.fromDer(new Uint8Array(key.spki));
  assert.ok(await known.verifies(bytes("x"), new Uint8Array(der)));
  for (const wrong of [Buffer.concat([der, Buffer.from([0])]), der.subarray(0, der.length - 1), Buffer.concat([Buffer.from([0x30, 0x81, der[1]]), der.subarray(2)])]) {
    assert.equal(await known.verifies(bytes("x"), new Uint8Array(wrong)), false);
  }
  await refuses(() => verifier.PublicKey.fromDer(new Uint8Array(key.spki).fill(1, 30)), "invalid", "not an ECDSA P-256 key");
});

const rootKeys = [p256(), p256()];
const signedRoot = (version, keys, more = {}, role = rootKeys) => bytes(JSON.stringify(envelope("application/vnd.kiln.root.v1+json",
  Buffer.from(canonical({ ...rootOf({ key: p256(), builder: "urn:b", now }), version, rootKeys: { threshold: 2, keys: role.map((one) => one.member) }, ...more })), keys)));

test("a root is followed by its successor alone", async () => {
  const trust = await verifier.Trust.named(signedRoot(2, rootKeys), null);
  await refuses(() => trust.follow(signedRoot(1, rootKeys)), "data-loss", "is not after version 2");
  await refuses(() => trust.follow(signedRoot(3, [rootKeys[0]])), "data-loss", "signed by 1 of the 2");
  const others = [p256(), p256()];
  await refuses(() => trust.follow(signedRoot(3, others, {}, others)), "data-loss", "that version 2 wants");
  await refuses(() => trust.follow(signedRoot(3, rootKeys, {}, others)), "data-loss", "that it wants");
  await trust.follow(signedRoot(3, [...rootKeys, ...others], {}, others));
  assert.equal(trust.root.version, 3);
  await refuses(() => trust.follow(signedRoot(2, rootKeys)), "data-loss", "is not after version 3");
  const development = bytes(canonical(rootOf({ key: p256(), builder: "urn:b", now, development: true, more: { version: 9 } })));
  await refuses(() => trust.follow(development), "data-loss", "is marked development");
});

test("recalls are taken in when they are news, proven and contradict nothing", async () => {
  const issuers = [p256()];
  const role = { threshold: 1, wideThreshold: 1, scope: 3, keys: issuers.map((one) => one.member) };
  const log = new Log("log.kiln.example");
  const root = (more) => bytes(canonical(rootOf({ key: p256(), builder: "urn:b", now, development: true, recallKeys: role, ...more })));
  const one = (digit, more) => ({ apiVersion: "kiln/v1", kind: "Recall", recalls: "artifact", what: `sha256:${digit.repeat(64)}`, reason: "r",
    issuedOn: time(now), whole: true, listed: [], ...more });
  const file = (recalls, version, inLog = null) => new Uint8Array(recallsOf({ recalls, keys: issuers, now, version, log: inLog }));
  const condemns = (trust, digit) => verifier.condemning(trust.recalls, { hex: digit.repeat(64), size: 0n }) !== null;

  const plain = await verifier.Trust.named(root(), null);
  const first = file([one("1")], 1);
  await plain.learn(first);
  assert.ok(condemns(plain, "1") && !condemns(plain, "2"));
  await refuses(() => plain.learn(file([one("2")], 2)), "data-loss", "leaves out recalls");
  await refuses(() => plain.learn(file([one("3")], 1)), "data-loss", "contradicts");
  await plain.learn(first);
  const lift = { apiVersion: "kiln/v1", kind: "Recall", recalls: "lift", what: verifier.digestText(plain.recalls.entries[0].id), reason: "r", issuedOn: time(now) };
  assert.ok(first.length > 0);
  const again = JSON.parse(Buffer.from(JSON.parse(Buffer.from(first)).payload, "base64")).entries;
  const lifting = JSON.parse(Buffer.from(file([lift], 1)));
  const entries = [...again, ...JSON.parse(Buffer.from(lifting.payload, "base64")).entries];
  const payload = { apiVersion: "kiln/v1", kind: "Recalls", version: 2, issuedOn: time(now), expires: time(now + 9), checkpoint: "", entries };
  await plain.learn(bytes(JSON.stringify(envelope("application/vnd.kiln.recalls.v1+json", Buffer.from(canonical(payload)), issuers))));
  assert.ok(!condemns(plain, "1"));

  const logged = await verifier.Trust.named(root({ logs: [log] }), null);
  await refuses(() => logged.learn(file([one("1")], 1)), "data-loss", "nothing proves that the log holds it");
  const proven = file([one("1")], 1, log);
  const broken = JSON.parse(Buffer.from(proven));
  broken.log.entries[0].index = "7";
  await refuses(() => logged.learn(bytes(JSON.stringify(broken))), "data-loss", "recalls.log.entries[0]");
  await logged.learn(proven);
  assert.ok(logged.recalls.logged && condemns(logged, "1"));
});
