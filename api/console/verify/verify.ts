// Verifies an artifact: every file, every signature, the provenance, recalls and the policy. No farm is
// believed. As signing/verify/verify.h: the same lines in the same order, with the same words.
import { printable } from "./bytes";
import { mostBundleBytes, mostBundles, mostBundlesBytes } from "./bundle";
import { formatTime } from "./clock";
import { checkBytes, Digest, digestOf, digestText } from "./digest";
import { Code, VerifyError } from "./error";
import { agreementOf, Agreement, Attestation, countsStatement, evaluate, PolicyFacts, StatementEvidence } from "./evaluate";
import { FixtureFile, parseFixtureList } from "./fixtures";
import { checkLayers, Manifest, parseManifest } from "./manifest";
import { ArtifactFile, parseOciManifest } from "./oci";
import { Policy } from "./policy";
import { dependencies, fixturesOf, Provenance } from "./provenance";
import { CountedStatement, StatementReader } from "./read_statement";
import { condemning, describeRecall, Recalls } from "./recalls";
import { TrustRoot } from "./root";
import { CheckStatement, Reproduction } from "./statement";

export interface VerifyRequest {
  readonly artifactJson: Uint8Array; // the OCI image manifest
  readonly artifact: string | null; // wanted, "sha256:<hex>"; null accepts any
  // The bytes of "manifest.json", of a layer or of "fixtures/<path>"; a VerifyError if there are none.
  readonly read: (file: ArtifactFile) => Promise<Uint8Array>;
  readonly bundles: readonly Uint8Array[]; // Sigstore bundles, JSON
  readonly fixtures: { readonly list: Uint8Array; readonly files: readonly string[] } | null;
  // Leaves out the layers and fixtures: Manifest, statements, recalls and policy alone.
  readonly statementsOnly: boolean;
}

export interface VerdictLine {
  readonly ok: boolean;
  readonly check: string; // "file weights/0000.bin", "bundle 1", "policy minBuilders"
  readonly detail: string;
}

export interface Verdict {
  readonly passed: boolean;
  readonly failure: Code | null; // of the first line that failed
  readonly artifact: Digest;
  readonly lines: readonly VerdictLine[];
  readonly manifest: Manifest | null;
  readonly statements: readonly CountedStatement[]; // that count, in the order of the bundles
  readonly agreement: Agreement | null;
  readonly cosigned: number; // witnesses had seen a log with one of the statements at this time; 0 if none did
}

class Verification {
  private readonly lines: VerdictLine[] = [];
  private failure: Code | null = null;
  private artifact: Digest = { hex: "", size: BigInt(0) };
  private config: Digest = { hex: "", size: BigInt(0) };
  private layers: readonly ArtifactFile[] = [];
  private manifest: Manifest | null = null;
  private readonly provenances: Array<{ provenance: Provenance; evidence: StatementEvidence }> = [];
  private readonly checks: CheckStatement[] = [];
  private readonly reproductions: Reproduction[] = [];
  private readonly attestations: Attestation[] = [];
  private readonly counted: CountedStatement[] = [];
  private agreement: Agreement | null = null;
  private cosigned = 0;

  constructor(
    private readonly request: VerifyRequest, private readonly root: TrustRoot, private readonly policy: Policy,
    private readonly now: number, private readonly recalls: Recalls | null,
  ) {}

  async run(): Promise<Verdict> {
    const manifest = await this.checkManifest();
    if (manifest) {
      if (!this.request.statementsOnly) await this.checkLayerFiles();
      await this.checkBundles(manifest);
      this.checkRecalls(manifest);
      this.checkPolicy(manifest);
      if (this.request.fixtures && !this.request.statementsOnly) await this.checkFixtures(this.request.fixtures);
    }
    return {
      passed: this.allHold(), failure: this.failure, artifact: this.artifact, lines: this.lines, manifest: this.manifest,
      statements: this.counted, agreement: this.agreement, cosigned: this.cosigned,
    };
  }

