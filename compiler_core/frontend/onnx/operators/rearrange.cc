// Operators that lay out elements anew: DepthToSpace, SpaceToDepth, Tile.
#include "compiler_core/frontend/graph/formula.h"
#include "compiler_core/frontend/onnx/operators/operators.h"

namespace kiln::onnx {
namespace {

tl::unexpected<Error> invalid(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

Result<std::int64_t> blockSize(NodeContext& node, Value input) {
  KILN_ASSIGN(std::int64_t block, node.integer("blocksize", 0));
  if (block < 1 || block > (std::int64_t{1} << 20)) return invalid("blocksize is " + std::to_string(block));
  if (rankOf(input) != 4) return invalid("the input has rank " + std::to_string(rankOf(input)) + ", not 4");
  return block;
}

Result<Dim> divided(NodeContext& node, const Dim& extent, std::int64_t by, const char* what) {
  if (auto result = ir::exactDiv(extent, Dim(by))) return *result;
  if (extent.isStatic()) return invalid(std::string("the blocks do not divide the ") + what);
  return fail(Code::kUnimplemented, std::string("whether the blocks divide the ") + what + " " +
                                        node.describe(extent) + " is not known at compile time");
}

Result<Values> depthToSpace(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(std::int64_t block, blockSize(node, input));
  KILN_ASSIGN(std::string mode, node.opset() >= 11 ? node.text("mode", "DCR") : Result<std::string>("DCR"));
  if (mode != "DCR" && mode != "CRD") return invalid("mode is '" + mode + "'");
  const Shape s = dimsOf(input);
  KILN_ASSIGN(Dim depth, divided(node, s[1], block * block, "channels"));
  const Dim b(block);
  const Term x(node, input);
  const Term spread = mode == "DCR"
                          ? x.reshape({s[0], b, b, depth, s[2], s[3]}).transpose({0, 3, 4, 1, 5, 2})
                          : x.reshape({s[0], depth, b, b, s[2], s[3]}).transpose({0, 1, 4, 2, 5, 3});
  KILN_ASSIGN(Value result, spread.reshape({s[0], depth, s[2] * b, s[3] * b}).value());
  return Values{result};
}

Result<Values> spaceToDepth(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(std::int64_t block, blockSize(node, input));
  const Shape s = dimsOf(input);
  KILN_ASSIGN(Dim rows, divided(node, s[2], block, "rows"));
  KILN_ASSIGN(Dim columns, divided(node, s[3], block, "columns"));
  const Dim b(block);
  const Term spread =
      Term(node, input).reshape({s[0], s[1], rows, b, columns, b}).transpose({0, 3, 5, 1, 2, 4});
  KILN_ASSIGN(Value result, spread.reshape({s[0], b * b * s[1], rows, columns}).value());
  return Values{result};
}

Result<Values> tile(NodeContext& node) {
  KILN_ASSIGN(Value input, node.input(0));
  KILN_ASSIGN(Value times, node.input(1));
  auto repeats = NodeContext::symbolicIntegers(times);
  if (!repeats) return NodeContext::notConstant("repeats of Tile", times);
  const Shape shape = dimsOf(input);
  if (repeats->size() != shape.size()) return invalid("repeats and the input's rank differ");
  // A dimension that is repeated gets one of its own before it.
  Shape apart, repeated, joined;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Dim& count = (*repeats)[i];
    if (count.isStatic() && count.value() < 0) return invalid("repeats are negative");
    if (!(count == Dim(1))) {
      apart.push_back(1);
      repeated.push_back(count);
    }
    apart.push_back(shape[i]);
    repeated.push_back(shape[i]);
    joined.push_back(shape[i] * count);
  }
  KILN_ASSIGN(Value result, Term(node, input).reshape(apart).broadcast(repeated).reshape(joined).value());
  return Values{result};
}

constexpr Operator kRows[] = {
    {"", "DepthToSpace", 6, kMaxOpset, depthToSpace},
    {"", "SpaceToDepth", 6, kMaxOpset, spaceToDepth},
    {"", "Tile", 6, kMaxOpset, tile},
};

}  // namespace

std::span<const Operator> rearrangeOperators() {
  return kRows;
}

}  // namespace kiln::onnx
