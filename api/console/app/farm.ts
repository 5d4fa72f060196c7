// What the page asks the farm: its HTTP/JSON API, its OCI side and its log, all of the page's own origin. Nothing of
// an answer is believed here.
import { Digest, fromBase64, textOf, VerifyError } from "../verify/index";

export interface BlobRef { readonly hash?: string; readonly sizeBytes?: string }
export interface StatementRef { readonly payload?: string; readonly bundle?: BlobRef; readonly predicateType?: string; readonly recorded?: string }
export interface ArtifactRow {
  readonly digest?: string; readonly manifest?: BlobRef; readonly bundles?: BlobRef[]; readonly target?: string;
  readonly toolchainLabel?: string; readonly published?: string; readonly jobs?: string[]; readonly builders?: string[]; readonly models?: string[];
}

// The farm could not or would not answer.
export class FarmError extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
    this.name = "FarmError";
  }
}

const mostJson = 64 << 20;
const mostObjects = 200000; // of an answer, whatever it is in bytes
const mostMessage = 64 << 10;
const longest = 65000; // milliseconds until an answer begins; a farm ends a call after a minute
const quiet = 30000; // milliseconds between two pieces of an answer
const mostCasBlob = BigInt(3 << 20); // what one answer of the API may hold
const mostEvent = 4 << 20;

export class Farm {
  // `left`: aborted when nobody waits for the answers any more.
  constructor(readonly instance: string, private readonly token: string, private readonly left: AbortSignal) {}

  private async get(target: string, more: RequestInit = {}): Promise<Response> {
    const headers: Record<string, string> = this.token === "" ? {} : { Authorization: `Bearer ${this.token}` };
    if (more.body) headers["Content-Type"] = "application/json";
    let response: Response;
    const patience = new AbortController();
    const giveUp = () => patience.abort();
    this.left.addEventListener("abort", giveUp, { once: true });
    if (this.left.aborted) giveUp();
    const timer = setTimeout(giveUp, longest);
    try {
      response = await fetch(target, { headers, credentials: "omit", redirect: "error", cache: "no-store", referrerPolicy: "no-referrer", signal: patience.signal, ...more });
    } catch {
      throw new FarmError(0, "the farm does not answer");
    } finally {
      clearTimeout(timer);
    }
    if (!response.ok) throw new FarmError(response.status, await messageOf(response));
    return response;
  }

