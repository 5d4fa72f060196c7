// From a bundle to a statement that counts. As signing/verify/read_statement.h.
import { byteOrder, printable } from "./bytes";
import { Bundle, checkLogEntry, parseBundle } from "./bundle";
import { compileSummary } from "./compile_summary";
import { Digest, digestOf, digestText } from "./digest";
import { verifyEnvelope } from "./dsse";
import { VerifyError } from "./error";
import { Attestation, StatementEvidence } from "./evaluate";
import { imageType, readImageStatement } from "./image_statement";
import { checkIr, irType, readIr } from "./ir_statement";
import { canonicalJson } from "./json";
import { Manifest } from "./manifest";
import { Cosigned } from "./note";
import { checkAgainstSpec, Provenance, readProvenance } from "./provenance";
import { describeRecall, Recalls, StatementPlace, touching, touchingWorker } from "./recalls";
import { LogPosition, TrustRoot } from "./root";
import { RootLogs } from "./root_logs";
import {
  CheckStatement, checkType, compileType, parseStatement, provenanceType, readCheck, readReproduction, readSummary,
  readTombstone, Reproduction, reproductionType, Statement, Tombstone, tombstoneType, vsaType,
} from "./statement";

export type StatementBody =
  | { readonly is: "provenance"; readonly provenance: Provenance; readonly without: string }
  | { readonly is: "check"; readonly check: CheckStatement }
  | { readonly is: "reproduction"; readonly reproduction: Reproduction }
  | { readonly is: "tombstone"; readonly tombstone: Tombstone }
  | { readonly is: "attestation"; readonly attestation: Attestation };

export interface CountedStatement {
  readonly said: StatementBody;
  readonly evidence: StatementEvidence;
  readonly cosigned: number | null; // some trusted witness had seen the log by then
}

// What a statement must be about; `config` is the digest of the Manifest.
export interface StatementSubject {
  readonly artifact: Digest;
  readonly config: Digest;
  readonly manifest: Manifest;
}

interface Opened {
  readonly bundle: Bundle;
  readonly evidence: StatementEvidence;
  readonly payload: Digest;
  readonly logged: LogPosition | null;
  readonly seen: number | null;
}

// When `wanted` of them had seen it; the earliest comes first.
function seenBy(cosigned: readonly Cosigned[], wanted: number): number | null {
  return cosigned.length < wanted ? null : cosigned[wanted - 1].time;
}

function denied(why: string): VerifyError {
  return new VerifyError("denied", why);
}

function sourcesOf(provenance: Provenance): string[] {
  const out: string[] = [];
  for (const one of provenance.resolvedDependencies) {
    if (one.uri !== "") out.push(one.uri);
    const claimed = one.annotations.get("claimedOrigin");
    if (claimed !== undefined) out.push(claimed);
  }
  const source = provenance.externalParameters.get("modelSource");
  return source === undefined ? out : [...out, source];
}

export class StatementReader {
  private constructor(
    private readonly root: TrustRoot, private readonly recalls: Recalls | null, private readonly now: number,
    private readonly witnesses: number, private readonly logs: RootLogs,
  ) {}

  // What witnesses say of the time counts once `witnesses` of them say so.
  static async of(root: TrustRoot, recalls: Recalls | null, now: number, witnesses: number): Promise<StatementReader> {
    return new StatementReader(root, recalls, now, Math.max(witnesses, 1), await RootLogs.of(root));
  }

