#include "compiler_core/reference/evaluator.h"

#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/types.h"
#include "compiler_core/reference/irregular.h"
#include "compiler_core/reference/kernels.h"
#include "compiler_core/reference/symbols.h"
#include "llvm/ADT/TypeSwitch.h"

namespace kiln::reference {
namespace {

std::string place(mlir::Operation* operation) {
  std::string name = ir::nodeName(operation->getLoc());
  return operation->getName().getStringRef().str() + (name.empty() ? "" : " of node '" + name + "'");
}

Status checkSize(mlir::Operation* operation) {
  for (mlir::Type type : operation->getResultTypes()) {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    auto bytes = tensor && tensor.hasStaticShape() ? ir::checkedBytes(tensor) : std::nullopt;
    if (!bytes || *bytes > kMaxLiveBytes)
      return fail(Code::kResourceExhausted,
                  place(operation) + ": a result of more than 8 GiB cannot be evaluated");
  }
  return {};
}

// The bytes of all tensors that are alive, of bodies and of what is around them.
class Memory {
 public:
  void take(const HostTensor& tensor) { live_ += static_cast<std::int64_t>(tensor.bytes.size()); }
  void release(const HostTensor& tensor) { live_ -= static_cast<std::int64_t>(tensor.bytes.size()); }

  // Before an operation whose results' sizes were checked one by one.
  Status check(mlir::Operation* operation) const {
    std::int64_t wanted = live_;
    for (mlir::Type type : operation->getResultTypes()) wanted += *ir::checkedBytes(ir::tensorType(type));
    if (wanted <= kMaxLiveBytes) return {};
    return fail(Code::kResourceExhausted, place(operation) + ": " + std::to_string(wanted) +
                                              " bytes of tensors at once, more than the 8 GiB that can be "
                                              "evaluated");
  }

 private:
  std::int64_t live_ = 0;
};

constexpr std::int64_t kMaxIterations = std::int64_t{1} << 24;

// Evaluates one block; values die with their last use. Bodies see the values around them through `outer`.
class BlockEvaluator {
 public:
  BlockEvaluator(const ir::WeightTable& weights, SymbolValues& symbols, Memory& memory,
                 const BlockEvaluator* outer = nullptr)
      : weights_(weights), symbols_(symbols), memory_(memory), outer_(outer) {}
  ~BlockEvaluator() {
    for (const auto& [value, live] : live_) memory_.release(live.tensor);
  }
  BlockEvaluator(const BlockEvaluator&) = delete;
  BlockEvaluator& operator=(const BlockEvaluator&) = delete;

  // The terminator's operands.
  Result<std::vector<HostTensor>> run(mlir::Block& block, std::vector<HostTensor> arguments) {
    for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
      define(argument, std::move(value));
    for (mlir::Operation& operation : block.without_terminator()) {
      if (auto truncate = llvm::dyn_cast<ir::TruncateOp>(operation))
        symbols_.bind(truncate, *find(truncate.getInput()), *find(truncate.getCount()));
      symbols_.resolve(operation);
      KILN_TRY(checkSize(&operation));
      KILN_TRY(memory_.check(&operation));
      KILN_ASSIGN(std::vector<HostTensor> results, step(operation));
      // Inner operations use what is around them once each, however often they ran.
      operation.walk([&](mlir::Operation* inner) {
        for (mlir::Value operand : inner->getOperands()) use(operand);
      });
      for (auto [result, value] : llvm::zip(operation.getResults(), results))
        define(result, std::move(value));
    }
    std::vector<HostTensor> results;
    for (mlir::Value operand : block.getTerminator()->getOperands()) results.push_back(*find(operand));
    return results;
  }

 private:
  struct Live {
    HostTensor tensor;
    std::size_t uses = 0;
  };

