// A result that a client writes into the action cache. Pure: everything in it comes from outside, and is
// bounded.
#pragma once

#include "storage/tree/digest_proto.h"

namespace kiln::reapi_cache {

inline constexpr int kMaxOutputs = 20'000;  // files, directories and links together

// What is kept of it: without the contents of files, which the store has, and without fields that are not
// REAPI's. kInvalidArgument, naming the field, for a path that is not relative and clean (REAPI: no leading
// or trailing slash; "" for a directory alone is the working directory), two outputs at one path, one below
// another that is a file or a link, a link with an absolute target, a malformed digest, and more than the
// bounds allow (kMaxClientResult bytes as it is kept).
Result<reapi::ActionResult> readClientResult(const reapi::ActionResult& result);

}  // namespace kiln::reapi_cache
