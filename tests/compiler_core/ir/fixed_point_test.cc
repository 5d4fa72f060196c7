#include "compiler_core/ir/fixed_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

namespace kiln::ir {
namespace {

using ::testing::HasSubstr;

// Counts an attribute of modules up to `end`, one step for each time that it is applied.
struct Count : mlir::OpRewritePattern<mlir::ModuleOp> {
  Count(mlir::MLIRContext* context, std::int64_t last) : OpRewritePattern(context), end(last) {}
  llvm::LogicalResult matchAndRewrite(mlir::ModuleOp module, mlir::PatternRewriter& rewriter) const override {
    auto count = module->getAttrOfType<mlir::IntegerAttr>("count");
    if (!count || count.getInt() == end) return mlir::failure();
    rewriter.modifyOpInPlace(
        module, [&] { module->setAttr("count", rewriter.getI64IntegerAttr(count.getInt() + 1)); });
    return mlir::success();
  }
  std::int64_t end;
};

// What is said where patterns count to `end` in a module inside of another; "" where they come to an end.
std::string complaint(std::int64_t end) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::OpBuilder builder(&context);
  mlir::OwningOpRef<mlir::ModuleOp> outer = mlir::ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToStart(outer->getBody());
  auto inner = mlir::ModuleOp::create(builder, builder.getUnknownLoc());
  inner->setAttr("count", builder.getI64IntegerAttr(0));
  std::string said;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic& diagnostic) {
    said += diagnostic.str();
    return mlir::success();
  });
  mlir::RewritePatternSet patterns(&context);
  patterns.add<Count>(&context, end);
  const bool ended = succeeded(applyToFixedPoint(*outer, std::move(patterns)));
  EXPECT_EQ(ended, said.empty());
  if (ended) EXPECT_EQ(inner->getAttrOfType<mlir::IntegerAttr>("count").getInt(), end);
  return said;
}

TEST(FixedPoint, PatternsComeToAnEnd) {
  EXPECT_EQ(complaint(0), "");
  EXPECT_EQ(complaint(5), "");
}

TEST(FixedPoint, PatternsThatDoNotSayMore) {
  EXPECT_THAT(complaint(std::int64_t{1} << 40), HasSubstr("did not end"));
}

}  // namespace
}  // namespace kiln::ir
