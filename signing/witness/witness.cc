#include "signing/witness/witness.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>

#include "manifest/base/durable_file.h"
#include "signing/keys/files.h"
#include "signing/log/cosignature.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxNoteBytes = 64 << 10;

WitnessAnswer refuse(int status, const std::string& why) {
  return {status, "text/plain; charset=utf-8", why + "\n"};
}

WitnessAnswer conflict(std::uint64_t size) {
  return {409, "text/x.tlog.size", std::to_string(size) + "\n"};
}

bool isSignature(const NoteSignature& one, const std::string& text, const VerifierKey& key) {
  return one.name == key.name && one.hint == key.hint() &&
         key.key.verify(asBytes(text), asBytes(one.signature)).has_value();
}

}  // namespace

Result<std::unique_ptr<Witness>> Witness::open(const std::string& directory, std::string name,
                                               Ed25519PrivateKey key, std::vector<VerifierKey> logs,
                                               const Clock& clock) {
  KILN_TRY(makeDurableDirectory(directory, 0700));
  KILN_ASSIGN(UniqueFd lock, openFile(directory + "/lock", O_RDWR | O_CREAT, 0600, directory));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(Code::kUnavailable, directory + ": another witness runs on this state");
  return std::unique_ptr<Witness>(
      new Witness(directory, std::move(name), std::move(key), std::move(logs), clock, std::move(lock)));
}

std::string Witness::pathOf(const std::string& origin) const {
  return directory_ + "/" + digestOf(origin).hex();
}

std::vector<VerifierKey> Witness::keysOf(const std::string& origin) const {
  std::vector<VerifierKey> out;
  std::ranges::copy_if(logs_, std::back_inserter(out),
                       [&](const VerifierKey& one) { return one.name == origin; });
  return out;
}

Result<Checkpoint> Witness::latest(const std::string& origin, std::span<const VerifierKey> keys) const {
  auto text = readTextFile(pathOf(origin), kMaxNoteBytes);
  if (!text && text.error().code == Code::kNotFound) return Checkpoint{origin, 0, emptyTreeHash()};
  if (!text) return fail(text.error());
  KILN_ASSIGN(Note note, parseNote(*text));
  return openCheckpoint(note, keys);
}

Result<std::string> Witness::last(const std::string& origin) {
  const MutexLock lock(mutex_);
  return readTextFile(pathOf(origin), kMaxNoteBytes);
}

WitnessAnswer Witness::addCheckpoint(std::string_view request) {
  WitnessAnswer answer = decide(request);
  told_(answer.status);
  return answer;
}

WitnessAnswer Witness::decide(std::string_view text) {
  auto request = AddCheckpoint::parse(text);
  if (!request) return refuse(400, request.error().message);
  auto note = parseNote(request->checkpoint);
  if (!note) return refuse(400, note.error().message);
  auto claimed = Checkpoint::parse(note->text);
  if (!claimed) return refuse(400, claimed.error().message);
  const std::vector<VerifierKey> keys = keysOf(claimed->origin);
  if (keys.empty())
    return refuse(404, "this witness does not know the log; its --log-key names those it does");
  auto next = openCheckpoint(*note, keys);
  if (!next) return refuse(403, next.error().message + "; a log's new key is named with one more --log-key");
  if (request->oldSize > next->size) return refuse(400, "the old size is beyond the checkpoint's");

  const MutexLock lock(mutex_);
  auto before = latest(next->origin, keys);
  if (!before)
    return refuse(500, "the witness's state is not to be read (" + before.error().message +
                           "); after a change of the log's key name the old one, too, with --log-key, else "
                           "restore it");
  if (request->oldSize != before->size) return conflict(before->size);
  if (next->size == before->size && next->root != before->root) return conflict(before->size);
  if (auto follows = verifyConsistency(before->size, next->size, before->root, next->root, request->proof);
      !follows)
    return refuse(422, follows.error().message);
  auto cosignature = cosign(*note, name_, key_, clock_.now());
  if (!cosignature) return refuse(500, "cannot sign");
  Note kept{note->text, {}};  // what others signed is theirs to keep
  std::copy_if(note->signatures.begin(), note->signatures.end(), std::back_inserter(kept.signatures),
               [&](const NoteSignature& one) {
                 return std::ranges::any_of(
                     keys, [&](const VerifierKey& key) { return isSignature(one, note->text, key); });
               });
  kept.signatures.push_back(*cosignature);
  if (auto stored = replaceFile(pathOf(next->origin), kept.toString()); !stored)
    return refuse(500, "cannot keep the checkpoint");
  const Note line{"", {*cosignature}};
  return {200, "text/plain; charset=utf-8", line.toString().substr(1)};
}

}  // namespace kiln::signing
