// PostgreSQL's errors as canonical ones.
#pragma once

#include <string_view>

#include "manifest/base/result.h"

namespace kiln::postgres {

// By SQLSTATE: serialization failure, deadlock and stale plans are kAborted (retry the transaction); a lost
// or refused connection is kUnavailable; unique violations are kAlreadyExists. Without a SQLSTATE it is
// kUnavailable; a number or time out of range is kInvalidArgument and says no more than that. Only the
// primary message is kept: the detail may hold another tenant's values.
Error errorFrom(std::string_view sqlState, std::string_view message);

}  // namespace kiln::postgres
