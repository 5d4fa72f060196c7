#include "api/audit/log_history.h"

#include "manifest/base/printable.h"

namespace kiln::audit {
namespace {

constexpr std::size_t kKeptRoots = 4096;

}  // namespace

Result<LogHistory> LogHistory::open(signing::LogSource& source, std::vector<signing::VerifierKey> logs,
                                    const std::string& seen) {
  LogHistory out(source, std::move(logs));
  KILN_TRY(out.readNewest());
  if (seen.empty()) return out;
  KILN_ASSIGN(const auto earlier, signing::openCheckpointText(seen, out.logs_));
  if (earlier.checkpoint.origin != out.newest_.origin)
    return fail(Code::kInvalidArgument, "the checkpoint seen before is of the log " +
                                            printable(earlier.checkpoint.origin) + ", and " + source.where() +
                                            " is the log " + printable(out.newest_.origin) +
                                            "; keep a checkpoint file for each");
  if (Status grown = out.grownFrom(earlier.checkpoint); !grown)
    return fail(signing::fromLog(source, grown.error()));
  return out;
}

Status LogHistory::readNewest() {
  KILN_ASSIGN(auto opened, signing::readCheckpoint(*source_, logs_));
  tree_.emplace(*source_, opened.checkpoint.size);
  const auto root = signing::treeRoot(*tree_, opened.checkpoint.size);
  if (!root) return fail(signing::fromLog(*source_, root.error()));
  if (*root != opened.checkpoint.root)
    return fail(Code::kDataLoss, source_->where() + ": the tiles do not lead to the checkpoint's root");
  newest_ = opened.checkpoint;
  note_ = opened.note.toString();
  return {};
}

Status LogHistory::grownFrom(const signing::Checkpoint& earlier) {
  if (earlier.size > newest_.size)
    return fail(Code::kDataLoss, "the log had " + std::to_string(earlier.size) + " entries and has " +
                                     std::to_string(newest_.size) + ": it was truncated");
  auto known = roots_.find(earlier.size);
  if (known == roots_.end()) {
    if (roots_.size() >= kKeptRoots) {
      roots_.clear();
      tree_.emplace(*source_, newest_.size);
    }
    KILN_ASSIGN(const auto root, signing::treeRoot(*tree_, earlier.size));
    known = roots_.emplace(earlier.size, root).first;
  }
  if (known->second != earlier.root)
    return fail(Code::kDataLoss, "the log was rewritten: its first " + std::to_string(earlier.size) +
                                     " entries are not those that it had signed");
  return {};
}

Result<bool> LogHistory::holds(const std::string& checkpoint) {
  KILN_ASSIGN(const auto opened, signing::openCheckpointText(checkpoint, logs_));
  if (opened.checkpoint.origin != newest_.origin) return true;
  if (opened.checkpoint.size > newest_.size) {  // the log has grown meanwhile
    const signing::Checkpoint before = newest_;
    KILN_TRY(readNewest());
    KILN_TRY(grownFrom(before));
  }
  const Status grown = grownFrom(opened.checkpoint);
  if (grown) return true;
  return grown.error().code == Code::kDataLoss ? Result<bool>(false) : fail(grown.error());
}

}  // namespace kiln::audit