  void define(mlir::Value value, HostTensor tensor) {
    auto uses = static_cast<std::size_t>(std::distance(value.use_begin(), value.use_end()));
    if (!uses) return;
    memory_.take(tensor);
    live_[value] = {std::move(tensor), uses};
  }
  void use(mlir::Value value) {
    auto it = live_.find(value);
    if (it == live_.end() || --it->second.uses > 0) return;
    memory_.release(it->second.tensor);
    live_.erase(it);
  }
  const HostTensor* find(mlir::Value value) const {
    auto it = live_.find(value);
    return it != live_.end() ? &it->second.tensor : outer_->find(value);
  }
  bool isTrue(mlir::Value value) const { return find(value)->bytes[0] != 0; }

  Result<std::vector<HostTensor>> loop(ir::LoopOp operation) {
    std::vector<HostTensor> carried;
    for (mlir::Value value : operation.getCarried()) carried.push_back(*find(value));
    const std::int64_t trip =
        operation.getTrip() ? *find(operation.getTrip())->data<std::int64_t>() : kMaxIterations + 1;
    bool more = !operation.getCondition() || isTrue(operation.getCondition());
    std::int64_t iteration = 0;
    for (; more && iteration < trip; ++iteration) {
      if (iteration == kMaxIterations)
        return fail(Code::kResourceExhausted, place(operation) + ": more than " +
                                                  std::to_string(kMaxIterations) +
                                                  " iterations cannot be evaluated");
      carried.insert(carried.begin(), HostTensor::of(DType::kI64, {}, std::vector<std::int64_t>{iteration}));
      KILN_ASSIGN(carried, BlockEvaluator(weights_, symbols_, memory_, this)
                               .run(operation.getBody().front(), std::move(carried)));
      if (!operation.getCondition()) continue;
      more = carried.front().bytes[0] != 0;
      carried.erase(carried.begin());
    }
    carried.push_back(HostTensor::of(DType::kI64, {}, std::vector<std::int64_t>{iteration}));
    return carried;
  }

  Result<std::vector<HostTensor>> step(mlir::Operation& operation) {
    if (auto weight = llvm::dyn_cast<ir::WeightOp>(operation)) {
      auto value = constantValue(weight.getResult(), weights_);
      if (!value)
        return fail(Code::kInvalidArgument,
                    place(&operation) + ": the weight table has no such entry of this type");
      return std::vector<HostTensor>{std::move(*value)};
    }
    if (auto branch = llvm::dyn_cast<ir::IfOp>(operation)) {
      mlir::Region& body = isTrue(branch.getCondition()) ? branch.getThenBody() : branch.getElseBody();
      return BlockEvaluator(weights_, symbols_, memory_, this).run(body.front(), {});
    }
    if (auto repeated = llvm::dyn_cast<ir::LoopOp>(operation)) return loop(repeated);
    llvm::SmallVector<const HostTensor*> operands;
    for (mlir::Value operand : operation.getOperands()) operands.push_back(find(operand));
    if (auto fused = llvm::dyn_cast<ir::FusedOp>(operation)) {
      std::vector<HostTensor> arguments;
      for (const HostTensor* operand : operands) arguments.push_back(*operand);
      return BlockEvaluator(weights_, symbols_, memory_).run(fused.getBody().front(), std::move(arguments));
    }
    return evaluateAll(&operation, operands);
  }

