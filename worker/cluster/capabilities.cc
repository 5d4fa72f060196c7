#include "worker/cluster/capabilities.h"

#include <algorithm>
#include <chrono>

#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "storage/remote/status.h"
#include "storage/remote/wire_limits.h"
#include "worker/cluster/connection.h"

namespace kiln::cluster {
namespace {

namespace reapi = ::build::bazel::remote::execution::v2;

constexpr std::chrono::seconds kPatience{20};

Status checkServed(const reapi::ServerCapabilities& said) {
  const auto& functions = said.cache_capabilities().digest_functions();
  const bool hashes =
      functions.empty() || std::ranges::find(functions, reapi::DigestFunction::SHA256) != functions.end();
  if (!hashes) return fail(Code::kUnavailable, "the cluster says that its digests are not SHA-256");
  if (said.has_execution_capabilities() && !said.execution_capabilities().exec_enabled())
    return fail(Code::kUnavailable, "the cluster says that it executes nothing for this instance");
  return {};
}

}  // namespace

Result<Capabilities> capabilitiesOf(const std::shared_ptr<grpc::Channel>& channel,
                                    const std::string& instance) {
  Capabilities out{storage::kMaxBatchBytes};
  reapi::GetCapabilitiesRequest request;
  reapi::ServerCapabilities said;
  request.set_instance_name(instance);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  const grpc::Status status =
      reapi::Capabilities::NewStub(channel)->GetCapabilities(&context, request, &said);
  if (status.error_code() == grpc::UNIMPLEMENTED) return out;
  if (!status.ok()) return fail(ofCluster(fromGrpc(status), "asking the cluster for its capabilities"));
  KILN_TRY(checkServed(said));
  const std::int64_t most = said.cache_capabilities().max_batch_total_size_bytes();
  if (most > 0) out.batchBytes = std::min(out.batchBytes, static_cast<std::uint64_t>(most));
  return out;
}

}  // namespace kiln::cluster
