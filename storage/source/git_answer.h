// What a git server decided, apart from trouble on the way to it.
#pragma once

#include <optional>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln::source {

// From libgit2's message about a connection: kUnimplemented where the server refuses or sends elsewhere,
// kNotFound, kPermissionDenied, kDataLoss where it answers with something that is not git's. Nothing for a
// connection that failed, broke or timed out, and for an answer that means "later": another try may help.
std::optional<Code> answerCode(std::string_view message);

}  // namespace kiln::source
