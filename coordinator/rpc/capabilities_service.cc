#include "coordinator/rpc/capabilities_service.h"

#include "coordinator/jobs/foreign_action.h"
#include "storage/remote/reapi_rules.h"
#include "storage/remote/status.h"
#include "storage/remote/wire_limits.h"

namespace kiln::service {
namespace {

build::bazel::semver::SemVer version(int major, int minor) {
  build::bazel::semver::SemVer out;
  out.set_major(major);
  out.set_minor(minor);
  return out;
}

void describeCache(const MayDo& may, reapi::CacheCapabilities& cache) {
  cache.add_digest_functions(reapi::DigestFunction::SHA256);
  cache.mutable_action_cache_update_capabilities()->set_update_enabled(may.update);
  cache.set_max_batch_total_size_bytes(storage::kMaxBatchBytes);
  cache.set_max_cas_blob_size_bytes(storage::kMaxBlobBytes);
  cache.set_symlink_absolute_path_strategy(reapi::SymlinkAbsolutePathStrategy::DISALLOWED);
  for (const auto compressor : {reapi::Compressor::IDENTITY, reapi::Compressor::ZSTD}) {
    cache.add_supported_compressors(compressor);
    cache.add_supported_batch_update_compressors(compressor);
  }
}

void describeExecution(const MayDo& may, reapi::ExecutionCapabilities& execution) {
  execution.set_digest_function(reapi::DigestFunction::SHA256);
  execution.add_digest_functions(reapi::DigestFunction::SHA256);
  execution.set_exec_enabled(may.execute);
  auto* range = execution.mutable_execution_priority_capabilities()->add_priorities();
  range->set_min_priority(-jobs::kMaxForeignPriority);
  range->set_max_priority(jobs::kMaxForeignPriority);
}

}  // namespace

reapi::ServerCapabilities capabilities(const MayDo& may) {
  reapi::ServerCapabilities out;
  describeCache(may, *out.mutable_cache_capabilities());
  describeExecution(may, *out.mutable_execution_capabilities());
  *out.mutable_deprecated_api_version() = version(2, 0);
  *out.mutable_low_api_version() = version(2, 0);
  *out.mutable_high_api_version() = version(2, 3);
  return out;
}

grpc::Status CapabilitiesService::answer(const reapi::GetCapabilitiesRequest& request, const MayDo& may,
                                         reapi::ServerCapabilities& response) {
  if (const Status good = storage::checkReapiInstance(request.instance_name()); !good) return toGrpc(good);
  response = capabilities(may);
  return grpc::Status::OK;
}

grpc::Status CapabilitiesService::GetCapabilities(grpc::ServerContext*,
                                                  const reapi::GetCapabilitiesRequest* request,
                                                  reapi::ServerCapabilities* response) {
  return answer(*request, {}, *response);
}

}  // namespace kiln::service
