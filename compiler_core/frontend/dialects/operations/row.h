// A row of the tables of operations that are imported: TOSA's, and those of linalg and its kin.
#pragma once

#include <string_view>

#include "compiler_core/frontend/dialects/operations/context.h"

namespace kiln::dialects {

// Makes the operation's results, in order. The operation has been verified by its dialect, its operands and
// results have types of `kiln`. kInvalidArgument: the program is wrong; kUnimplemented: Kiln cannot serve
// this use. Both without the operation's place, which the caller adds.
using ImportFunction = Result<Values> (*)(OperationContext& op);

struct Row {
  std::string_view name;  // "tosa.add"
  ImportFunction import;
};

}  // namespace kiln::dialects
