// Members of JSON objects whose kinds a schema states. Errors are kInvalidArgument and name the member; the
// caller adds where it stands. Not for MLIR units: JSON is read here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler_core/frontend/torch/program/expression.h"
#include "manifest/base/result.h"
#include "manifest/json/json.h"

namespace kiln::torch {

tl::unexpected<Error> malformed(const std::string& what);

// Null where the member is absent or null.
const Json* find(const Json& object, std::string_view name);
Result<const Json*> arrayOf(const Json& object, std::string_view name);
Result<const Json*> objectOf(const Json& object, std::string_view name);
Result<std::string> textOf(const Json& object, std::string_view name);
Result<std::int64_t> integerOf(const Json& object, std::string_view name);
Result<bool> flagOf(const Json& object, std::string_view name);

Result<std::int64_t> asInteger(const Json& value);
// A name in the graph: UTF-8 (JSON is), not empty, at most 4 KiB.
Result<std::string> asName(const Json& value);
// A number, or one of the texts by which JSON says what it has no number for: "NaN", "Infinity", "-Infinity".
Result<double> asReal(const Json& value);

// An object of the schema's unions: one member, whose name says what it is.
struct Tagged {
  std::string tag;
  const Json* value = nullptr;
};
Result<Tagged> asUnion(const Json& value);

// A SymInt of the schema: a number or an expression.
Result<Expression> asSymInt(const Json& value);

}  // namespace kiln::torch