  const ir::WeightTable& weights_;
  SymbolValues& symbols_;
  Memory& memory_;
  const BlockEvaluator* outer_;
  llvm::DenseMap<mlir::Value, Live> live_;
};

}  // namespace

HostTensor toHostTensor(const ir::Weight& weight) {
  return {weight.dtype, weight.shape, {weight.bytes.begin(), weight.bytes.end()}};
}

std::optional<HostTensor> constantValue(mlir::Value value, const ir::WeightTable& weights) {
  if (auto constant = value.getDefiningOp<ir::ConstantOp>()) return evaluate(constant, Operands{});
  auto weight = value.getDefiningOp<ir::WeightOp>();
  if (!weight) return std::nullopt;
  const ir::Weight* entry = weights.find(static_cast<std::int64_t>(weight.getIndex()));
  auto type = ir::tensorType(value);
  if (!entry || ir::dtypeOf(type.getElementType()) != entry->dtype ||
      type.getShape() != llvm::ArrayRef(entry->shape))
    return std::nullopt;
  return toHostTensor(*entry);
}

Result<std::vector<HostTensor>> evaluateAll(mlir::Operation* operation, Operands operands) {
  KILN_TRY(checkSize(operation));
  using All = Result<std::vector<HostTensor>>;
  return llvm::TypeSwitch<mlir::Operation*, All>(operation)
      .Case<ir::SortOp, ir::CompressOp, ir::UniqueOp, ir::NmsOp>(
          [&](auto typed) -> All { return evaluate(typed, operands); })
      .Default([&](mlir::Operation* other) -> All {
        KILN_ASSIGN(HostTensor result, evaluateOperation(other, operands));
        return std::vector<HostTensor>{std::move(result)};
      });
}

Result<HostTensor> evaluateOperation(mlir::Operation* operation, Operands operands) {
  KILN_TRY(checkSize(operation));
  return llvm::TypeSwitch<mlir::Operation*, Result<HostTensor>>(operation)
      .Case<ir::UnaryOp, ir::BinaryOp, ir::CompareOp, ir::SelectOp, ir::CastOp, ir::BitcastOp,
            ir::BatchNormOp, ir::ConstantOp, ir::BroadcastOp, ir::ReshapeOp, ir::TransposeOp, ir::ConcatOp,
            ir::SliceOp, ir::GatherOp, ir::IotaOp, ir::PadOp, ir::ReduceOp, ir::SoftmaxOp, ir::MatmulOp,
            ir::AttentionOp, ir::ConvOp, ir::PoolOp, ir::ScatterOp, ir::ArgReduceOp, ir::CumulativeOp,
            ir::ShapeValueOp, ir::TruncateOp, ir::DequantiseOp>(
          [&](auto typed) -> Result<HostTensor> { return evaluate(typed, operands); })
      .Default([](mlir::Operation* other) -> Result<HostTensor> {
        return fail(Code::kUnimplemented, place(other) + " is no operation of the graph level");
      });
}

Result<std::vector<HostTensor>> evaluate(mlir::ModuleOp module, const ir::WeightTable& weights,
                                         const std::vector<HostTensor>& inputs) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>(ir::kMain);
  if (!main || main.isExternal() || !main.getBody().hasOneBlock())
    return fail(Code::kInvalidArgument, "the module has no function @main of one block");
  if (inputs.size() != main.getNumArguments())
    return fail(Code::kInvalidArgument, "the model has " + std::to_string(main.getNumArguments()) +
                                            " inputs; " + std::to_string(inputs.size()) + " were given");
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    auto type = ir::tensorType(main.getArgument(i));
    auto dtype = ir::dtypeOf(type.getElementType());
    if (!dtype)
      return fail(Code::kUnimplemented,
                  "input " + std::to_string(i) + " has an element type outside the dialect");
    if (inputs[i].dtype == *dtype && llvm::ArrayRef(inputs[i].shape) == type.getShape()) continue;
    auto name = ir::NameAttr::get(main, i);
    return fail(Code::kInvalidArgument, "input '" + (name ? name.str() : std::to_string(i)) + "': expected " +
                                            ir::typeText(*dtype, type.getShape()) + ", given " +
                                            ir::typeText(inputs[i].dtype, inputs[i].shape));
  }
  const mlir::OwningOpRef<mlir::ModuleOp> copy = cloneIfSymbolic(module);
  if (copy) main = copy.get().lookupSymbol<mlir::func::FuncOp>(ir::kMain);
  SymbolValues symbols;
  Memory memory;
  return BlockEvaluator(weights, symbols, memory).run(main.getBody().front(), inputs);
}

}  // namespace kiln::reference
