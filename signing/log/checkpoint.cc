#include "signing/log/checkpoint.h"

#include <algorithm>

#include "manifest/json/reader.h"

namespace kiln::signing {
namespace {

tl::unexpected<Error> malformed(const char* what) {
  return fail(Code::kInvalidArgument, std::string("checkpoint: ") + what);
}

// The text up to the next newline, taken from the front of `rest`; nothing without a newline.
std::string_view takeLine(std::string_view& rest) {
  const auto end = rest.find('\n');
  if (end == rest.npos) return {};
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return line;
}

}  // namespace

std::string Checkpoint::text() const {
  return origin + "\n" + std::to_string(size) + "\n" + toBase64(root) + "\n";
}

Result<Checkpoint> Checkpoint::parse(std::string_view text) {
  Checkpoint out;
  std::string_view rest = text;
  out.origin = takeLine(rest);
  if (!isKeyName(out.origin)) return malformed("its origin is no name of a key");
  auto size = parseDecimal(takeLine(rest));
  if (!size) return malformed("its size is not a decimal number");
  out.size = *size;
  auto root = fromBase64(takeLine(rest));
  if (!root || root->size() != out.root.size()) return malformed("its root is not a hash in base64");
  std::copy(root->begin(), root->end(), out.root.begin());
  if (out.size == 0 && out.root != emptyTreeHash()) return malformed("an empty tree has another root");
  while (!rest.empty())
    if (takeLine(rest).empty()) return malformed("holds an empty line");
  return out;
}

Result<Note> signCheckpoint(const Checkpoint& checkpoint, const Ed25519PrivateKey& key) {
  KILN_TRY(Checkpoint::parse(checkpoint.text()));
  Note note{checkpoint.text(), {}};
  KILN_ASSIGN(NoteSignature signature, signNote(note.text, checkpoint.origin, key));
  note.signatures.push_back(std::move(signature));
  return note;
}

Result<Checkpoint> openCheckpoint(const Note& note, const VerifierKey& log) {
  KILN_TRY(verifyNote(note, log));
  KILN_ASSIGN(Checkpoint checkpoint, Checkpoint::parse(note.text));
  if (checkpoint.origin != log.name) return malformed("its origin is not the name of the log");
  return checkpoint;
}

Result<Checkpoint> openCheckpoint(const Note& note, std::span<const VerifierKey> logs) {
  KILN_ASSIGN(const Checkpoint claimed, Checkpoint::parse(note.text));
  Error why{Code::kDataLoss, "signed note: no key of " + claimed.origin + " is known", {}};
  for (const VerifierKey& log : logs) {
    if (log.name != claimed.origin) continue;
    auto checkpoint = openCheckpoint(note, log);
    if (checkpoint) return checkpoint;
    why = checkpoint.error();
  }
  return fail(std::move(why));
}

}  // namespace kiln::signing