  // The statement in a bundle whose signature holds, about this artifact and in agreement with its Manifest.
  // "denied" if it does not count; "data-loss" or "invalid" if it is malformed, badly signed or of another
  // artifact, or comes with a log entry that proves nothing.
  async read(bytes: Uint8Array, about: StatementSubject): Promise<CountedStatement> {
    const opened = await this.open(bytes);
    const statement = parseStatement(opened.bundle.envelope.payload);
    const ours = [provenanceType, checkType, reproductionType, tombstoneType, vsaType, compileType, irType].includes(statement.predicateType);
    if (!statement.subjects.includes(about.artifact.hex) || (ours && statement.subjects.length !== 1)) {
      throw new VerifyError("data-loss", `its statement is about another artifact (sha256:${statement.subjects[0]})`);
    }
    const image = statement.predicateType === imageType
      ? await readImageStatement(statement, about.artifact, about.manifest.spec.target)
      : null;
    if (statement.predicateType === irType) {
      const attestation = await this.ir(opened, statement, about);
      return { said: { is: "attestation", attestation }, evidence: attestation.evidence, cosigned: opened.seen };
    }
    const { said, ids } = statement.predicateType === provenanceType
      ? { said: this.provenance(opened, statement, about), ids: [] }
      : this.other(opened, statement, about, image);
    return { said, evidence: { ...opened.evidence, ids }, cosigned: opened.seen };
  }

  private async open(bytes: Uint8Array): Promise<Opened> {
    const bundle = parseBundle(bytes);
    const key = this.root.findKey(bundle.keyId);
    if (!key) throw denied("signed with a key that the trust root does not list");
    await verifyEnvelope(bundle.envelope, [key]);
    const payload = await digestOf(bundle.envelope.payload);
    const unlogged: Opened = {
      bundle, payload, logged: null, seen: null,
      evidence: { payload: payload.hex, keyId: bundle.keyId, logged: false, witnesses: [], ids: [], log: "", logIndex: BigInt(0) },
    };
    let proof;
    try {
      proof = await checkLogEntry(bundle, key, this.logs.logs, this.logs.witnesses);
    } catch (error) {
      // No entry, or one of a log that means nothing here.
      if (error instanceof VerifyError && (error.code === "not-found" || error.code === "denied")) return unlogged;
      throw error;
    }
    const logged = { origin: proof.origin, index: proof.index, cosigned: seenBy(proof.cosigned, this.witnesses) };
    if (!this.logs.isValid(proof.logId, logged.cosigned ?? this.now)) return unlogged;
    const witnesses = Array.from(new Set(proof.cosigned.map((one) => one.witness))).sort(byteOrder);
    return {
      ...unlogged, logged, seen: seenBy(proof.cosigned, 1),
      evidence: { ...unlogged.evidence, logged: true, witnesses, log: proof.origin, logIndex: proof.index },
    };
  }

  private checkSigner(opened: Opened, id: string): void {
    this.root.checkSigner(opened.bundle.keyId, id, this.now, opened.logged);
  }
  private place(opened: Opened, madeAt: number | null): StatementPlace {
    return { payload: opened.payload, madeAt, logged: opened.logged };
  }
  private checkRecalled(opened: Opened, madeAt: number | null, sources: readonly string[], devices: readonly string[]): void {
    const recall = this.recalls && touching(this.recalls, this.place(opened, madeAt), opened.bundle.keyId, sources, devices);
    if (recall) throw denied(describeRecall(recall));
  }
  // Why what this worker did does not count; "" if it does.
  private whyNot(opened: Opened, madeAt: number, worker: string, operator: string): string {
    const recall = this.recalls && touchingWorker(this.recalls, this.place(opened, madeAt), worker, operator);
    return recall ? describeRecall(recall) : "";
  }
  private checkWorker(opened: Opened, madeAt: number, worker: string, operator: string): void {
    const why = this.whyNot(opened, madeAt, worker, operator);
    if (why !== "") throw denied(why);
  }

  private provenance(opened: Opened, statement: Statement, about: StatementSubject): StatementBody {
    const provenance = readProvenance(statement.predicate);
    checkAgainstSpec(provenance, about.manifest.spec);
    this.checkSigner(opened, provenance.builderId);
    this.checkRecalled(opened, provenance.finishedOn, sourcesOf(provenance), []);
    const left: string[] = [];
    const builders = provenance.builders.filter((one) => {
      const why = this.whyNot(opened, provenance.finishedOn, one.worker, one.operator);
      if (why !== "") left.push(`${printable(one.worker)} ${why}`);
      return why === "";
    });
    const without = left.join("; ");
    if (builders.length === 0) throw denied(without);
    return { is: "provenance", provenance: { ...provenance, builders }, without };
  }