  // The answer of a call of the API; `path` below the instance, `query` without empty values.
  async call<T>(path: readonly string[], query: Readonly<Record<string, string>> = {}): Promise<T> {
    return this.json<T>(["instances", this.instance, ...path], query);
  }
  async json<T>(path: readonly string[], query: Readonly<Record<string, string>> = {}): Promise<T> {
    const asked = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "")).toString();
    const response = await this.get(`/api/v1/${path.map(encodeURIComponent).join("/")}${asked === "" ? "" : `?${asked}`}`);
    return parsed<T>(await take(response, mostJson));
  }

  // Bytes of the CAS by digest, for what no artifact names. They are to be hashed by whoever asks.
  async casBlob(digest: Digest): Promise<Uint8Array> {
    if (digest.size > mostCasBlob) throw new FarmError(0, `${digest.size} bytes are more than one answer of the API holds`);
    const response = await this.get(`/api/v1/instances/${encodeURIComponent(this.instance)}/blobs:batchRead`,
      { method: "POST", body: JSON.stringify({ digests: [{ hash: digest.hex, sizeBytes: String(digest.size) }] }) });
    const { responses = [] } = parsed<{ responses?: Array<{ data?: string; status?: { code?: number; message?: string } }> }>(await take(response, mostJson));
    const [one] = responses;
    if (!one || (one.status?.code ?? 0) !== 0) throw new FarmError(404, `the farm does not hand out sha256:${digest.hex.slice(0, 12)}: ${one?.status?.message ?? "no answer"}`);
    const bytes = fromBase64(one.data ?? "");
    if (!bytes) throw new FarmError(0, "the farm's answer is no base64");
    return bytes;
  }

  // Each time the farm says that a job has changed; ends with the job, the visit of the view, or the farm's answer.
  async watchJob(id: string, changed: () => Promise<void>): Promise<void> {
    const response = await this.get(`/api/v1/instances/${encodeURIComponent(this.instance)}/jobs/${encodeURIComponent(id)}:watch`);
    const reader = response.body?.getReader();
    if (!reader) return;
    // Server-sent events: a blank line ends each. What they say is asked for anew, so that one reader suffices.
    let pending = "";
    const letters = new TextDecoder();
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
      if (done || !value) return;
      pending += letters.decode(value, { stream: true });
      if (pending.length > mostEvent) return reader.cancel();
      const end = pending.lastIndexOf("\n\n");
      if (end < 0) continue;
      const events = pending.slice(0, end);
      pending = pending.slice(end + 2);
      if (/^data:/m.test(events)) await changed();
    }
  }

  // Bytes by digest, no more than it says. They are to be hashed by whoever asks.
  async blob(digest: Digest): Promise<Uint8Array> {
    return take(await this.get(`/v2/${encodeURIComponent(this.instance)}/artifacts/blobs/sha256:${digest.hex}`), Number(digest.size));
  }
  async manifest(hex: string): Promise<Uint8Array> {
    return take(await this.get(`/v2/${encodeURIComponent(this.instance)}/artifacts/manifests/sha256:${hex}`), 4 << 20);
  }
  async logFile(path: string): Promise<Uint8Array> {
    return take(await this.get(`/log/${path}`), 64 << 10);
  }
  // recalls.json; null if none was published here.
  async recalls(): Promise<Uint8Array | null> {
    const { document } = await this.json<{ document?: string }>(["recalls"]);
    if (!document) return null;
    const bytes = fromBase64(document);
    if (!bytes) throw new VerifyError("invalid", "the farm's recalls.json is not base64");
    return bytes;
  }
}

function parsed<T>(bytes: Uint8Array): T {
  const objects = bytes.reduce((sum, one) => sum + (one === 0x7b || one === 0x5b ? 1 : 0), 0); // each begins with { or [
  if (objects > mostObjects) throw new FarmError(0, `the farm's answer has more than ${mostObjects} objects`);
  try {
    return JSON.parse(textOf(bytes)) as T;
  } catch {
    throw new FarmError(0, "the farm's answer is no JSON");
  }
}

async function messageOf(response: Response): Promise<string> {
  try {
    const said = JSON.parse(textOf(await take(response, mostMessage))) as { message?: string; error?: { message?: string }; errors?: Array<{ message?: string }> };
    return said.error?.message ?? said.message ?? said.errors?.[0]?.message ?? `the farm answers ${response.status}`;
  } catch {
    return `the farm answers ${response.status}`;
  }
}

// The next piece of a body that goes on.
async function piece(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<ReadableStreamReadResult<Uint8Array>> {
  let timer = 0;
  const silence = new Promise<never>((_, reject) => {
    timer = window.setTimeout(() => reject(new FarmError(0, "the farm's answer does not go on")), quiet);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } catch (error) {
    reader.cancel().catch(() => {}); // it has failed already
    throw error instanceof FarmError ? error : new FarmError(0, "the farm's answer breaks off");
  } finally {
    clearTimeout(timer);
  }
}

// The body, stopped where it is longer than it may be.
async function take(response: Response, most: number): Promise<Uint8Array> {
  const reader = response.body?.getReader();
  if (!reader) return new Uint8Array();
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await piece(reader);
    if (done || !value) break;
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw new VerifyError("data-loss", `is longer than ${most} bytes`);
    }
    parts.push(value);
  }
  const out = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

export function blobDigest(ref: BlobRef | undefined): Digest | null {
  if (!ref?.hash || !/^[0-9a-f]{64}$/.test(ref.hash) || !/^[0-9]{1,15}$/.test(ref.sizeBytes ?? "0")) return null;
  return { hex: ref.hash, size: BigInt(ref.sizeBytes ?? "0") };
}
