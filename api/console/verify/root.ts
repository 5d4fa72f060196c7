// The trust root: which keys may sign for which builder and when, which are revoked, which logs, witnesses and
// recalls to believe. As signing/trust/{trust_root,signed_root,root_logs}.h.
import { equal, fromBase64, inQuotes, printable, toBase64, utf8 } from "./bytes";
import { formatTime } from "./clock";
import { sha256 } from "./digest";
import { Envelope, readEnvelope, signersOf } from "./dsse";
import { badMember, VerifyError } from "./error";
import { canonicalJson, Json, parseCanonicalJson, parseStrictJson } from "./json";
import { isEd25519, PublicKey } from "./keys";
import { ObjectReader } from "./reader";

export interface TrustedKey { readonly key: PublicKey; readonly validFrom: number; readonly validUntil: number }
export interface TrustedBuilder { readonly id: string; readonly keys: readonly string[] }
export interface ThresholdKeys { readonly threshold: number; readonly keys: readonly PublicKey[] }
export interface RecallKeys { readonly issuers: ThresholdKeys; readonly wideThreshold: number; readonly scope: number }
export interface TrustedLog {
  readonly origin: string; readonly spki: Uint8Array; readonly validFrom: number; readonly validUntil: number;
}
export interface TrustedWitness { readonly name: string; readonly spki: Uint8Array }
export interface Revocation {
  readonly keyId: string;
  readonly at: number;
  readonly reason: string;
  readonly logs: ReadonlyMap<string, bigint>; // entries before this size were made in good faith
}
// Where a statement stands in a trusted log; `cosigned`: when enough witnesses had seen it there.
export interface LogPosition { readonly origin: string; readonly index: bigint; readonly cosigned: number | null }

const mostRootBytes = 1 << 20;
const rootPayload = "application/vnd.kiln.root.v1+json";
const mostText = 1000;
const mostScope = 1000000;

function denied(why: string): VerifyError {
  return new VerifyError("denied", why);
}

// Whether the log proves that the statement came before the revocation.
function spares(revocation: Revocation, logged: LogPosition | null): boolean {
  if (!logged) return false;
  const size = revocation.logs.get(logged.origin);
  if (size !== undefined) return logged.index < size;
  return logged.cosigned !== null && logged.cosigned < revocation.at;
}

export class TrustRoot {
  constructor(
    readonly development: boolean, readonly version: number, readonly expires: number,
    readonly builders: readonly TrustedBuilder[], readonly keys: readonly TrustedKey[],
    readonly rootKeys: ThresholdKeys | null, readonly recallKeys: RecallKeys | null,
    readonly logs: readonly TrustedLog[], readonly witnesses: readonly TrustedWitness[],
    readonly revocations: readonly Revocation[],
  ) {}

  findKey(keyId: string): PublicKey | null {
    return this.keys.find((one) => one.key.id === keyId)?.key ?? null;
  }

  // "denied" unless this key may sign for the builder: at `now`, or when witnesses had seen the statement.
  checkSigner(keyId: string, builderId: string, now: number, logged: LogPosition | null): void {
    if (now >= this.expires) {
      throw denied(`the trust root expired on ${formatTime(this.expires)}, and it is ${formatTime(now)}; get a newer one`);
    }
    const key = this.keys.find((one) => one.key.id === keyId);
    if (!key) throw denied("signed with a key that the trust root does not list");
    const builder = this.builders.find((one) => one.id === builderId);
    if (!builder) throw denied(`builder ${inQuotes(builderId)} is not in the trust root`);
    if (!builder.keys.includes(keyId)) throw denied(`key ${keyId} does not speak for builder ${inQuotes(builderId)}`);
    const cosigned = logged?.cosigned ?? null;
    const signedBy = cosigned ?? now;
    if (signedBy < key.validFrom || signedBy >= key.validUntil) {
      throw denied(`key ${keyId} is valid from ${formatTime(key.validFrom)} to ${formatTime(key.validUntil)}` +
        (cosigned !== null ? ", and witnesses saw the statement on " : ", and it is ") + formatTime(signedBy));
    }
    for (const revocation of this.revocations) {
      if (revocation.keyId !== keyId || spares(revocation, logged)) continue;
      throw denied(`key ${keyId} was revoked on ${formatTime(revocation.at)} (${printable(revocation.reason)}); ` +
        (logged
          ? `its place in the log, entry ${logged.index} of ${printable(logged.origin)}, does not prove that the statement came before`
          : "without a place in a log nothing proves that the statement came before"));
    }
  }
}

