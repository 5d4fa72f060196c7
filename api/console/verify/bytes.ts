// Bytes, text and their spellings. As manifest/base/{digest,utf8,printable}: base64 has one spelling, hex is
// lower case, text is strict UTF-8.
import { VerifyError } from "./error";

const encoder = new TextEncoder();

export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

// "invalid" unless the bytes are UTF-8; a byte order mark stays, for the caller to refuse.
export function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new VerifyError("invalid", "not UTF-8");
  }
}

export function concat(...parts: Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

export function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

// Negative, 0 or positive, as the UTF-8 of `a` comes before, with or after that of `b`: by code points, where
// JavaScript's own order is by UTF-16 units.
export function byteOrder(a: string, b: string): number {
  const left = Array.from(a);
  const right = Array.from(b);
  for (let i = 0; i < left.length && i < right.length; ++i) {
    const difference = left[i].codePointAt(0)! - right[i].codePointAt(0)!;
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Of lower-case digits, an even number of them.
export function fromHex(text: string): Uint8Array {
  const out = new Uint8Array(text.length / 2);
  for (let i = 0; i < out.length; ++i) out[i] = parseInt(text.slice(2 * i, 2 * i + 2), 16);
  return out;
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

export function toBase64(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let i = 0; i < bytes.length; i += 3) {
    const left = bytes.length - i;
    const word = (bytes[i] << 16) | ((left > 1 ? bytes[i + 1] : 0) << 8) | (left > 2 ? bytes[i + 2] : 0);
    parts.push(
      alphabet[(word >> 18) & 63] + alphabet[(word >> 12) & 63] + (left > 1 ? alphabet[(word >> 6) & 63] : "=") +
        (left > 2 ? alphabet[word & 63] : "="),
    );
  }
  return parts.join("");
}

const places = new Map(Array.from(alphabet, (letter, i) => [letter.charCodeAt(0), i] as const));

// Null for text that is not base64 with padding in its one spelling.
export function fromBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0) return null;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const digits = text.length - padding;
  const out = new Uint8Array(Math.floor((digits * 3) / 4));
  let word = 0;
  let bits = 0;
  let at = 0;
  for (let i = 0; i < digits; ++i) {
    const value = places.get(text.charCodeAt(i));
    if (value === undefined) return null;
    word = ((word << 6) | value) & 0xffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out[at++] = (word >> bits) & 0xff;
  }
  // Bits that stand for no byte would be a second spelling.
  return (word & ((1 << bits) - 1)) === 0 ? out : null;
}

// Ranges of characters that move the cursor, turn the direction of text or cannot be seen, as
// manifest/base/printable.cc has them.
const hidden: ReadonlyArray<readonly [number, number]> = [
  [0, 0x1f], [0x7f, 0x9f], [0xad, 0xad], [0x61c, 0x61c], [0x180e, 0x180e], [0x200b, 0x200b], [0x200e, 0x200f],
  [0x2028, 0x202e], [0x2060, 0x206f], [0xfeff, 0xfeff], [0xfff9, 0xfffb], [0xe0000, 0xe0fff],
];

// Text from outside, made fit for people: at most `limit` bytes of it, hidden characters as '?'.
export function printable(text: string, limit = 200): string {
  let out = "";
  let size = 0;
  for (const letter of text) {
    size += utf8(letter).length;
    if (size > limit) return out + "...";
    const point = letter.codePointAt(0)!;
    out += hidden.some(([first, last]) => first <= point && point <= last) ? "?" : letter;
  }
  return out;
}

export function inQuotes(text: string): string {
  return `"${printable(text)}"`;
}
