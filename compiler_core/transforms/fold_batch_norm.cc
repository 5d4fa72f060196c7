#include <cmath>

#include "compiler_core/ir/types.h"
#include "compiler_core/transforms/constants.h"
#include "compiler_core/transforms/passes.h"
#include "mlir/Pass/Pass.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

namespace kiln::transforms {

#define GEN_PASS_DEF_FOLDBATCHNORMPASS
#include "compiler_core/transforms/weight_passes.h.inc"

namespace {

using reference::HostTensor;

// y = (conv(x, w) + b - mean) * f + offset with f = scale / sqrt(variance + epsilon), so w' = w * f and
// b' = (b - mean) * f + offset, per output channel.
template <class T>
void foldInto(HostTensor& filter, HostTensor& bias, const HostTensor (&parameters)[4], double epsilon) {
  const T *scale = parameters[0].data<T>(), *offset = parameters[1].data<T>(),
          *mean = parameters[2].data<T>(), *variance = parameters[3].data<T>();
  const std::int64_t channels = filter.shape[0], each = channels ? filter.elements() / channels : 0;
  for (std::int64_t c = 0; c < channels; ++c) {
    const double factor =
        static_cast<double>(scale[c]) / std::sqrt(static_cast<double>(variance[c]) + epsilon);
    T* window = filter.data<T>() + c * each;
    for (std::int64_t i = 0; i < each; ++i)
      window[i] = static_cast<T>(static_cast<double>(window[i]) * factor);
    T& shift = bias.data<T>()[c];
    shift = static_cast<T>((static_cast<double>(shift) - static_cast<double>(mean[c])) * factor +
                           static_cast<double>(offset[c]));
  }
}

class FoldBatchNorm : public impl::FoldBatchNormPassBase<FoldBatchNorm> {
 public:
  explicit FoldBatchNorm(ir::WeightTable& weights) : weights_(&weights) {}

  void runOnOperation() final {
    llvm::SmallVector<ir::BatchNormOp> found;
    getOperation().walk([&](ir::BatchNormOp op) { found.push_back(op); });
    for (ir::BatchNormOp op : found) fold(op);
  }

 private:
  void fold(ir::BatchNormOp norm) {
    auto conv = norm.getInput().getDefiningOp<ir::ConvOp>();
    if (!conv || !conv->hasOneUse() || conv->getBlock() != norm->getBlock()) return;
    auto filter = readConstant(conv.getFilter(), *weights_);
    if (!filter) return;
    std::optional<HostTensor> bias = HostTensor::zeros(filter->dtype, {filter->shape[0]});
    if (conv.getBias()) bias = readConstant(conv.getBias(), *weights_);
    HostTensor parameters[4];
    for (unsigned i = 0; i < 4; ++i) {
      auto value = readConstant(norm->getOperand(i + 1), *weights_);
      if (!value) return;
      parameters[i] = std::move(*value);
    }
    if (!bias) return;
    const double epsilon = norm.getEpsilon().convertToDouble();
    switch (filter->dtype) {
      case DType::kF32:
        foldInto<float>(*filter, *bias, parameters, epsilon);
        break;
      case DType::kF64:
        foldInto<double>(*filter, *bias, parameters, epsilon);
        break;
      default:
        return;  // of 16 bits: the rounding of a scaled filter would be felt
    }

    mlir::OpBuilder builder(norm);
    auto location = builder.getFusedLoc({conv.getLoc(), norm.getLoc()});
    const std::string suffix = (llvm::Twine("+") + ir::nodeName(norm.getLoc())).str();
    std::string name = weightName(conv.getFilter(), *weights_);
    if (name.empty()) name = ir::nodeName(conv.getLoc());
    mlir::Value newFilter =
        makeConstant(builder, conv.getFilter().getLoc(), std::move(*filter), *weights_, name + suffix);
    mlir::Value newBias =
        makeConstant(builder, norm.getLoc(), std::move(*bias), *weights_, name + suffix + ".bias");
    auto folded = ir::ConvOp::create(builder, location, norm.getType(), conv.getInput(), newFilter, newBias,
                                     conv.getStridesAttr(), conv.getPadsAttr(), conv.getDilationsAttr(),
                                     conv.getGroupAttr());
    norm.replaceAllUsesWith(folded.getResult());
    norm.erase();
    conv.erase();
  }

  ir::WeightTable* weights_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createFoldBatchNormPass(ir::WeightTable& weights) {
  return std::make_unique<FoldBatchNorm>(weights);
}

}  // namespace kiln::transforms
