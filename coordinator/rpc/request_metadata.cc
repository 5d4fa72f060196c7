#include "coordinator/rpc/request_metadata.h"

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "manifest/base/printable.h"
#include "storage/tree/digest_proto.h"

namespace kiln::service {
namespace {

std::string header(const grpc::ServerContextBase& context, const char* name) {
  const auto found = context.client_metadata().find(name);
  return found == context.client_metadata().end() ? ""
                                                  : std::string(found->second.data(), found->second.size());
}

}  // namespace

std::string traceparentOf(const grpc::ServerContextBase& context) {
  return header(context, tracing::kTraceparent);
}

std::string toolHeaderOf(const grpc::ServerContextBase& context) {
  return header(context, kToolHeader);
}

ToolFacts readToolFacts(std::string_view header) {
  reapi::RequestMetadata metadata;
  if (!metadata.ParseFromArray(header.data(), static_cast<int>(header.size()))) return {};
  const std::string version = metadata.tool_details().tool_version();
  return {.tool = printable(metadata.tool_details().tool_name() + (version.empty() ? "" : " ") + version),
          .invocation = printable(metadata.tool_invocation_id()),
          .correlated = printable(metadata.correlated_invocations_id()),
          .action = printable(metadata.action_id()),
          .target = printable(metadata.target_id())};
}

}  // namespace kiln::service
