// What the Remote Execution API may be asked for here.
#pragma once

#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "storage/tree/digest_proto.h"

namespace kiln::service {

// What the caller's roles allow in the instance.
struct MayDo {
  bool update = true;   // write into the action cache
  bool execute = true;  // have actions executed
};

// The limits are those of storage/remote and coordinator/jobs. Served are the versions 2.0, the only one that
// Bazel 4 speaks, to 2.3.
reapi::ServerCapabilities capabilities(const MayDo& may);

// Thread safe.
class CapabilitiesService final : public reapi::Capabilities::Service {
 public:
  // INVALID_ARGUMENT for an instance whose name has a word that REAPI reserves.
  grpc::Status GetCapabilities(grpc::ServerContext* context, const reapi::GetCapabilitiesRequest* request,
                               reapi::ServerCapabilities* response) override;
  // The same for a caller who may do that; GetCapabilities() itself takes everybody for one who may all.
  grpc::Status answer(const reapi::GetCapabilitiesRequest& request, const MayDo& may,
                      reapi::ServerCapabilities& response);
};

}  // namespace kiln::service
