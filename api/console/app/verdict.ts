// The verdict on one artifact: everything that the farm hands out is checked in this page.
import { ArtifactFile, condemning, describeRecall, Digest, digestText, parseDigest, parseOciManifest, Provenance, Verdict, VerdictLine, VerifyError } from "../verify/index";
import { ArtifactRow, blobDigest, Farm, FarmError } from "./farm";
import { Session } from "./session";

const mostFileBytes = BigInt(64 << 20); // that are fetched and hashed without being asked to

export interface Judged {
  readonly verdict: Verdict;
  readonly rows: readonly VerdictLine[]; // what the farm's index says, held against what is signed
  readonly passed: boolean;
  readonly leftOut: bigint; // bytes of files that were not read here
}

export interface Found { readonly row: ArtifactRow; readonly wanted: Digest; readonly digest: string }

// The artifact that `name` means: a whole digest, or the beginning of one, of which the farm says the rest. What is verified is the
// whole one, and it begins with what was asked for.
export async function findArtifact(session: Session, name: string): Promise<Found> {
  if (!/^sha256:[0-9a-f]{12,64}$/.test(name)) {
    throw new VerifyError("invalid", `"${name}" is no digest of an artifact: sha256: and 64 digits, of which the first 12 do; a search among the artifacts finds it by its model`);
  }
  const row = await session.farm.call<ArtifactRow>(["artifacts", name]);
  const wanted = parseDigest(name.length === 71 ? name : row.digest ?? "");
  if (!wanted) throw new VerifyError("invalid", "the farm names no digest of it");
  const digest = digestText(wanted);
  if (!digest.startsWith(name)) throw new VerifyError("data-loss", `\u2718 Refused: ${digest.slice(0, 19)} is what the farm hands out for ${name}, which it does not begin with`);
  return { row, wanted, digest };
}

async function asked<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof FarmError) throw new VerifyError("not-found", `the farm does not hand it out: ${error.message}`);
    throw error;
  }
}

function readerOf(farm: Farm): (file: ArtifactFile) => Promise<Uint8Array> {
  return (file) => asked(() => farm.blob(file.digest));
}

function provenanceOf(verdict: Verdict): Provenance | null {
  for (const { said } of verdict.statements) if (said.is === "provenance") return said.provenance;
  return null;
}

// What the index claims of the artifact, beside what is signed.
function compareRow(row: ArtifactRow, wanted: string, verdict: Verdict): VerdictLine[] {
  const lines: VerdictLine[] = [];
  const compare = (check: string, claimed: string, signed: string) => lines.push({
    ok: claimed === signed, check: `index ${check}`,
    detail: claimed === signed ? `${claimed || "nothing"}, as it is signed` : `the farm says ${claimed || "nothing"}, what is signed says ${signed || "nothing"}`,
  });
  compare("digest", row.digest ?? "", wanted);
  if (verdict.manifest) compare("target", row.target ?? "", verdict.manifest.spec.target);
  const provenance = provenanceOf(verdict);
  if (!provenance) return lines;
  const labels = verdict.statements.map(({ said }) => (said.is === "provenance" ? said.provenance.externalParameters.get("toolchainLabel") ?? "" : ""));
  const label = row.toolchainLabel ?? "";
  compare("toolchain", label, labels.includes(label) ? label : labels.find((one) => one !== "") ?? "");
  const signed = new Set<string>();
  for (const { said } of verdict.statements) {
    if (said.is === "provenance") for (const one of said.provenance.builders) signed.add(one.worker);
    if (said.is === "reproduction") signed.add(said.reproduction.worker);
  }
  const stranger = (row.builders ?? []).find((one) => !signed.has(one));
  lines.push({ ok: stranger === undefined, check: "index builders",
    detail: stranger === undefined ? `${(row.builders ?? []).join(", ") || "none"}, as it is signed` : `the farm names ${stranger}, whom no statement that counts names` });
  return lines;
}

export async function judge(session: Session, row: ArtifactRow, wanted: Digest, everyFile: boolean): Promise<Judged> {
  const { farm, trust } = session;
  if (!trust) throw new VerifyError("denied", "no root is named");
  await session.learnRecalls();
  const bundles: Uint8Array[] = [];
  const artifactJson = await asked(() => farm.manifest(wanted.hex));
  for (const ref of row.bundles ?? []) {
    const digest = blobDigest(ref);
    if (!digest) throw new VerifyError("invalid", "the farm names a bundle without a digest");
    bundles.push(await asked(() => farm.blob(digest)));
  }
  let size = BigInt(0);
  try {
    size = parseOciManifest(artifactJson).layers.reduce((sum, one) => sum + one.digest.size, BigInt(0));
  } catch (error) {
    if (!(error instanceof VerifyError)) throw error; // the verdict says it
  }
  const statementsOnly = !everyFile && size > mostFileBytes;
  const verdict = await trust.verify({
    artifactJson, artifact: `sha256:${wanted.hex}`, read: readerOf(farm), bundles, fixtures: null, statementsOnly,
  }, Date.now() / 1000);
  const rows = compareRow(row, `sha256:${wanted.hex}`, verdict);
  if (session.recallsTrouble !== "") rows.push({ ok: false, check: "recalls of the farm", detail: session.recallsTrouble });
  return { verdict, rows, passed: verdict.passed && rows.every((line) => line.ok), leftOut: statementsOnly ? size : BigInt(0) };
}

// What recalls say of bytes that the farm does not hand out.
export function recalledOn(session: Session, wanted: Digest): string {
  const entry = session.trust?.recalls ? condemning(session.trust.recalls, wanted) : null;
  return entry ? describeRecall(entry) : "";
}
