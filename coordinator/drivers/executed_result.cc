#include "coordinator/drivers/executed_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

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
constexpr std::size_t kMaxEntries = 100'000;  // of all root Directories together
constexpr std::uint64_t kMaxSalted = jobs::kMaxForeignAction + 4096;

struct Store {
  storage::BlobStore& blobs;
  const std::string& instance;
};

Status checkIsOfAction(storage::BlobStore& blobs, const index::RunRecord& run, const ActionResult& result) {
  KILN_ASSIGN(const std::string text, storage::getBlob(blobs, run.instance, run.action, kMaxSalted));
  KILN_ASSIGN(const jobs::ForeignAction action, jobs::readForeignAction(text));
  KILN_ASSIGN(const std::string bytes,
              storage::getBlob(blobs, run.instance, action.command, jobs::kMaxForeignCommand));
  reapi::Command command;
  if (!command.ParseFromString(bytes)) return fail(Code::kDataLoss, "the action's command does not parse");
  return jobs::checkDeclared(result, command);
}

// What one output directory consists of. `entries`: how many all that are walked may still have.
Status addDirectory(const Store& store, const jobs::OutputDirectory& directory, std::size_t& entries,
                    std::map<Digest, std::string>& out) {
  std::optional<Digest> ofTree;
  if (directory.tree) {
    KILN_ASSIGN(const std::string text,
                storage::getBlob(store.blobs, store.instance, *directory.tree, jobs::kMaxTreeBytes));
    KILN_ASSIGN(const jobs::TreeContent content, jobs::contentOfTree(text));
    for (const Digest& file : content.files) out.emplace(file, directory.path);
    ofTree = content.root;
  }
  if (!directory.root) return {};
  if (ofTree && *ofTree != *directory.root)
    return fail(Code::kInvalidArgument, "the Tree and the root Directory of " + inQuotes(directory.path) +
                                            " are not of one directory");
  KILN_ASSIGN(const auto walked,
              storage::walkTree(store.blobs, store.instance, *directory.root, {.entries = entries}));
  entries -= walked.size();
  out.emplace(*directory.root, directory.path);
  for (const storage::TreeEntry& entry : walked)
    if (entry.kind != storage::EntryKind::kSymlink) out.emplace(entry.digest, directory.path);
  return {};
}

// Everything in the store that the result names, and what each is. Reads the Trees and Directories of its
// directories.
Result<std::map<Digest, std::string>> blobsOf(storage::BlobStore& blobs, const std::string& instance,
                                              const jobs::ExecutedOutputs& outputs) {
  std::map<Digest, std::string> out;
  for (const jobs::OutputFile& file : outputs.blobs) out.emplace(file.digest, file.path);
  for (const Digest& log : outputs.logs) out.emplace(log, "log");
  std::size_t entries = kMaxEntries;
  for (const jobs::OutputDirectory& directory : outputs.directories)
    KILN_TRY(addDirectory({blobs, instance}, directory, entries, out));
  return out;
}

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
  KILN_ASSIGN(const auto named, blobsOf(blobs, run.instance, outputs));
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
