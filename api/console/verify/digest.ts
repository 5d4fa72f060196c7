// SHA-256 digests, as manifest/base/digest.h.
import { toHex } from "./bytes";
import { VerifyError } from "./error";

export interface Digest {
  readonly hex: string; // 64 lower-case digits
  readonly size: bigint; // of the bytes; 0 where only the hash is known
}

export async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

export async function digestOf(bytes: Uint8Array): Promise<Digest> {
  return { hex: toHex(await sha256(bytes)), size: BigInt(bytes.length) };
}

export function digestText(digest: Digest): string {
  return `sha256:${digest.hex}`;
}

export function sameDigest(a: Digest, b: Digest): boolean {
  return a.hex === b.hex && a.size === b.size;
}

// Null unless the text is "sha256:" and 64 lower-case digits.
export function parseDigest(text: string, size = BigInt(0)): Digest | null {
  return /^sha256:[0-9a-f]{64}$/.test(text) ? { hex: text.slice(7), size } : null;
}

// The same of bare digits.
export function parseHex(text: string, size = BigInt(0)): Digest | null {
  return /^[0-9a-f]{64}$/.test(text) ? { hex: text, size } : null;
}

// "data-loss" unless the bytes have this digest and size.
export async function checkBytes(bytes: Uint8Array, wanted: Digest): Promise<void> {
  if (BigInt(bytes.length) > wanted.size) {
    throw new VerifyError("data-loss", `is longer than ${wanted.size} bytes`);
  }
  if (BigInt(bytes.length) < wanted.size) {
    throw new VerifyError("data-loss", `is ${wanted.size - BigInt(bytes.length)} bytes short`);
  }
  const found = await digestOf(bytes);
  if (found.hex !== wanted.hex) {
    throw new VerifyError("data-loss", `has digest ${digestText(found)} instead of ${digestText(wanted)}`);
  }
}
