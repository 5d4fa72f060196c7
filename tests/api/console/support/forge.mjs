// A signer, a log, witnesses and issuers of recalls, whose documents both judges see. Independent of what it
// tests: nothing of api/console is used.
import { createHash, generateKeyPairSync, sign } from "node:crypto";

export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}

export const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();
export const digestText = (bytes) => `sha256:${sha256(bytes).toString("hex")}`;
export const member = (bytes) => ({ digest: digestText(bytes), size: String(bytes.length) });
export const time = (seconds) => new Date(seconds * 1000).toISOString().replace(/\.\d+Z$/, "Z");

class Key {
  constructor(kind) {
    const pair = kind === "ed25519" ? generateKeyPairSync("ed25519") : generateKeyPairSync("ec", { namedCurve: "P-256" });
    this.hash = kind === "ed25519" ? null : "sha256";
    this.privateKey = pair.privateKey;
    this.spki = pair.publicKey.export({ type: "spki", format: "der" });
    this.id = sha256(this.spki).toString("base64");
    this.member = { keyid: this.id, spki: this.spki.toString("base64") };
  }
  sign(bytes) {
    return sign(this.hash, bytes, this.privateKey);
  }
}

export const p256 = () => new Key("p256");
export const ed25519 = () => new Key("ed25519");

const pae = (type, payload) => Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${type} ${payload.length} `), payload]);

export function envelope(payloadType, payload, keys) {
  return {
    payloadType, payload: payload.toString("base64"),
    signatures: keys.map((key) => ({ sig: key.sign(pae(payloadType, payload)).toString("base64") })),
  };
}

// RFC 6962, section 2.1, word for word.
const leafHash = (leaf) => sha256(Buffer.from([0]), leaf);
const split = (n) => 2 ** Math.ceil(Math.log2(n) - 1);
function treeHash(leaves) {
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return leafHash(leaves[0]);
  const k = split(leaves.length);
  return sha256(Buffer.from([1]), treeHash(leaves.slice(0, k)), treeHash(leaves.slice(k)));
}
function pathOf(index, leaves) {
  if (leaves.length <= 1) return [];
  const k = split(leaves.length);
  return index < k ? [...pathOf(index, leaves.slice(0, k)), treeHash(leaves.slice(k))]
    : [...pathOf(index - k, leaves.slice(k)), treeHash(leaves.slice(0, k))];
}
export function consistencyPath(from, leaves, known = true) {
  if (from === leaves.length) return known ? [] : [treeHash(leaves)];
  const k = split(leaves.length);
  return from <= k ? [...consistencyPath(from, leaves.slice(0, k), known), treeHash(leaves.slice(k))]
    : [...consistencyPath(from - k, leaves.slice(k), false), treeHash(leaves.slice(0, k))];
}
export { treeHash, pathOf, leafHash };

const keyHash = (name, kind, key) => sha256(Buffer.from(`${name}\n`), Buffer.from([kind]), key.spki.subarray(12));
const noteLine = (name, hash, signature) => `\u2014 ${name} ${Buffer.concat([hash.subarray(0, 4), signature]).toString("base64")}\n`;

export class Log {
  constructor(origin, witnesses = []) {
    this.origin = origin;
    this.key = ed25519();
    this.id = keyHash(origin, 1, this.key);
    this.witnesses = witnesses; // {name, key, time}
    this.leaves = [];
  }
  append(payloadType, payload, signature, key) {
    this.leaves.push(Buffer.from(canonical({
      apiVersion: "0.0.2", kind: "hashedrekord",
      spec: { hashedRekordV002: {
        data: { algorithm: "SHA2_256", digest: sha256(pae(payloadType, payload)).toString("base64") },
        signature: { content: signature, verifier: { keyDetails: "PKIX_ECDSA_P256_SHA_256", publicKey: { rawBytes: key.member.spki } } },
      } },
    })));
    return this.leaves.length - 1;
  }
  checkpoint() {
    const text = `${this.origin}\n${this.leaves.length}\n${treeHash(this.leaves).toString("base64")}\n`;
    let note = `${text}\n${noteLine(this.origin, this.id, this.key.sign(Buffer.from(text)))}`;
    for (const { name, key, time: seconds } of this.witnesses) {
      const at = Buffer.alloc(8);
      at.writeBigUInt64BE(BigInt(seconds));
      const signature = key.sign(Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`));
      note += noteLine(name, keyHash(name, 4, key), Buffer.concat([at, signature]));
    }
    return note;
  }
  entry(index) {
    return {
      logIndex: String(index), logId: { keyId: this.id.toString("base64") }, kindVersion: { kind: "hashedrekord", version: "0.0.2" },
      canonicalizedBody: this.leaves[index].toString("base64"),
      inclusionProof: {
        logIndex: String(index), treeSize: String(this.leaves.length), rootHash: treeHash(this.leaves).toString("base64"),
        hashes: pathOf(index, this.leaves).map((hash) => hash.toString("base64")), checkpoint: { envelope: this.checkpoint() },
      },
    };
  }
}

// Bundles of payloads in this order; with a log each gets an entry, after `before` entries of others.
export function bundles(payloads, key, log = null, before = 3) {
  const type = "application/vnd.in-toto+json";
  const made = payloads.map((payload) => envelope(type, payload, [key]));
  for (let i = 0; log && i < before; ++i) log.append(type, Buffer.from(`{"n":${i}}`), key.sign(Buffer.from([i])).toString("base64"), key);
  const places = made.map((one, i) => log && log.append(type, payloads[i], one.signatures[0].sig, key));
  return made.map((dsseEnvelope, i) => Buffer.from(canonical({
    mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
    verificationMaterial: { publicKey: { hint: key.id }, ...(log ? { tlogEntries: [log.entry(places[i])] } : {}) },
    dsseEnvelope,
  })));
}

export function rootOf({ key, builder, now, development = false, recallKeys = null, logs = [], witnesses = [], more = {} }) {
  const valid = { validFrom: time(now - 86400), validUntil: time(now + 86400) };
  return {
    apiVersion: "kiln/v1", kind: "TrustRoot", development, version: 1, expires: time(now + 86400),
    builders: [{ id: builder, keys: [key.id] }], keys: [{ ...key.member, ...valid }],
    ...(recallKeys ? { recallKeys } : {}),
    ...(logs.length > 0 ? { logs: logs.map((log) => ({ ...log.key.member, origin: log.origin, ...valid })) } : {}),
    ...(witnesses.length > 0 ? { witnesses: witnesses.map((one) => ({ ...one.key.member, name: one.name })) } : {}),
    ...more,
  };
}

export function recallsOf({ recalls, keys, now, version = 1, log = null, expires = now + 3600 }) {
  const type = "application/vnd.kiln.recall.v1+json";
  const entries = recalls.map((one) => envelope(type, Buffer.from(canonical(one)), keys));
  const places = entries.map((one) => log && log.append(type, Buffer.from(one.payload, "base64"), one.signatures[0].sig, keys[0]));
  const payload = { apiVersion: "kiln/v1", kind: "Recalls", version, issuedOn: time(now), expires: time(expires), checkpoint: "", entries };
  const file = envelope("application/vnd.kiln.recalls.v1+json", Buffer.from(canonical(payload)), keys);
  if (log) {
    file.log = { checkpoint: log.checkpoint(), entries: places.map((index, i) => ({
      index: String(index), keyid: keys[0].id, sig: entries[i].signatures[0].sig,
      hashes: pathOf(index, log.leaves).map((hash) => hash.toString("base64")),
    })) };
  }
  return Buffer.from(`${JSON.stringify(file)}\n`);
}
