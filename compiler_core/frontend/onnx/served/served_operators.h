// Which operators Kiln imports, for those who do not import: the rows of operators.h without what they make.
// No MLIR. A test holds both against each other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kiln::onnx {

// Most operators are served from opset 6 on; a row says from where.
inline constexpr std::int64_t kMinOpset = 1, kMaxOpset = 27;

struct ServedOperator {
  std::string_view domain;  // "" is ONNX
  std::string_view name;
  std::int64_t since, until;  // opset versions, inclusive

  auto operator<=>(const ServedOperator&) const = default;
};

// Ordered.
std::span<const ServedOperator> servedOperators();
// Why no row serves this domain and name for `opset`, saying what is served; "" where one does.
std::string whyNotServed(std::string_view domain, std::string_view name, std::int64_t opset);

}  // namespace kiln::onnx
