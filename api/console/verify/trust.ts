// What a visitor believes: the root that they named, a policy, and what was learnt since. Kept in memory only.
// As api/node/trust.h, but for the state that a file would remember.
import { equal, toBase64 } from "./bytes";
import { VerifyError } from "./error";
import { defaultPolicy, parsePolicy, Policy } from "./policy";
import { checkContinues, extendsRecalls, parseRecalls, Recalls } from "./recalls";
import { checkSuccessor, loadRoot, RootFile, TrustRoot } from "./root";
import { Verdict, verifyArtifact, VerifyRequest } from "./verify";

function recallKeysOf(root: TrustRoot): string {
  const keys = root.recallKeys;
  return keys ? JSON.stringify([keys.issuers.threshold, keys.wideThreshold, keys.scope, keys.issuers.keys.map((one) => toBase64(one.der))]) : "";
}

export class Trust {
  private recallsKnown: Recalls | null = null;
  private recallsFile: Uint8Array | null = null;
  private latestSeen = 0;
  private constructor(private file: RootFile, readonly policy: Policy) {}

  // The root in this file, whose signatures must hold. Without a policy: any builder of a root that is not
  // marked development.
  static async named(root: Uint8Array, policy: Uint8Array | null): Promise<Trust> {
    return new Trust(await loadRoot(root), policy ? parsePolicy(policy) : defaultPolicy);
  }

  get root(): TrustRoot {
    return this.file.root;
  }
  get recalls(): Recalls | null {
    return this.recallsKnown;
  }
  // The recalls.json that they were read from.
  get recallsText(): Uint8Array | null {
    return this.recallsFile;
  }

  // Goes over to another root, which must be a successor of this one: an older one is refused. Of one that
  // nobody signed nothing is remembered.
  async follow(root: Uint8Array): Promise<void> {
    const next = await loadRoot(root);
    if (this.file.envelope.signatures.length > 0) await checkSuccessor(this.file, next);
    // Whoever may no longer recall has no say in which version comes next.
    if (recallKeysOf(next.root) !== recallKeysOf(this.root)) this.forgetRecalls();
    this.file = next;
  }

  // Takes a recalls.json in. "data-loss" if it contradicts what is known, or nothing proves that the root's log
  // holds it.
  async learn(recalls: Uint8Array): Promise<void> {
    this.take(await parseRecalls(recalls, this.root), recalls);
  }

  // The same of one that comes with an artifact: one that is none of the root's says nothing.
  async learnCarried(recalls: Uint8Array): Promise<void> {
    if (!this.root.recallKeys) return;
    let news: Recalls;
    try {
      news = await parseRecalls(recalls, this.root, "ifAny");
    } catch (error) {
      if (error instanceof VerifyError) return;
      throw error;
    }
    if (news.logged || !this.recallsKnown?.logged) this.take(news, recalls);
  }

  private forgetRecalls(): void {
    this.recallsKnown = null;
    this.recallsFile = null;
  }

  private take(news: Recalls, file: Uint8Array): void {
    const known = this.recallsKnown;
    const proves = known !== null && equal(news.payload, known.payload) && news.logged && !known.logged;
    if (known && news.version <= known.version && !proves) {
      // An old one is no news; another of the same version is a fork.
      if (extendsRecalls(known, news)) return;
      throw new VerifyError("data-loss", "recalls.json contradicts the one known here");
    }
    if (known && !extendsRecalls(news, known)) {
      throw new VerifyError("data-loss", `recalls.json version ${news.version} leaves out recalls of version ${known.version}`);
    }
    if (known) checkContinues(known.seen, news.seen);
    this.recallsKnown = news;
    this.recallsFile = file;
    this.latestSeen = Math.max(this.latestSeen, news.cosigned);
  }

  // `now`: seconds by the visitor's clock; it is not earlier than what witnesses were seen to say.
  async verify(request: VerifyRequest, now: number): Promise<Verdict> {
    const verdict = await verifyArtifact(request, this.root, this.policy, Math.max(now, this.latestSeen), this.recallsKnown);
    this.latestSeen = Math.max(this.latestSeen, verdict.cosigned);
    return verdict;
  }
}
