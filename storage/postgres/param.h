// Param: one value of a statement. Values travel beside the SQL text, never inside it.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::postgres {

// Built implicitly from the types below; std::nullopt and an empty optional are NULL. The server infers the
// type from the statement, except for bytes, which are bytea in binary form. Text with a NUL, where libpq
// would end it, and text that is not UTF-8 fail the statement (check()).
class Param {
 public:
  Param(std::nullopt_t) : isNull_(true) {}
  Param(bool value) : text_(value ? "t" : "f") {}
  template <std::integral T>
  Param(T value) : text_(std::to_string(value)) {}
  Param(double value);
  Param(const char* value) : text_(value) {}
  Param(std::string value) : text_(std::move(value)) {}
  Param(std::string_view value) : text_(value) {}
  Param(Bytes value);                                           // bytea
  Param(TimePoint value);                                       // timestamptz
  Param(const std::vector<std::string>& values);                // text[]
  Param(const std::vector<std::int64_t>& values);               // bigint[], integer[]
  Param(const std::vector<std::vector<std::uint8_t>>& values);  // bytea[]
  template <class T>
  Param(const std::optional<T>& value) : Param(value ? Param(*value) : Param(std::nullopt)) {}

  const char* data() const { return isNull_ ? nullptr : text_.c_str(); }
  int size() const { return static_cast<int>(text_.size()); }
  // kInvalidArgument, quoting the text, unless the server would get it as it is.
  Status check() const;
  bool isBinary() const { return isBinary_; }

 private:
  std::string text_;
  bool isNull_ = false;
  bool isBinary_ = false;
};

}  // namespace kiln::postgres
