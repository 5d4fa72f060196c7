#include "coordinator/access/rpc_table.h"

#include <algorithm>

namespace kiln::access {
namespace {

using enum Role;

constexpr Roles kReaders{kSubmitter, kAuditor, kAdmin};
constexpr Roles kAuditors{kAuditor, kAdmin};
constexpr Roles kFetchers{kSubmitter, kAuditor, kRuntime, kAdmin};
// Bytes are worth what their digest says; who may put some there and who may read them differ.
constexpr Roles kUploaders{kSubmitter, kWorker, kToolchainAdmin, kAdmin};
constexpr Roles kEveryone{kSubmitter, kAuditor, kRuntime, kWorker, kToolchainAdmin, kAdmin};

constexpr RpcRule kRules[] = {
    {"kiln.v1.JobService/SubmitJob", Scope::kInstance, {kSubmitter, kAdmin}},
    {"kiln.v1.JobService/GetJob", Scope::kInstance, kReaders},
    {"kiln.v1.JobService/ListJobs", Scope::kInstance, kReaders},
    {"kiln.v1.JobService/WatchJob", Scope::kInstance, kReaders},
    {"kiln.v1.JobService/CancelJob", Scope::kInstance, {kSubmitter, kAdmin}},
    {"kiln.v1.JobService/GetOutputs", Scope::kInstance, kReaders},
    {"kiln.v1.JobService/GetLogs", Scope::kInstance, kReaders},

    {"kiln.v1.ArtifactService/GetArtifact", Scope::kInstance, kFetchers},
    {"kiln.v1.ArtifactService/ListArtifacts", Scope::kInstance, kFetchers},

    // Whoever may, the statement counts by its own signature: of a build pipeline, of an evaluator.
    {"kiln.v1.AttestationService/AddAttestation", Scope::kInstance, kReaders},

    {"kiln.v1.ToolchainService/ListToolchains",
     Scope::kInstance,
     {kSubmitter, kAuditor, kToolchainAdmin, kAdmin}},
    {"kiln.v1.ToolchainService/GetToolchain",
     Scope::kInstance,
     {kSubmitter, kAuditor, kToolchainAdmin, kAdmin}},
    {"kiln.v1.ToolchainService/AddToolchain", Scope::kInstance, {kToolchainAdmin, kAdmin}, Place::kMayBegin},

    {"kiln.v1.WorkerService/Synchronize", Scope::kWorker, {kWorker}},
    {"kiln.v1.FleetService/ListWorkers", Scope::kInstance, kReaders},
    {"kiln.v1.FleetService/GetQueue", Scope::kInstance, kReaders},
    {"kiln.v1.FleetService/ListQueues", Scope::kFarm, {kAdmin}},

    {"kiln.v1.MaintenanceService/CollectGarbage", Scope::kFarm, {kAdmin}},
    {"kiln.v1.MaintenanceService/AddTombstone", Scope::kInstance, {kAdmin}},

    {"kiln.v1.AuditService/GetProvenance", Scope::kInstance, kReaders},
    {"kiln.v1.AuditService/CompareArtifacts", Scope::kInstance, kReaders},
    {"kiln.v1.AuditService/ListAffected", Scope::kInstance, kAuditors},
    {"kiln.v1.AuditService/ListSubmissions", Scope::kInstance, kAuditors},
    {"kiln.v1.AuditService/ListIndexedArtifacts", Scope::kInstance, kAuditors},
    {"kiln.v1.AuditService/ListIndexedStatements", Scope::kInstance, kAuditors},
    {"kiln.v1.AuditService/ListIndexedToolchains", Scope::kInstance, kAuditors},
    {"kiln.v1.AuditService/ListIndexedTuning", Scope::kInstance, kAuditors},
    {"kiln.v1.AuditService/ListLogged", Scope::kInstance, kAuditors},

    {"kiln.v1.RecallService/GetRecalls", Scope::kAnywhere, kFetchers},
    {"kiln.v1.RecallService/PublishRecalls", Scope::kFarm, {kAdmin}},

    {"build.bazel.remote.execution.v2.ContentAddressableStorage/FindMissingBlobs", Scope::kInstance,
     kEveryone, Place::kMayBegin},
    {"build.bazel.remote.execution.v2.ContentAddressableStorage/BatchUpdateBlobs", Scope::kInstance,
     kUploaders, Place::kMayBegin},
    {"build.bazel.remote.execution.v2.ContentAddressableStorage/BatchReadBlobs", Scope::kInstance, kEveryone,
     Place::kMayBegin},
    {"build.bazel.remote.execution.v2.ContentAddressableStorage/GetTree", Scope::kInstance, kEveryone},
    {"build.bazel.remote.execution.v2.Capabilities/GetCapabilities", Scope::kInstance, kEveryone},
    {"build.bazel.remote.execution.v2.ActionCache/GetActionResult", Scope::kInstance, kReaders},
    {"build.bazel.remote.execution.v2.ActionCache/UpdateActionResult",
     Scope::kInstance,
     {kSubmitter, kAdmin}},
    {"build.bazel.remote.execution.v2.Execution/Execute", Scope::kInstance, {kSubmitter, kAdmin}},
    {"build.bazel.remote.execution.v2.Execution/WaitExecution", Scope::kInstance, kReaders},
    {"kiln.v1.TransferService/LocateBlob", Scope::kInstance, kEveryone, Place::kMayBegin},
    {"kiln.v1.TransferService/BeginUpload", Scope::kInstance, kUploaders, Place::kMayBegin},
    {"kiln.v1.TransferService/FinishUpload", Scope::kInstance, kUploaders, Place::kMayBegin},
    {"google.bytestream.ByteStream/Read", Scope::kInstance, kEveryone, Place::kMayBegin},
    {"google.bytestream.ByteStream/Write", Scope::kInstance, kUploaders, Place::kMayBegin},
    {"google.bytestream.ByteStream/QueryWriteStatus", Scope::kInstance, kUploaders, Place::kMayBegin},
};

}  // namespace

std::span<const RpcRule> rpcRules() {
  return kRules;
}

const RpcRule* findRule(std::string_view rpc) {
  const auto* found = std::ranges::find(kRules, rpc, &RpcRule::rpc);
  return found == std::end(kRules) ? nullptr : found;
}

}  // namespace kiln::access
