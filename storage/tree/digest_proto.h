// Digests on the wire.
#pragma once

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "manifest/base/digest.h"

namespace kiln {

namespace reapi = ::build::bazel::remote::execution::v2;

reapi::Digest toProto(const Digest& digest);
// kInvalidArgument for anything but 64 lowercase hex digits and a size of zero or more.
Result<Digest> fromProto(const reapi::Digest& digest);

// What names an output directory, in receipts and where results are compared: its Tree, and its root
// Directory where the action wanted no Tree.
Result<Digest> nameOf(const reapi::OutputDirectory& directory);

}  // namespace kiln
