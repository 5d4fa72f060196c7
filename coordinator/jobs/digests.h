// Between REAPI's Digest message and ours. A malformed digest from outside is kInvalidArgument.
#pragma once

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "manifest/base/digest.h"

namespace kiln::jobs {

namespace reapi = ::build::bazel::remote::execution::v2;

reapi::Digest toProto(const Digest& digest);
Result<Digest> fromProto(const reapi::Digest& digest);

}  // namespace kiln::jobs