function readName(reader: ObjectReader, name: string): string {
  const text = reader.string(name);
  if (text === "" || utf8(text).length > mostText) throw badMember(reader.path(name), "must have 1 to 1000 bytes");
  return text;
}

async function readSpki(reader: ObjectReader): Promise<Uint8Array> {
  const spki = fromBase64(reader.string("spki"));
  if (!spki) throw badMember(reader.path("spki"), "must be base64");
  return spki;
}

async function checkKeyId(reader: ObjectReader, spki: Uint8Array): Promise<void> {
  if (toBase64(await sha256(spki)) !== reader.string("keyid")) {
    throw badMember(reader.path("keyid"), "is not base64(sha256(spki))");
  }
}

async function readKey(reader: ObjectReader): Promise<PublicKey> {
  const spki = await readSpki(reader);
  let key: PublicKey;
  try {
    key = await PublicKey.fromDer(spki);
  } catch (error) {
    if (error instanceof VerifyError) throw badMember(reader.path("spki"), error.message);
    throw error;
  }
  await checkKeyId(reader, spki);
  return key;
}

async function readEd25519(reader: ObjectReader): Promise<Uint8Array> {
  const spki = await readSpki(reader);
  if (!isEd25519(spki)) throw badMember(reader.path("spki"), "must be an Ed25519 key");
  await checkKeyId(reader, spki);
  return spki;
}

// The objects of an array; two that `name` calls the same are refused.
async function readList<T>(
  parent: ObjectReader, member: string, read: (reader: ObjectReader) => Promise<T>, name: (one: T) => string,
): Promise<T[]> {
  const out: T[] = [];
  const seen = new Set<string>();
  for (const element of parent.array(member)) {
    const place = `${parent.path(member)}[${out.length}]`;
    const reader = ObjectReader.open(element, place);
    const one = await read(reader);
    reader.finish();
    if (seen.has(name(one))) throw badMember(place, "is listed twice");
    seen.add(name(one));
    out.push(one);
  }
  return out;
}

function readValidity(reader: ObjectReader): { validFrom: number; validUntil: number } {
  const validFrom = reader.time("validFrom");
  const validUntil = reader.time("validUntil");
  if (validUntil <= validFrom) throw badMember(reader.path("validUntil"), "must be after validFrom");
  return { validFrom, validUntil };
}

async function readThreshold(reader: ObjectReader): Promise<ThresholdKeys> {
  const keys = await readList(reader, "keys", readKey, (key) => key.id);
  if (keys.length === 0 || keys.length > 8) throw badMember(reader.path("keys"), "must hold 1 to 8 keys");
  return { keys, threshold: reader.integer("threshold", 1, keys.length) };
}

async function readRecallKeys(reader: ObjectReader): Promise<RecallKeys> {
  const issuers = await readThreshold(reader);
  const wideThreshold = reader.integer("wideThreshold", issuers.threshold, issuers.keys.length);
  return { issuers, wideThreshold, scope: reader.integer("scope", 0, mostScope) };
}

async function readRole<T>(reader: ObjectReader, name: string, read: (role: ObjectReader) => Promise<T>): Promise<T | null> {
  if (!reader.has(name)) return null;
  const role = reader.object(name);
  const out = await read(role);
  role.finish();
  return out;
}

function readBuilder(reader: ObjectReader, keys: readonly TrustedKey[]): TrustedBuilder {
  const id = reader.string("id");
  if (id === "") throw badMember(reader.path("id"), "must not be empty");
  const names = reader.strings("keys");
  if (names.length === 0) throw badMember(reader.path("keys"), "must name a key");
  for (const name of names) {
    if (!keys.some((one) => one.key.id === name)) {
      throw badMember(reader.path("keys"), "names a key that is not among the root's keys");
    }
  }
  if (new Set(names).size !== names.length) throw badMember(reader.path("keys"), "names a key twice");
  return { id, keys: names };
}

async function readRevocation(reader: ObjectReader, keys: readonly TrustedKey[]): Promise<Revocation> {
  const keyId = reader.string("keyid");
  if (!keys.some((one) => one.key.id === keyId)) {
    throw badMember(reader.path("keyid"), "names a key that is not among the root's keys");
  }
  const at = reader.time("at");
  const reason = readName(reader, "reason");
  const logs = reader.has("logs")
    ? await readList(reader, "logs", async (one) => [readName(one, "origin"), one.unsigned64("size")] as const, (one) => one[0])
    : [];
  return { keyId, at, reason, logs: new Map(logs) };
}

