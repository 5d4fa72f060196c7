#include "coordinator/recall/logged_recalls.h"

#include <algorithm>

#include "signing/follow/log_source.h"
#include "signing/keys/files.h"
#include "signing/log/leaf.h"
#include "signing/trust/root_logs.h"
#include "signing/trust/signed_root.h"

namespace kiln::service {
namespace {

Status damaged(const std::string& what) {
  return fail(Code::kDataLoss, "the farm's log: " + what);
}

}  // namespace

Status LoggedRecalls::readRoot() {
  const auto text = signing::readTextFile(trustRoot_, 2 * signing::kMaxRootBytes);
  if (!text) return fail(Code::kUnavailable, "the farm's trust root: " + text.error().message);
  const Digest digest = digestOf(*text);
  if (digest == root_) return {};
  KILN_ASSIGN(signing::RootFile file, signing::RootFile::parse(*text));
  KILN_TRY(signing::checkSigned(file));
  root_ = digest;
  read_.reset();
  if (file.root.recallKeys && !file.root.logs.empty()) read_ = std::move(file.root);
  checkpoint_ = {};
  walked_ = 0;
  logged_.clear();
  held_ = {};
  return {};
}

Status LoggedRecalls::walk(const signing::Checkpoint& checkpoint) {
  std::set<std::string> keys;
  for (const signing::PublicKey& key : read_->recallKeys->issuers.keys) keys.insert(key.der());
  const std::uint64_t size = checkpoint.size;
  for (std::uint64_t at = walked_; at < size;) {
    const std::uint64_t end = std::min(size, (at / signing::kTileWidth + 1) * signing::kTileWidth);
    signing::TileTree tree(*tiles_, size);
    KILN_ASSIGN(const signing::TreeHash root, signing::treeRoot(tree, size));
    if (root != checkpoint.root) return damaged("its tiles do not lead to its checkpoint");
    KILN_ASSIGN(const auto entries, signing::readEntries(*tiles_, size, at, end));
    for (const std::string& entry : entries) {
      KILN_ASSIGN(const signing::TreeHash hash, tree.hash(0, at));
      if (hash != signing::leafHash(entry))
        return damaged("entry " + std::to_string(at) + " is not its leaf");
      const auto leaf = signing::Leaf::parse(entry);
      if (leaf && keys.contains(leaf->spki)) {
        logged_.insert(leaf->digest);
        held_ = {};
      }
      ++at;
    }
    walked_ = at;
  }
  return {};
}

Status LoggedRecalls::readOn() {
  const auto text = tiles_->checkpoint();
  if (!text && text.error().code == Code::kNotFound && walked_ == 0) return {};  // before the first
  if (!text) return fail(Code::kUnavailable, "the farm's log cannot be read: " + text.error().message);
  const Digest seen = digestOf(*text);
  if (seen == checkpoint_) return {};
  const signing::RootLogs logs(*read_);
  const auto opened = signing::openCheckpointText(*text, logs.logs());
  // The root does not name this log, so nothing that it holds counts.
  if (!opened && opened.error().code == Code::kPermissionDenied) return {};
  if (!opened) return damaged(opened.error().message);
  if (opened->checkpoint.size < walked_)
    return damaged("it had " + std::to_string(walked_) + " entries and has " +
                   std::to_string(opened->checkpoint.size));
  KILN_TRY(walk(opened->checkpoint));
  checkpoint_ = seen;
  return {};
}

Status LoggedRecalls::check(const signing::Recalls* inForce) {
  const MutexLock lock(mutex_);
  KILN_TRY(readRoot());
  if (!read_) return {};
  KILN_TRY(readOn());
  if (logged_.empty()) return {};
  const Digest said = digestOf(inForce ? inForce->text : std::string());
  if (said == held_) return {};
  std::set<LogDigest> lacking = logged_;
  if (inForce)
    for (const signing::RecallEntry& entry : inForce->entries)
      lacking.erase(signing::logDigest(entry.envelope.payloadType, entry.envelope.payload));
  if (!lacking.empty())
    return fail(
        Code::kUnavailable,
        "the log holds " + std::to_string(lacking.size()) + (lacking.size() == 1 ? " recall" : " recalls") +
            " that this farm does not have in force: its database has lost them, or they are about to "
            "come. Until then nothing is built, published or served; whoever keeps the recalls "
            "publishes them again with kiln recall --publish --cosign FILE");
  held_ = said;
  return {};
}

}  // namespace kiln::service
