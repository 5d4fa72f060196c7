// DSSE envelopes with ECDSA P-256 signatures. As signing/dsse/dsse.h.
import { concat, fromBase64, utf8 } from "./bytes";
import { badMember, VerifyError } from "./error";
import { Json } from "./json";
import { PublicKey } from "./keys";
import { ObjectReader } from "./reader";

export const inTotoPayload = "application/vnd.in-toto+json";

export interface Envelope {
  readonly payloadType: string;
  readonly payload: Uint8Array; // the bytes that were signed
  readonly signatures: readonly Uint8Array[]; // DER
}

export function preAuthenticationEncoding(payloadType: string, payload: Uint8Array): Uint8Array {
  const type = utf8(payloadType);
  return concat(utf8(`DSSEv1 ${type.length} `), type, utf8(` ${payload.length} `), payload);
}

// Reads an envelope from outside; nothing in it may be believed before signersOf().
export function readEnvelope(json: Json, payloadType: string): Envelope {
  const reader = ObjectReader.open(json, "envelope");
  reader.expect("payloadType", payloadType);
  const payload = reader.base64("payload");
  const list = reader.array("signatures");
  if (list.length === 0 || list.length > 16) throw badMember("envelope.signatures", "must hold 1 to 16 signatures");
  const signatures = list.map((element, i) => {
    const entry = ObjectReader.open(element, `envelope.signatures[${i}]`);
    if (entry.has("keyid")) entry.string("keyid");
    const signature = fromBase64(entry.string("sig"));
    if (!signature) throw badMember(entry.path("sig"), "must be base64 with padding");
    entry.finish();
    return signature;
  });
  reader.finish();
  return { payloadType, payload, signatures };
}

// The ids of those of `keys` that signed, each once.
export async function signersOf(envelope: Envelope, keys: readonly PublicKey[]): Promise<string[]> {
  const message = preAuthenticationEncoding(envelope.payloadType, envelope.payload);
  const out: string[] = [];
  for (const key of keys) {
    if (out.includes(key.id)) continue;
    for (const signature of envelope.signatures) {
      if (!(await key.verifies(message, signature))) continue;
      out.push(key.id);
      break;
    }
  }
  return out;
}

// "data-loss" unless at least one of `keys` signed.
export async function verifyEnvelope(envelope: Envelope, keys: readonly PublicKey[]): Promise<string[]> {
  const signers = await signersOf(envelope, keys);
  if (signers.length === 0) throw new VerifyError("data-loss", "signed by 0 of the accepted keys; 1 wanted");
  return signers;
}