export async function parseTrustRoot(bytes: Uint8Array): Promise<TrustRoot> {
  const reader = ObjectReader.open(parseStrictJson(bytes, { bytes: mostRootBytes, depth: 8 }), "root");
  reader.expect("apiVersion", "kiln/v1");
  reader.expect("kind", "TrustRoot");
  const development = reader.boolean("development");
  const version = reader.integer("version", 1, Number.MAX_SAFE_INTEGER);
  const expires = reader.time("expires");
  const keys = await readList(reader, "keys",
    async (one) => ({ key: await readKey(one), ...readValidity(one) }), (one) => one.key.id);
  const builders = await readList(reader, "builders", async (one) => readBuilder(one, keys), (one) => one.id);
  const rootKeys = await readRole(reader, "rootKeys", readThreshold);
  const recallKeys = await readRole(reader, "recallKeys", readRecallKeys);
  const logs = reader.has("logs")
    ? await readList(reader, "logs",
      async (one) => ({ origin: readName(one, "origin"), spki: await readEd25519(one), ...readValidity(one) }),
      (one) => toBase64(one.spki))
    : [];
  const witnesses = reader.has("witnesses")
    ? await readList(reader, "witnesses",
      async (one) => ({ name: readName(one, "name"), spki: await readEd25519(one) }), (one) => one.name)
    : [];
  const revocations = reader.has("revocations")
    ? await readList(reader, "revocations", (one) => readRevocation(one, keys), (one) => one.keyId)
    : [];
  reader.finish();
  return new TrustRoot(development, version, expires, builders, keys, rootKeys, recallKeys, logs, witnesses, revocations);
}

export interface RootFile {
  readonly root: TrustRoot;
  readonly envelope: Envelope; // without signatures for a document alone
}

// Reads a root file in either form, believing no signature yet.
export async function parseRootFile(bytes: Uint8Array): Promise<RootFile> {
  const json: Json = parseStrictJson(bytes, { bytes: 2 * mostRootBytes, depth: 8 });
  if (!(json instanceof Map) || !json.has("payloadType")) {
    const root = await parseTrustRoot(bytes);
    return { root, envelope: { payloadType: rootPayload, payload: utf8(canonicalJson(json)), signatures: [] } };
  }
  const envelope = readEnvelope(json, rootPayload);
  parseCanonicalJson(envelope.payload, { bytes: mostRootBytes, depth: 8 });
  return { root: await parseTrustRoot(envelope.payload), envelope };
}

async function checkThreshold(file: RootFile, role: ThresholdKeys, whose: string): Promise<void> {
  const made = (await signersOf(file.envelope, role.keys)).length;
  if (made >= role.threshold) return;
  throw new VerifyError("data-loss", `root version ${file.root.version} is signed by ${made} of the ` +
    `${role.threshold} root keys that ${whose} wants`);
}

// "data-loss" unless the threshold of its own root keys signed it; a development root needs no signature.
export async function checkSigned(file: RootFile): Promise<void> {
  if (file.root.rootKeys) return checkThreshold(file, file.root.rootKeys, "it");
  if (file.root.development) return;
  throw new VerifyError("data-loss", "the root names no root keys and is not marked development");
}

// Whether whoever trusts `old` may go over to `next`: "data-loss" for a rollback, and where a threshold is missed.
export async function checkSuccessor(old: RootFile, next: RootFile): Promise<void> {
  const wrong = (what: string) => new VerifyError("data-loss", `root version ${next.root.version} ${what}`);
  if (equal(old.envelope.payload, next.envelope.payload)) return;
  if (next.root.version <= old.root.version) throw wrong(`is not after version ${old.root.version}, which was seen before`);
  if (next.root.development && !old.root.development) throw wrong("is marked development, which the one before is not");
  if (!old.root.rootKeys) throw wrong("follows one that names no keys for a successor");
  await checkThreshold(next, old.root.rootKeys, `version ${old.root.version}`);
  await checkSigned(next);
}

// The root that a file holds, whose signatures hold.
export async function loadRoot(bytes: Uint8Array): Promise<RootFile> {
  const file = await parseRootFile(bytes);
  await checkSigned(file);
  return file;
}
