// ECDSA P-256 and Ed25519 keys and their signatures, all by WebCrypto. As signing/keys: a public key has one
// DER form, an ECDSA signature one DER form.
import { concat, equal, fromHex, toBase64, utf8 } from "./bytes";
import { sha256 } from "./digest";
import { VerifyError } from "./error";

// A SubjectPublicKeyInfo (RFC 5480) up to the point, which holds both coordinates.
const p256Head = fromHex("3059301306072a8648ce3d020106082a8648ce3d03010703420004");
// The same of Ed25519 (RFC 8410).
const ed25519Head = fromHex("302a300506032b6570032100");

export class PublicKey {
  private constructor(private readonly key: CryptoKey, readonly der: Uint8Array, readonly id: string) {}

  // "invalid" unless it is a P-256 key in its one form.
  static async fromDer(der: Uint8Array): Promise<PublicKey> {
    const bad = new VerifyError("invalid", "public key: not an ECDSA P-256 key");
    if (der.length !== p256Head.length + 64 || !equal(der.subarray(0, p256Head.length), p256Head)) throw bad;
    let key: CryptoKey;
    try {
      key = await crypto.subtle.importKey("raw", der.slice(p256Head.length - 1), { name: "ECDSA", namedCurve: "P-256" },
        false, ["verify"]);
    } catch {
      throw bad; // the point is not on the curve
    }
    return new PublicKey(key, der, toBase64(await sha256(der)));
  }

  async verifies(message: Uint8Array, der: Uint8Array): Promise<boolean> {
    const signature = toP1363(der);
    return signature !== null &&
      crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, this.key, signature, message);
  }
}

// An INTEGER of DER at `at`, not negative and in its shortest form, as 32 bytes; null if there is none.
function integerAt(der: Uint8Array, at: number): { value: Uint8Array; end: number } | null {
  const length = der[at + 1];
  const end = at + 2 + length;
  if (der[at] !== 0x02 || length === 0 || length > 33 || end > der.length) return null;
  let digits = der.subarray(at + 2, end);
  if ((digits[0] & 0x80) !== 0) return null;
  if (digits[0] === 0 && digits.length > 1) {
    if ((digits[1] & 0x80) === 0) return null;
    digits = digits.subarray(1);
  }
  if (digits.length > 32) return null;
  const value = new Uint8Array(32);
  value.set(digits, 32 - digits.length);
  return { value, end };
}

// SEQUENCE { r, s } of DER as r and s beside each other, which WebCrypto takes; null unless it is DER.
export function toP1363(der: Uint8Array): Uint8Array | null {
  if (der.length < 2 || der[0] !== 0x30 || der[1] >= 0x80 || der[1] !== der.length - 2) return null;
  const r = integerAt(der, 2);
  const s = r && integerAt(der, r.end);
  return r && s && s.end === der.length ? concat(r.value, s.value) : null;
}

// The kinds of C2SP keys: of a log, of a witness.
export const enum NoteKeyKind { Log = 1, Witness = 4 }

// A key of a log or witness under its name, as signing/log/verifier_key.h.
export class VerifierKey {
  private constructor(
    readonly name: string, readonly kind: NoteKeyKind, private readonly key: CryptoKey,
    readonly id: Uint8Array, // SHA-256 of name, newline, kind and key
  ) {}

  // `spki` has been found to be an Ed25519 key's.
  static async of(name: string, kind: NoteKeyKind, spki: Uint8Array): Promise<VerifierKey> {
    const raw = spki.slice(ed25519Head.length);
    const key = await crypto.subtle.importKey("raw", raw, { name: "Ed25519" }, false, ["verify"]);
    return new VerifierKey(name, kind, key, await sha256(concat(utf8(`${name}\n`), new Uint8Array([kind]), raw)));
  }

  hints(hint: Uint8Array): boolean {
    return equal(hint, this.id.subarray(0, 4));
  }
  async verifies(message: Uint8Array, signature: Uint8Array): Promise<boolean> {
    return signature.length === 64 && crypto.subtle.verify({ name: "Ed25519" }, this.key, signature, message);
  }
}

export function isEd25519(spki: Uint8Array): boolean {
  return spki.length === ed25519Head.length + 32 && equal(spki.subarray(0, ed25519Head.length), ed25519Head);
}