  private other(
    opened: Opened, statement: Statement, about: StatementSubject, image: Digest | null,
  ): { said: StatementBody; ids: readonly string[] } {
    const { predicate, predicateType } = statement;
    if (predicateType === checkType) {
      const check = readCheck(predicate);
      this.checkSigner(opened, check.builderId);
      this.checkRecalled(opened, check.finishedOn, [], check.devices);
      this.checkWorker(opened, check.finishedOn, check.worker, check.operator);
      return { said: { is: "check", check }, ids: [] };
    }
    if (predicateType === reproductionType) {
      const reproduction = readReproduction(predicate);
      this.checkSigner(opened, reproduction.builderId);
      if (reproduction.manifest.hex !== about.config.hex || reproduction.manifest.size !== about.config.size) {
        throw new VerifyError("data-loss", `its statement reproduces another Manifest (${digestText(reproduction.manifest)})`);
      }
      this.checkRecalled(opened, reproduction.finishedOn, [], []);
      this.checkWorker(opened, reproduction.finishedOn, reproduction.worker, reproduction.operator);
      return { said: { is: "reproduction", reproduction }, ids: [] };
    }
    if (predicateType === tombstoneType) {
      const tombstone = readTombstone(predicate);
      this.checkSigner(opened, tombstone.builderId);
      this.checkRecalled(opened, tombstone.issuedOn, [], []);
      return { said: { is: "tombstone", tombstone }, ids: [] };
    }
    return this.attestation(opened, statement, about, image);
  }

  private async ir(opened: Opened, { predicate, predicateType }: Statement, about: StatementSubject): Promise<Attestation> {
    const said = readIr(predicate);
    this.checkSigner(opened, said.builderId);
    await checkIr(said, about.artifact, about.manifest.spec.toolchain);
    this.checkRecalled(opened, said.finishedOn, [], []);
    this.checkWorker(opened, said.finishedOn, said.worker, said.operator);
    return { predicateType, evidence: { ...opened.evidence, ids: [said.builderId] }, summary: null, image: null, ir: said.ir };
  }

  private attestation(
    opened: Opened, { predicate, predicateType }: Statement, about: StatementSubject, image: Digest | null,
  ): { said: StatementBody; ids: readonly string[] } {
    const made = (ids: readonly string[], summary: Attestation["summary"]) => {
      const attestation = { predicateType, evidence: { ...opened.evidence, ids }, summary, image, ir: null };
      return { said: { is: "attestation" as const, attestation }, ids };
    };
    if (predicateType === vsaType) {
      const summary = readSummary(predicate);
      this.checkSigner(opened, summary.verifierId);
      if (summary.artifact.hex !== about.artifact.hex) {
        throw new VerifyError("data-loss", `it summarises another artifact (${digestText(summary.artifact)})`);
      }
      this.checkRecalled(opened, summary.timeVerified, [], []);
      return made([summary.verifierId], summary);
    }
    if (predicateType === compileType && canonicalJson(predicate) !== canonicalJson(compileSummary(about.manifest, about.config))) {
      throw new VerifyError("data-loss", `it is no summary of the Manifest ${digestText(about.config)}`);
    }
    // It does not name its author, so whoever the key speaks for does.
    let why: VerifyError | null = null;
    const ids: string[] = [];
    for (const builder of this.root.builders) {
      if (!builder.keys.includes(opened.bundle.keyId)) continue;
      try {
        this.checkSigner(opened, builder.id);
        ids.push(builder.id);
      } catch (error) {
        if (!(error instanceof VerifyError)) throw error;
        why = error;
      }
    }
    if (ids.length === 0) throw why ?? denied("signed with a key that speaks for nobody in the trust root");
    this.checkRecalled(opened, null, [], []);
    return made(ids, null);
  }
}
