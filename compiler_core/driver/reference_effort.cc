#include "compiler_core/driver/reference_effort.h"

#include <fmt/format.h>

#include "compiler_core/ir/profile.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/partition/cost.h"
#include "compiler_core/reference/evaluator.h"
#include "llvm/Support/MathExtras.h"

namespace kiln::driver {
namespace {

std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
  return llvm::SaturatingAdd(a, b);
}
std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  return llvm::SaturatingMultiply(a, b);
}

// Steps are set against a multiplication and addition of a contraction, which takes a nanosecond. Measured:
// elementwise operations take about four for each byte that they read or write, functions that are no single
// instruction 450 to 1,900 for each element.
constexpr std::uint64_t kByteSteps = 4, kFunctionSteps = 1000;

// Elements that the operation puts through such a function.
std::uint64_t functionsOf(mlir::Operation* op, llvm::ArrayRef<ir::Range> limits) {
  const auto elements = [&](mlir::Type type) {
    const auto tensor = ir::tensorType(type);
    return partition::mostBytes(type, limits) / dtypeBytes(*ir::dtypeOf(tensor.getElementType()));
  };
  if (auto unary = llvm::dyn_cast<ir::UnaryOp>(op))
    return partition::isTranscendental(unary.getKind()) ? elements(unary.getType()) : 0;
  if (auto binary = llvm::dyn_cast<ir::BinaryOp>(op))
    return binary.getKind() == ir::BinaryKind::Pow ? elements(binary.getType()) : 0;
  if (auto softmax = llvm::dyn_cast<ir::SoftmaxOp>(op)) return elements(softmax.getType());
  if (auto attention = llvm::dyn_cast<ir::AttentionOp>(op)) {
    // A score for each query and key: [B, H, L, E] and [B, H, S, E].
    const ir::Shape query = ir::shapeOf(ir::tensorType(attention.getQuery()));
    const auto most = [&](const ir::Dim& dim) {
      const std::int64_t size = ir::rangeOf(dim, limits).value_or(ir::Range{0, 0}).max;
      return static_cast<std::uint64_t>(std::max<std::int64_t>(size, 0));
    };
    std::uint64_t scores = most(ir::shapeOf(ir::tensorType(attention.getKey()))[2]);
    for (const ir::Dim& dim : llvm::ArrayRef(query).drop_back()) scores = times(scores, most(dim));
    return scores;
  }
  return 0;
}

// How often a loop runs, where a constant says it.
std::uint64_t tripsOf(ir::LoopOp loop) {
  if (loop.getCondition()) return 1;  // a run finds out when it ends, and the evaluator has its own limit
  auto constant = loop.getTrip() ? loop.getTrip().getDefiningOp<ir::ConstantOp>() : ir::ConstantOp();
  auto elements = constant ? llvm::dyn_cast<mlir::DenseIntElementsAttr>(constant.getValue()) : nullptr;
  if (!elements || elements.getNumElements() != 1) return 1;
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>((*elements.value_begin<llvm::APInt>()).getSExtValue(), 0));
}

class Estimator {
 public:
  explicit Estimator(mlir::ModuleOp module) {
    for (const ir::Symbol& symbol : ir::symbolsOf(module)) limits_.push_back(symbol.range);
  }

  ReferenceEffort run(mlir::func::FuncOp main) {
    mlir::Block& body = main.front();
    for (mlir::Value input : body.getArguments()) boundary(input);
    for (mlir::Value output : body.getTerminator()->getOperands()) boundary(output);
    std::uint64_t most = 0;
    for (mlir::Operation& op : body.without_terminator()) {
      const std::uint64_t steps = stepsOf(&op);
      effort_.steps = plus(effort_.steps, steps);
      if (steps > most) effort_.costliest = ir::nodeName(op.getLoc());
      most = std::max(most, steps);
    }
    // The caller holds the inputs as well.
    std::uint64_t inputs = 0;
    for (mlir::Value input : body.getArguments()) inputs = plus(inputs, bytesOf(input));
    aliveIn(body, inputs);
    return std::move(effort_);
  }

