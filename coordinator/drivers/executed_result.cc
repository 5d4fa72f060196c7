#include "coordinator/drivers/executed_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "coordinator/farm/blob_io.h"
#include "coordinator/farm/log.h"
#include "coordinator/jobs/executed_outputs.h"
#include "coordinator/jobs/foreign_action.h"
#include "coordinator/planning/proof.h"
#include "coordinator/reapi/result_blobs.h"
#include "coordinator/recall/recalls.h"
#include "coordinator/view/job_view.h"
#include "manifest/base/printable.h"
#include "storage/index/jobs/execution_repository.h"
#include "storage/tree/tree_walk.h"

namespace kiln::service {
namespace {

using reapi::ActionResult;

constexpr int kTried = 4;  // results of one action, of which some may have lost their bytes
constexpr std::uint64_t kMaxSalted = jobs::kMaxForeignAction + 4096;

Status checkIsOfAction(storage::BlobStore& blobs, const index::RunRecord& run, const ActionResult& result) {
  KILN_ASSIGN(const std::string text, storage::getBlob(blobs, run.instance, run.action, kMaxSalted));
  KILN_ASSIGN(const jobs::ForeignAction action, jobs::readForeignAction(text));
  KILN_ASSIGN(const std::string bytes,
              storage::getBlob(blobs, run.instance, action.command, jobs::kMaxForeignCommand));
  reapi::Command command;
  if (!command.ParseFromString(bytes)) return fail(Code::kDataLoss, "the action's command does not parse");
  return jobs::checkDeclared(result, command);
}

// Everything in the store that a result names, and what each is. Reads the Trees and Directories of its
// directories, each different one once.
class NamedBlobs {
 public:
  NamedBlobs(storage::BlobStore& blobs, const std::string& instance)
      : blobs_(blobs), instance_(instance), walker_(blobs, instance, {}) {}

  Result<std::map<Digest, std::string>> of(const jobs::ExecutedOutputs& outputs) && {
    for (const jobs::OutputFile& file : outputs.blobs) named_.emplace(file.digest, file.path);
    for (const Digest& log : outputs.logs) named_.emplace(log, "log");
    for (const jobs::OutputDirectory& directory : outputs.directories) KILN_TRY(add(directory));
    return std::move(named_);
  }

 private:
  Status add(const jobs::OutputDirectory& directory) {
    if (directory.tree) KILN_TRY(addTree(*directory.tree, directory.path));
    if (!directory.root) return {};
    if (directory.tree && rootsOfTrees_.at(*directory.tree) != *directory.root)
      return fail(Code::kInvalidArgument, "the Tree and the root Directory of " + inQuotes(directory.path) +
                                              " are not of one directory");
    return addRoot(*directory.root, directory.path);
  }

  Status addTree(const Digest& tree, const std::string& path) {
    if (rootsOfTrees_.contains(tree)) return {};
    KILN_ASSIGN(const std::string text, storage::getBlob(blobs_, instance_, tree, jobs::kMaxTreeBytes));
    KILN_ASSIGN(const jobs::TreeContent content, jobs::contentOfTree(text, walkedTrees_));
    for (const Digest& file : content.files) named_.emplace(file, path);
    rootsOfTrees_.emplace(tree, content.root);
    return {};
  }

  Status addRoot(const Digest& root, const std::string& path) {
    if (!roots_.insert(root).second) return {};
    KILN_ASSIGN(const auto walked, walker_.walk(root));
    named_.emplace(root, path);
    for (const storage::TreeEntry& entry : walked)
      if (entry.kind != storage::EntryKind::kSymlink) named_.emplace(entry.digest, path);
    return {};
  }

  storage::BlobStore& blobs_;
  const std::string& instance_;
  storage::TreeWalker walker_;  // all root Directories together are bounded as one tree
  jobs::WalkedTrees walkedTrees_;
  std::map<Digest, Digest> rootsOfTrees_;
  std::set<Digest> roots_;
  std::map<Digest, std::string> named_;
};

// All that the proof of a result rests on, but for the time.
Digest evidenceOf(const index::ResultRecord& result, const signing::Recalls* recalls) {
  std::string all =
      result.action.hex() + result.outputs.hex() +
      fmt::format("{} {} {}", result.epoch, result.exitCode, result.recorded.time_since_epoch().count());
  for (const std::string& text :
       {result.runId, result.worker, result.operatorName, result.result, result.receipt, result.certificate,
        recalls ? recalls->text : std::string()})
    all += digestOf(text).hex();
  return digestOf(all);
}

// Who ran it and when is the coordinator's to say; what lies between is the worker's word.
void setMetadata(const index::RunRecord& run, const LeaseTimes& times, ActionResult& result) {
  reapi::ExecutedActionMetadata& metadata = *result.mutable_execution_metadata();
  metadata.clear_auxiliary_metadata();
  metadata.set_worker(run.worker);
  setTimestamp(metadata.mutable_queued_timestamp(), run.queued);
  setTimestamp(metadata.mutable_worker_start_timestamp(), times.leased);
  setTimestamp(metadata.mutable_worker_completed_timestamp(), times.reported);
}

}  // namespace

Result<ActionResult> takeExecuted(storage::BlobStore& blobs, const index::RunRecord& run,
                                  const LeaseTimes& times, const ActionResult& reported) {
  KILN_ASSIGN(const jobs::ExecutedOutputs outputs, jobs::readExecuted(reported));
  KILN_TRY(checkIsOfAction(blobs, run, reported));
  KILN_ASSIGN(const auto named, NamedBlobs(blobs, run.instance).of(outputs));
  KILN_TRY(rehashAll(blobs, run.instance, named));
  ActionResult kept = reported;
  kept.DiscardUnknownFields();
  setMetadata(run, times, kept);
  return kept;
}

bool ExecutedResults::provesItself(const index::ResultRecord& result, const signing::Recalls* recalls) {
  const Digest evidence = evidenceOf(result, recalls);
  const auto known = proven_.find(evidence);
  if (known && planning_.stores.clock.now() <= known->until) return true;
  std::vector one{result};
  dropUnproven(planning_, "", one, MadeBy::kExecution);
  if (one.empty()) return false;
  const auto certificate = signing::Certificate::fromPem(result.certificate);
  if (!certificate) return false;
  proven_.insert(evidence, std::make_shared<Proven>(
                               std::min(certificate->notAfter(), planning_.workerAuthority.notAfter())));
  return true;
}

Result<std::optional<ActionResult>> ExecutedResults::find(const std::string& instance, const Digest& action) {
  std::vector<index::ResultRecord> known;
  {
    KILN_ASSIGN(auto connection, planning_.stores.database.acquire());
    KILN_ASSIGN(known, index::cachedExecutions(*connection, instance, action, kTried));
  }
  if (known.empty()) return std::optional<ActionResult>();
  const auto recalls = recallsInForce(planning_.recalls);
  if (!recalls) {
    logWarning("no executed result answers while nobody can say what is recalled",
               {{"error", recalls.error().message}});
    return std::optional<ActionResult>();
  }
  for (const index::ResultRecord& record : known) {
    ActionResult result;
    if (!provesItself(record, recalls->get()) || !result.ParseFromString(record.result)) continue;
    KILN_ASSIGN(const auto missing, reapi_cache::missingBlobs(planning_.stores.blobs, instance, result));
    if (missing.empty()) return std::optional(std::move(result));
  }
  return std::optional<ActionResult>();
}

}  // namespace kiln::service
