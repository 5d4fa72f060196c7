#include "coordinator/rpc/maintenance_service.h"

#include "coordinator/garbage/tombstoner.h"
#include "coordinator/rpc/rpc.h"
#include "coordinator/view/job_view.h"

namespace kiln::service {
namespace {

constexpr std::int64_t kMaxGraceSeconds = 10ll * 366 * 24 * 3600;

Result<GarbageReport> collect(GarbageCollector& garbage, const v1::CollectGarbageRequest& request) {
  const std::int64_t seconds = request.grace().seconds();
  if (seconds < 0 || seconds > kMaxGraceSeconds || (request.has_grace() && seconds == 0))
    return fail(Code::kInvalidArgument, "grace must be one second to ten years");
  return garbage.collect(std::chrono::seconds(seconds), request.dry_run());
}

v1::CollectGarbageResponse toProto(const GarbageReport& report) {
  v1::CollectGarbageResponse out;
  out.mutable_grace()->set_seconds(std::chrono::duration_cast<std::chrono::seconds>(report.grace).count());
  out.set_dry_run(report.dryRun);
  out.set_artifacts(report.artifacts);
  out.set_tombstoned(report.tombstoned);
  out.set_kept_blobs(report.swept.keptBlobs);
  out.set_kept_bytes(report.swept.keptBytes);
  out.set_removed_blobs(report.swept.removedBlobs);
  out.set_removed_bytes(report.swept.removedBytes);
  out.set_removed_references(report.swept.removedReferences);
  out.set_young_references(report.swept.youngReferences);
  for (const std::string& blob : report.damaged) out.add_damaged(blob);
  return out;
}

}  // namespace

grpc::Status MaintenanceService::CollectGarbage(grpc::ServerContext*,
                                                const v1::CollectGarbageRequest* request,
                                                v1::CollectGarbageResponse* response) {
  return answer(collect(garbage_, *request), response,
                [](const GarbageReport& report) { return toProto(report); });
}

grpc::Status MaintenanceService::AddTombstone(grpc::ServerContext*, const v1::AddTombstoneRequest* request,
                                              v1::Artifact* response) {
  return answer(
      addTombstone(stores_, signatory_, request->instance(), request->artifact(), request->reason()),
      response, [](const index::ArtifactRecord& artifact) { return service::toProto(artifact); });
}

}  // namespace kiln::service
