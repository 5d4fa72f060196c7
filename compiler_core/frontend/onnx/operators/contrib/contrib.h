// Operators of the domain com.microsoft, after their published contracts: docs/ContribOperators.md of
// microsoft/onnxruntime. What those leave open is as ONNX Runtime's CPU provider answers, which
// tests/conformance/contrib compares with.
#pragma once

#include "compiler_core/frontend/onnx/operators/operators.h"

namespace kiln::onnx {

inline constexpr std::string_view kMicrosoft = "com.microsoft";

inline tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}
// kUnimplemented where the node has the input, which is called `name` in the contract.
inline Status refuseInput(const NodeContext& node, std::size_t index, std::string_view name) {
  if (!node.hasInput(index)) return {};
  return fail(Code::kUnimplemented,
              "input " + std::to_string(index) + " '" + std::string(name) + "' is not served");
}
// kUnimplemented where an integer attribute has another value than the one that is served.
inline Status serveOnly(NodeContext& node, std::string_view name, std::int64_t value) {
  KILN_ASSIGN(std::int64_t given, node.integer(name, value));
  if (given == value) return {};
  return fail(Code::kUnimplemented,
              "attribute '" + std::string(name) + "' of " + std::to_string(given) + " is not served");
}
// How many heads; kInvalidArgument where the attribute is missing or not positive.
inline Result<std::int64_t> headsOf(NodeContext& node, std::string_view name) {
  KILN_ASSIGN(std::int64_t heads, node.integer(name, 0));
  if (heads < 1)
    return fail(Code::kInvalidArgument, "attribute '" + std::string(name) + "' is " + std::to_string(heads));
  return heads;
}

// The families.
std::span<const Operator> contribActivationOperators();
std::span<const Operator> contribAttentionOperators();
std::span<const Operator> contribConvolutionOperators();
std::span<const Operator> contribGroupQueryOperators();
std::span<const Operator> contribLinearOperators();
std::span<const Operator> contribNormalizationOperators();
std::span<const Operator> contribQuantisedOperators();

}  // namespace kiln::onnx
