#include "coordinator/rpc/request_metadata.h"

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "manifest/base/printable.h"
#include "storage/tree/digest_proto.h"

namespace kiln::service {
namespace {

constexpr char kRequestMetadata[] = "build.bazel.remote.execution.v2.requestmetadata-bin";

std::string header(const grpc::ServerContext& context, const char* name) {
  const auto found = context.client_metadata().find(name);
  return found == context.client_metadata().end() ? ""
                                                  : std::string(found->second.data(), found->second.size());
}

}  // namespace

std::string traceparentOf(const grpc::ServerContext& context) {
  return header(context, tracing::kTraceparent);
}

ToolFacts toolFactsOf(const grpc::ServerContext& context) {
  reapi::RequestMetadata metadata;
  if (!metadata.ParseFromString(header(context, kRequestMetadata))) return {};
  const std::string version = metadata.tool_details().tool_version();
  return {printable(metadata.tool_details().tool_name() + (version.empty() ? "" : " ") + version),
          printable(metadata.tool_invocation_id()), printable(metadata.target_id())};
}

}  // namespace kiln::service
