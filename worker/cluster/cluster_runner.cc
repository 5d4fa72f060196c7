#include "worker/cluster/cluster_runner.h"

#include <fmt/core.h>

#include "storage/blob/upload.h"
#include "storage/logging/log.h"
#include "storage/remote/remote_blob_store.h"
#include "worker/cluster/capabilities.h"
#include "worker/cluster/outputs.h"
#include "worker/executor/output_upload.h"

namespace kiln::cluster {
namespace {

constexpr int kMostUploads = 3;  // of one action's inputs

// The document that a receipt names.
Result<Digest> storeSandbox(const Store& farm, const ClusterSandbox& where) {
  storage::UploadItem item;
  KILN_ASSIGN(item.bytes, toCanonicalJson(where.toJson()));
  item.digest = digestOf(item.bytes);
  const auto done = storage::uploadMissing(farm.blobs, farm.instance, {&item, 1});
  if (!done) return fail(done.error().in("upload of the sandbox document"));
  return item.digest;
}

}  // namespace

ClusterRunner::ClusterRunner(storage::BlobStore& farm, std::shared_ptr<grpc::Channel> channel,
                             ClusterOptions options, const Clock& clock)
    : farm_(farm),
      options_(std::move(options)),
      channel_(channel),
      execution_(channel, options_.where.instance, clock),
      limits_(sandbox::compilePolicy().limits) {}

Result<reapi::ActionResult> ClusterRunner::execute(const v1::Lease& lease, const sandbox::Cancel& cancel,
                                                   const std::function<void(const std::string&)>& onStage) {
  KILN_ASSIGN(const Capabilities may, capabilitiesOf(channel_, options_.where.instance));
  storage::RemoteBlobStore blobs(channel_, {.batchBytes = may.batchBytes});
  const Store farm{farm_, lease.instance()}, cluster{blobs, options_.where.instance};
  KILN_ASSIGN(const Digest digest, fromProto(lease.action()));
  Copied copied;
  copied.platform = options_.where.platform;
  copied.timeLimit = std::chrono::seconds(
      lease.has_time_limit() ? lease.time_limit().seconds() : static_cast<std::int64_t>(limits_.wallSeconds));
  copied.salt = fmt::format("kiln {} {}", lease.id(), lease.epoch());
  KILN_ASSIGN(const ClusterAction action, copyForCluster(farm, digest, copied));
  logging::info(
      "action goes to the cluster",
      {{"action", digest.hex()}, {"theirs", action.action.text()}, {"cluster", options_.where.address}});

  ExecutionRequest request;
  request.action = action.action;
  request.queueLimit = options_.queueLimit;
  request.timeLimit = action.timeLimit;
  request.cancel = &cancel;
  request.onStage = onStage;
  Executed executed;
  for (int upload = 0;; ++upload) {
    if (upload == kMostUploads)
      return fail(Code::kUnavailable,
                  fmt::format("the cluster has lost inputs of the action {} times, {} the last time",
                              kMostUploads, executed.missing.size()));
    onStage("cluster-upload");
    KILN_TRY(uploadInputs(farm, cluster, action, executed.missing, &cancel));
    KILN_ASSIGN(executed, execution_.run(request));
    if (executed.missing.empty()) break;
  }

  onStage("cluster-download");
  reapi::ActionResult result;
  result.set_exit_code(executed.result.exit_code());
  // A tool that failed has no outputs.
  if (result.exit_code() == 0) {
    KILN_ASSIGN(const auto files, filesOf(executed.result, action.output, limits_, cluster));
    KILN_TRY(fetchOutputs(files, cluster, farm, &cancel));
    for (const auto& [path, file] : files) {
      reapi::OutputFile* out = result.add_output_files();
      out->set_path(path);
      out->set_is_executable(file.executable);
      *out->mutable_digest() = toProto(file.digest);
    }
  }
  const reapi::ActionResult& said = executed.result;
  KILN_ASSIGN(std::string out,
              logOf(said.stdout_raw(), said.has_stdout_digest() ? &said.stdout_digest() : nullptr,
                    limits_.logBytes, cluster));
  KILN_ASSIGN(std::string err,
              logOf(said.stderr_raw(), said.has_stderr_digest() ? &said.stderr_digest() : nullptr,
                    limits_.logBytes, cluster));
  KILN_TRY(executor::uploadLogs(farm.blobs, farm.instance, std::move(out), std::move(err), &result));
  return result;
}

Result<agent::Outcome> ClusterRunner::run(const v1::Lease& lease, int, const sandbox::Cancel& cancel,
                                          const std::function<void(const std::string&)>& onStage) {
  if (lease.kind() != v1::ACTION_COMPILE)
    return fail(Code::kUnavailable, "a cluster's worker runs compiles alone");
  auto result = execute(lease, cancel, onStage);
  if (!result) return fail(result.error().in("cluster " + options_.where.address));
  agent::Outcome outcome;
  outcome.result = std::move(*result);
  KILN_ASSIGN(outcome.sandboxPolicy, storeSandbox({farm_, lease.instance()}, options_.where));
  return outcome;
}

}  // namespace kiln::cluster
