#include "signing/log/log_proof.h"

#include <algorithm>

#include "signing/log/checkpoint.h"
#include "signing/log/leaf.h"

namespace kiln::signing {

Result<LogProof> checkLogEntry(const Bundle& bundle, const PublicKey& key, std::span<const VerifierKey> logs,
                               std::span<const VerifierKey> witnesses) {
  if (!bundle.logEntry) return fail(Code::kNotFound, "the bundle has no entry of a log");
  const LogEntry& entry = *bundle.logEntry;
  KILN_ASSIGN(Leaf leaf, leafOf(bundle.envelope, key));
  if (entry.leaf != leaf.text())
    return fail(Code::kDataLoss, "log entry: it is about another signature than the bundle's");
  const auto log = std::find_if(logs.begin(), logs.end(), [&](const VerifierKey& one) {
    return one.kind == NoteKeyKind::kEd25519 && one.id() == entry.logId;
  });
  if (log == logs.end())
    return fail(Code::kPermissionDenied, "log entry: of a log that the trust root does not list");
  KILN_ASSIGN(Note note, parseNote(entry.checkpoint));
  KILN_ASSIGN(Checkpoint checkpoint, openCheckpoint(note, *log));
  if (checkpoint.size != entry.treeSize || checkpoint.root != entry.root)
    return fail(Code::kDataLoss, "log entry: its proof is for another tree than its checkpoint's");
  KILN_TRY(verifyInclusion(entry.index, entry.treeSize, leafHash(entry.leaf), entry.proof, entry.root));
  KILN_ASSIGN(std::vector<Cosigned> cosigned, readCosignatures(note, witnesses));
  return LogProof{log->name, entry.index, entry.treeSize, std::move(cosigned)};
}

}  // namespace kiln::signing
