// The link that `kiln console` prints: "#link=" and a secret that opens one session. The page takes it out of its URL, and
// keeps what it gets for it in memory. Files come along that the visitor named on the command line of their own program.
import { fromBase64, textOf, utf8, VerifyError } from "../verify/index";
import { NamedFile, Session } from "./session";

interface Handed { token?: string; instance?: string; root?: HandedFile; policy?: HandedFile; recalls?: HandedFile }
interface HandedFile { name?: string; bytes?: string }

function fileOf(handed: HandedFile | undefined): NamedFile | null {
  if (!handed) return null;
  const bytes = fromBase64(handed.bytes ?? "");
  if (!bytes) throw new VerifyError("invalid", "kiln console hands out a file that is no base64");
  return { name: handed.name ?? "", bytes };
}

// Whether a URL's fragment is such a link, whole or not.
export function isLink(hash: string): boolean {
  return hash.startsWith("#link=");
}

export async function openLink(session: Session): Promise<void> {
  if (!isLink(location.hash)) return;
  const secret = /^#link=([0-9a-f]{64})$/.exec(location.hash)?.[1];
  history.replaceState(null, "", "#/artifacts");
  if (secret === undefined) throw new VerifyError("invalid", "it was cut, or something stands behind it: #link= and 64 digits are wanted.");
  const response = await fetch("/console/session", { method: "POST", body: utf8(secret), credentials: "omit", redirect: "error", cache: "no-store", referrerPolicy: "no-referrer" })
    .catch(() => null);
  if (!response) throw new VerifyError("not-found", "kiln console does not answer: is it still running?");
  if (!response.ok) throw new VerifyError("denied", "it was opened before, or is of another run. kiln console prints the next link each time that one is opened.");
  const handed = JSON.parse(textOf(new Uint8Array(await response.arrayBuffer()))) as Handed;
  session.ask(handed.instance ?? "", handed.token ?? "");
  const root = fileOf(handed.root);
  if (root) await session.believe(root, fileOf(handed.policy), fileOf(handed.recalls));
}
