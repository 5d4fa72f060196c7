// The logs and witnesses of a trust root at work. As signing/trust/root_logs.h.
import { equal, printable } from "./bytes";
import { VerifyError } from "./error";
import { NoteKeyKind, VerifierKey } from "./keys";
import { Checkpoint, Cosigned, Note, openCheckpoint, readCosignatures } from "./note";
import { TrustRoot } from "./root";

export interface SeenCheckpoint {
  readonly checkpoint: Checkpoint;
  readonly cosigned: readonly Cosigned[];
}

export class RootLogs {
  private constructor(
    private readonly root: TrustRoot, readonly logs: readonly VerifierKey[], readonly witnesses: readonly VerifierKey[],
  ) {}

  static async of(root: TrustRoot): Promise<RootLogs> {
    const logs = root.logs.map((log) => VerifierKey.of(log.origin, NoteKeyKind.Log, log.spki));
    const witnesses = root.witnesses.map((one) => VerifierKey.of(one.name, NoteKeyKind.Witness, one.spki));
    return new RootLogs(root, await Promise.all(logs), await Promise.all(witnesses));
  }

  get empty(): boolean {
    return this.logs.length === 0;
  }

  // Whether the log's key of this id was valid at that time.
  isValid(logId: Uint8Array, at: number): boolean {
    const i = this.logs.findIndex((log) => equal(log.id, logId));
    return i >= 0 && this.root.logs[i].validFrom <= at && at < this.root.logs[i].validUntil;
  }

  // A checkpoint that one of the logs signed with a key that was valid when witnesses saw it or, if none did,
  // had not ended by `named`. "denied" if it is of no log of the root or the key was not valid.
  async open(note: Note, named: number): Promise<SeenCheckpoint> {
    const cosigned = await readCosignatures(note, this.witnesses);
    let known = false;
    for (let i = 0; i < this.logs.length; ++i) {
      const log = this.logs[i];
      if (!note.signatures.some((one) => one.name === log.name && log.hints(one.hint))) continue;
      const checkpoint = await openCheckpoint(note, log);
      known = true;
      const seen = cosigned.length === 0 ? Math.max(named, this.root.logs[i].validFrom) : cosigned[0].time;
      if (this.isValid(log.id, seen)) return { checkpoint, cosigned };
    }
    throw new VerifyError("denied", `checkpoint of ${printable(note.text.slice(0, note.text.indexOf("\n")))}` +
      (known ? ": its key was not valid then, says the trust root" : ": of a log that the trust root does not list"));
  }
}
