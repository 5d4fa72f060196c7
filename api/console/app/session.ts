// What this visit knows: the instance, a token, the root that the visitor named. Memory alone: a reload forgets it.
import { Checkpoint, Trust, VerifyError } from "../verify/index";
import { Farm, FarmError } from "./farm";

// A file that the visitor named.
export interface NamedFile { readonly name: string; readonly bytes: Uint8Array }

export class Session {
  private instanceName = "default";
  private token = "";
  private trusted: Trust | null = null;
  private named: readonly string[] = [];
  private visit = new AbortController(); // of the view that is shown
  readonly seenLogs = new Map<string, Checkpoint>(); // by origin, the newest that was believed
  recallsTrouble = ""; // why the farm's recalls are not believed; "" for none

  get farm(): Farm {
    return new Farm(this.instanceName, this.token, this.visit.signal);
  }
  get instance(): string {
    return this.instanceName;
  }
  get trust(): Trust | null {
    return this.trusted;
  }
  // Names of the files that the visitor named.
  get files(): readonly string[] {
    return this.named;
  }

  // Another view is shown: what the one before still asks of the farm ends. Aborted when the next one is.
  begin(): AbortSignal {
    this.visit.abort();
    this.visit = new AbortController();
    return this.visit.signal;
  }

  ask(instance: string, token: string): void {
    this.instanceName = instance === "" ? "default" : instance;
    this.token = token;
  }

  // Believes this root; after another one, only if it is a successor of that. A policy can be changed at any time.
  async believe(root: NamedFile, policy: NamedFile | null, recalls: NamedFile | null): Promise<void> {
    const next = await Trust.named(root.bytes, policy?.bytes ?? null);
    if (this.trusted) await this.trusted.follow(root.bytes);
    const learnt = this.trusted?.recallsText ?? null;
    if (learnt) await next.learnCarried(learnt);
    if (recalls) await next.learn(recalls.bytes);
    this.trusted = next;
    this.named = [root, policy, recalls].filter((file): file is NamedFile => file !== null).map((file) => file.name);
  }

  // Asks the farm for news of recalls. What cannot be believed of them is said wherever a verdict is shown.
  async learnRecalls(): Promise<void> {
    this.recallsTrouble = "";
    const trust = this.trusted;
    if (!trust?.root.recallKeys) return;
    try {
      const recalls = await this.farm.recalls();
      if (recalls) await trust.learn(recalls);
      else if (trust.recalls) this.recallsTrouble = "the farm has no recalls.json, but one is known here";
    } catch (error) {
      if (!(error instanceof VerifyError || error instanceof FarmError)) throw error;
      this.recallsTrouble = error.message;
    }
  }
}
