#include "compiler_core/schedule/strategies/sums/strategy.h"

#include "compiler_core/ir/attributes.h"
#include "compiler_core/schedule/emit/cpu/block_options.h"
#include "compiler_core/schedule/strategies/contract/processor_form.h"
#include "compiler_core/schedule/strategies/sums/sums.h"

namespace kiln::schedule {
namespace {

class SumPlan : public Plan {
 public:
  SumPlan(FusedReduction row, const BlockOptions& options)
      : row_(std::move(row)), shape_(options.shape), contraction_(options.contraction) {}
  llvm::SmallVector<mlir::Operation*> parts() const override {
    return {row_.parts.begin(), row_.parts.end()};
  }
  void emit(mlir::RewriterBase& rewriter) override { emitSum(rewriter, row_, shape_, contraction_); }

 private:
  FusedReduction row_;
  VectorShape shape_;
  bool contraction_;
};

std::unique_ptr<Plan> plan(mlir::linalg::LinalgOp op, const BlockOptions& options,
                           const llvm::DenseSet<mlir::Operation*>& taken) {
  if (!ir::PartialsAttr::isOn(op)) return nullptr;
  return std::make_unique<SumPlan>(findFusedReduction(op, options.shape, taken), options);
}

// Of all reductions.
constexpr TileRule kTiles[] = {
    {KernelKind::kReduction,
     "reduction",
     {{0, 0, 1}, {1, 1 << 14, 1, true}, {1, 1 << 14, 1, true}},
     1 << 17,
     0,
     "each result is made by one task; what a task goes over several times stays in L2, and a row in L1"},
};

std::vector<std::int64_t> sizesTried(const Site& site, std::size_t loop, std::int64_t chosen) {
  if (site.shape.kind != KernelKind::kReduction) return {};
  return sizesAround(site, loop, chosen);
}

constexpr ProcessorForm kForm = {.plan = plan};

}  // namespace

constexpr Strategy kSumsStrategy = {.tiles = kTiles, .sizesTried = sizesTried, .processor = &kForm};

}  // namespace kiln::schedule