 private:
  std::uint64_t bytesOf(mlir::Value value) const { return partition::mostBytes(value.getType(), limits_); }
  void boundary(mlir::Value value) { effort_.boundaryBytes = plus(effort_.boundaryBytes, bytesOf(value)); }

  std::uint64_t stepsOf(mlir::Block& block) const {
    std::uint64_t steps = 0;
    for (mlir::Operation& op : block) steps = plus(steps, stepsOf(&op));
    return steps;
  }
  std::uint64_t stepsOf(mlir::Operation* op) const {
    if (auto loop = llvm::dyn_cast<ir::LoopOp>(op))
      return times(tripsOf(loop), stepsOf(loop.getBody().front()));
    if (auto branch = llvm::dyn_cast<ir::IfOp>(op))
      return std::max(stepsOf(branch.getThenBody().front()), stepsOf(branch.getElseBody().front()));
    const partition::Work work = partition::workOf(op);
    return plus(plus(work.flops, times(kByteSteps, work.bytes)),
                times(kFunctionSteps, functionsOf(op, limits_)));
  }

  // What is alive while `block` is evaluated beside `around` bytes, as the evaluator takes and releases it.
  void aliveIn(mlir::Block& block, std::uint64_t around) {
    llvm::DenseMap<mlir::Value, std::size_t> uses;
    std::uint64_t alive = around;
    const auto define = [&](mlir::Value value) {
      const auto count = static_cast<std::size_t>(std::distance(value.use_begin(), value.use_end()));
      if (count == 0) return;
      uses[value] = count;
      alive = plus(alive, bytesOf(value));
    };
    for (mlir::Value argument : block.getArguments()) define(argument);
    for (mlir::Operation& op : block.without_terminator()) {
      std::uint64_t wanted = alive;
      for (mlir::Value result : op.getResults()) wanted = plus(wanted, bytesOf(result));
      if (wanted > effort_.liveBytes) {
        effort_.liveBytes = wanted;
        effort_.largest = ir::nodeName(op.getLoc());
      }
      for (mlir::Region& region : op.getRegions())
        for (mlir::Block& inner : region) aliveIn(inner, alive);
      op.walk([&](mlir::Operation* inner) {
        for (mlir::Value operand : inner->getOperands()) {
          auto place = uses.find(operand);
          if (place == uses.end() || --place->second > 0) continue;
          alive -= std::min(alive, bytesOf(operand));
          uses.erase(place);
        }
      });
      for (mlir::Value result : op.getResults()) define(result);
    }
  }

  llvm::SmallVector<ir::Range> limits_;
  ReferenceEffort effort_;
};

// " at node 'conv1', which takes most"
std::string placeText(const std::string& node, const char* what) {
  return node.empty() ? "" : fmt::format("; node '{}' {}", node, what);
}

}  // namespace

ReferenceEffort effortOf(mlir::ModuleOp module) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>(ir::kMain);
  if (!main || main.isExternal() || !main.getBody().hasOneBlock()) return {};
  return Estimator(module).run(main);
}

Status checkEffort(const ReferenceEffort& effort) {
  if (effort.boundaryBytes > kMaxReferenceBoundary)
    return fail(Code::kResourceExhausted,
                fmt::format("inputs and outputs have {} bytes; the reference evaluator takes at most {}, "
                            "since fixtures keep them",
                            effort.boundaryBytes, kMaxReferenceBoundary));
  if (effort.liveBytes > static_cast<std::uint64_t>(reference::kMaxLiveBytes))
    return fail(
        Code::kResourceExhausted,
        fmt::format("{} bytes of tensors would be alive at once; the reference evaluator takes at most "
                    "{}{}",
                    effort.liveBytes, reference::kMaxLiveBytes,
                    placeText(effort.largest, "is where most are")));
  if (effort.steps > kMaxReferenceSteps)
    return fail(Code::kResourceExhausted,
                fmt::format("the reference evaluator would take {} steps (of about a nanosecond "
                            "each), of which it is given at most {}{}",
                            effort.steps, kMaxReferenceSteps, placeText(effort.costliest, "takes most")));
  return {};
}

}  // namespace kiln::driver
