// Between the wire's digests and ours.
#pragma once

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "manifest/base/digest.h"

namespace kiln::executor {

namespace reapi = ::build::bazel::remote::execution::v2;

// kInvalidArgument for anything but 64 lowercase hex digits and a size that is not negative.
Result<Digest> fromProto(const reapi::Digest& digest);
void toProto(const Digest& digest, reapi::Digest* out);

}  // namespace kiln::executor