  private allHold(): boolean {
    return this.lines.every((line) => line.ok);
  }
  private pass(check: string, detail: string): void {
    this.lines.push({ ok: true, check, detail });
  }
  private refuse(check: string, error: VerifyError): void {
    if (this.allHold()) this.failure = error.code === "denied" ? "denied" : "data-loss";
    this.lines.push({ ok: false, check, detail: error.message });
  }
  // Runs `work`; what it refuses is a line, and then the answer is null.
  private async attempt<T>(check: string, work: () => Promise<T> | T): Promise<T | null> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof VerifyError)) throw error;
      this.refuse(check, error);
      return null;
    }
  }
  private async checkFile(file: ArtifactFile): Promise<Uint8Array> {
    const bytes = await this.request.read(file);
    await checkBytes(bytes, file.digest);
    return bytes;
  }

  private async checkManifest(): Promise<Manifest | null> {
    this.artifact = await digestOf(this.request.artifactJson);
    const found = digestText(this.artifact);
    if (this.request.artifact !== null && this.request.artifact !== found) {
      this.refuse("artifact", new VerifyError("data-loss", `artifact.json has digest ${found} instead of ${this.request.artifact}`));
      return null;
    }
    const oci = await this.attempt("artifact", () => parseOciManifest(this.request.artifactJson));
    if (!oci) return null;
    this.pass("artifact", found);
    const manifest = await this.attempt("file manifest.json", async () => {
      const bytes = await this.checkFile({ path: "manifest.json", mediaType: "", digest: oci.config });
      const read = parseManifest(bytes);
      checkLayers(oci, read);
      return read;
    });
    if (!manifest) return null;
    this.pass("file manifest.json", digestText(oci.config));
    this.config = oci.config;
    this.layers = oci.layers;
    this.manifest = manifest;
    return manifest;
  }

  private async checkLayerFiles(): Promise<void> {
    for (const layer of this.layers) {
      if (await this.attempt(`file ${layer.path}`, () => this.checkFile(layer))) this.pass(`file ${layer.path}`, digestText(layer.digest));
    }
  }

  private bundlesFit(): VerifyError | null {
    const { bundles } = this.request;
    const mend = "; whoever offers them must leave out those that are not the artifact's own";
    const large = (what: string) => new VerifyError("data-loss", what + mend);
    if (bundles.length === 0) return new VerifyError("data-loss", "no bundle: the artifact is not signed");
    let sum = 0;
    for (let i = 0; i < bundles.length; ++i) {
      if (i >= mostBundles) return large(`more than ${mostBundles} bundles`);
      if (bundles[i].length > mostBundleBytes) return large(`bundle ${i + 1}: larger than ${mostBundleBytes} bytes`);
      sum += bundles[i].length;
      if (sum > mostBundlesBytes) {
        return large(`the first ${i + 1} bundles have ${sum} bytes, and all of an artifact may have ${mostBundlesBytes}`);
      }
    }
    return null;
  }

  private async checkBundles(manifest: Manifest): Promise<void> {
    const unfit = this.bundlesFit();
    if (unfit) return this.refuse("bundles", unfit);
    const reader = await StatementReader.of(this.root, this.recalls, this.now, this.policy.minWitnesses);
    const about = { artifact: this.artifact, config: this.config, manifest };
    let whyNone = "";
    for (let i = 0; i < this.request.bundles.length; ++i) {
      const check = `bundle ${i + 1}`;
      try {
        const counted = await reader.read(this.request.bundles[i], about);
        this.cosigned = Math.max(this.cosigned, counted.cosigned ?? 0);
        this.keep(check, counted);
      } catch (error) {
        if (!(error instanceof VerifyError)) throw error;
        if (error.code === "denied") {
          this.pass(check, `not counted: ${error.message}`);
          whyNone = whyNone || error.message;
        } else {
          this.refuse(check, error);
        }
      }
    }
    if (this.provenances.length > 0) return;
    if (whyNone !== "") {
      this.refuse("signature", new VerifyError("denied", `no statement that the trust root accepts: ${whyNone}`));
    } else if (this.allHold()) {
      this.refuse("signature", new VerifyError("data-loss", "no bundle says where the artifact comes from"));
    }
  }

  private keep(check: string, counted: CountedStatement): void {
    const { said, evidence } = counted;
    const by = `, signed by key ${evidence.keyId}${evidence.logged ? ", logged" : ""}`;
    if (said.is === "provenance") {
      this.pass(check, `signed by key ${evidence.keyId}${evidence.logged ? ", logged," : ""} for builder ` +
        printable(said.provenance.builderId) + (said.without === "" ? "" : `; not counted: ${said.without}`));
      this.provenances.push({ provenance: said.provenance, evidence });
    } else if (!countsStatement(this.policy, evidence)) {
      this.pass(check, `not counted: the policy wants it in a log${by}`);
      return;
    } else if (said.is === "check") {
      this.pass(check, `check by ${printable(said.check.worker)}, ${said.check.passed ? "passed" : "failed"}${by}`);
      this.checks.push(said.check);
    } else if (said.is === "reproduction") {
      const { worker, operator, builderId } = said.reproduction;
      this.pass(check, `reproduced by ${printable(worker)} of ${printable(operator)} (${printable(builderId)})${by}`);
      this.reproductions.push(said.reproduction);
    } else if (said.is === "tombstone") {
      this.pass(check, `not rebuildable since ${formatTime(said.tombstone.issuedOn)}: ${printable(said.tombstone.reason)}${by}`);
    } else {
      const { predicateType, summary, image, ir } = said.attestation;
      this.pass(check, `${printable(predicateType)} by ${printable(evidence.ids[0])}` +
        (summary ? (summary.failed.length === 0 ? ", PASSED" : ", FAILED") : "") + (image ? `, image ${digestText(image)}` : "") +
        (ir ? `, IR ${digestText(ir)}` : "") + by);
      this.attestations.push(said.attestation);
    }
    this.counted.push(counted);
  }

  private isProven(recalls: Recalls): boolean {
    return recalls.logged || this.root.logs.length === 0;
  }

  // Recalled content condemns the artifact, whoever signed it.
  private checkRecalls(manifest: Manifest): void {
    const recalls = this.recalls;
    if (!recalls) {
      if (this.root.recallKeys) this.pass("recalls", "none are known here");
      return;
    }
    for (const digest of [this.artifact, ...dependencies(manifest.spec).map((one) => one.digest)]) {
      const recall = condemning(recalls, digest);
      if (!recall) continue;
      const of = digest.hex === this.artifact.hex ? "" : `${digestText(digest)} in it was `;
      return this.refuse("recalls", new VerifyError("denied", of + describeRecall(recall)));
    }
    this.pass("recalls", `version ${recalls.version} of ${formatTime(recalls.issuedOn)} condemns nothing in it` +
      (this.now < recalls.expires ? "" : "; it has expired") +
      (this.isProven(recalls) ? "" : "; nothing proves that the log holds it"));
  }

  private factsOf(i: number, manifest: Manifest): PolicyFacts {
    const recalls = this.recalls;
    return {
      developmentRoot: this.root.development, ...this.provenances[i], manifest, checks: this.checks,
      reproductions: this.reproductions, attestations: this.attestations, now: this.now,
      recallsIssued: recalls && this.now < recalls.expires && this.isProven(recalls) ? recalls.issuedOn : null,
    };
  }

  // The first statement that satisfies every rule decides; if none does, the last one says what is missing.
  private checkPolicy(manifest: Manifest): void {
    for (let i = 0; i < this.provenances.length; ++i) {
      const facts = this.factsOf(i, manifest);
      const rules = evaluate(this.policy, facts);
      this.agreement = agreementOf(this.policy, facts);
      const passed = rules.every((rule) => rule.ok);
      if (!passed && i + 1 < this.provenances.length) continue;
      for (const { ok, rule, detail } of rules) {
        if (ok) this.pass(`policy ${rule}`, detail);
        else this.refuse(`policy ${rule}`, new VerifyError("denied", detail));
      }
      return;
    }
  }

  // The files of the list that a counted statement names, if nothing else is there.
  private async coveredFixtures(list: Uint8Array, offered: readonly string[]): Promise<FixtureFile[]> {
    const digest = await digestOf(list);
    const named = this.provenances.some(({ provenance }) => {
      const fixtures = fixturesOf(provenance)?.digest;
      return fixtures !== undefined && fixtures.hex === digest.hex && fixtures.size === digest.size;
    });
    if (!named) throw new VerifyError("data-loss", `no accepted provenance names a fixtures.json with digest ${digestText(digest)}`);
    const files = parseFixtureList(list);
    const stranger = offered.find((path) => !files.some((file) => file.path === path));
    if (stranger !== undefined) throw new VerifyError("data-loss", `"${printable(stranger)}" is not in the list that is signed`);
    return files;
  }

  private async checkFixtures(offered: { list: Uint8Array; files: readonly string[] }): Promise<void> {
    const files = await this.attempt("fixtures", () => this.coveredFixtures(offered.list, offered.files));
    if (!files) return;
    let matching = true;
    for (const { path, digest } of files) {
      const file = { path: `fixtures/${path}`, mediaType: "", digest };
      if (!(await this.attempt(`fixture ${path}`, () => this.checkFile(file)))) matching = false;
    }
    if (matching) this.pass("fixtures", `${files.length} files match the provenance`);
  }
}

// Never fails by itself: whatever is wrong is a line of the verdict. `now`: seconds; no earlier than what
// witnesses were seen to say.
export function verifyArtifact(
  request: VerifyRequest, root: TrustRoot, policy: Policy, now: number, recalls: Recalls | null,
): Promise<Verdict> {
  return new Verification(request, root, policy, now, recalls).run();
}
