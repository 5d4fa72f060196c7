#include "signing/follow/log_source.h"

#include <algorithm>

#include "manifest/base/printable.h"
#include "signing/log/leaf.h"

namespace kiln::signing {
namespace {

std::string untrusted(const std::string& origin, const Note& note) {
  std::string keys;
  for (const NoteSignature& one : note.signatures)
    keys += (keys.empty() ? "" : ", ") + printable(one.name) + "+" + toHex(one.hint);
  return "a checkpoint of the log " + printable(origin) + ", signed with " + keys +
         ", which is not trusted here; if this is the log that you mean, name its .vkey file with --log-key, "
         "or add it to the trust root with kiln trust add-key --role log --public LOG.vkey";
}

}  // namespace

Result<OpenedCheckpoint> openCheckpointText(const std::string& text, std::span<const VerifierKey> logs) {
  KILN_ASSIGN(Note note, parseNote(text));
  KILN_ASSIGN(Checkpoint claimed, Checkpoint::parse(note.text));
  if (std::ranges::find(logs, claimed.origin, &VerifierKey::name) == logs.end())
    return fail(Error{Code::kPermissionDenied, untrusted(claimed.origin, note), R"({"exitCode":5})"});
  KILN_ASSIGN(Checkpoint checkpoint, openCheckpoint(note, logs));
  return OpenedCheckpoint{std::move(note), std::move(checkpoint)};
}

Error fromLog(const LogSource& source, const Error& error) {
  Error out = error.asEvidence(source.where());
  if (error.message.find(source.where()) != std::string::npos) out.message = error.message;
  if (out.code == Code::kNotFound) {
    out.code = Code::kDataLoss;
    out.message += "; the log has signed a checkpoint that wants it";
  }
  return out;
}

Result<OpenedCheckpoint> readCheckpoint(LogSource& source, std::span<const VerifierKey> logs) {
  const auto evidence = [&](const Error& error) { return fromLog(source, error); };
  auto text = source.checkpoint();
  if (!text) return fail(text.error().code == Code::kNotFound ? text.error() : evidence(text.error()));
  return openCheckpointText(*text, logs).map_error(evidence);
}

namespace {

Status checkEntries(LogSource& source, const Checkpoint& checkpoint,
                    const std::function<void(std::uint64_t)>& seen) {
  TileTree tree(source, checkpoint.size);
  KILN_ASSIGN(TreeHash root, treeRoot(tree, checkpoint.size));
  if (root != checkpoint.root) return fail(Code::kDataLoss, "the tiles do not lead to the checkpoint's root");
  for (std::uint64_t at = 0; at < checkpoint.size;) {
    const std::uint64_t end = std::min(checkpoint.size, (at / kTileWidth + 1) * kTileWidth);
    KILN_ASSIGN(std::vector<std::string> entries, readEntries(source, checkpoint.size, at, end));
    for (const std::string& entry : entries) {
      const auto wrong = [&](const std::string& what) {
        return fail(Code::kDataLoss, "entry " + std::to_string(at) + ": " + what);
      };
      KILN_ASSIGN(TreeHash hash, tree.hash(0, at));
      if (leafHash(entry) != hash) return wrong("is not the leaf of its place");
      if (auto leaf = Leaf::parse(entry); !leaf) return wrong(leaf.error().message);
      // The upper levels, which lead to the root, must be those of the leaves.
      KILN_ASSIGN(auto proof, inclusionProof(tree, at, checkpoint.size));
      if (auto included = verifyInclusion(at, checkpoint.size, hash, proof, root); !included)
        return wrong(included.error().message);
      ++at;
    }
    seen(at);
  }
  return {};
}

}  // namespace

Status checkWholeLog(LogSource& source, const Checkpoint& checkpoint,
                     const std::function<void(std::uint64_t)>& seen) {
  return checkEntries(source, checkpoint, seen).map_error([&](const Error& error) {
    return fromLog(source, error);
  });
}

}  // namespace kiln::signing
