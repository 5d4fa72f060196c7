// Facts between stages: what is there is read typed, what is missing is an error that says so.
#include "compiler_core/ir/attributes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

namespace kiln::ir {
namespace {

using testing::ElementsAre;

class Attributes : public testing::Test {
 protected:
  Attributes() { context_.loadDialect<KilnDialect, mlir::func::FuncDialect>(); }

  // The function of a module that declares it with these attributes.
  mlir::func::FuncOp function(const std::string& attributes) {
    const std::string text =
        "func.func private @f(index {kiln.symbol = 1 : i64}) attributes {" + attributes + "}";
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
    return module_->lookupSymbol<mlir::func::FuncOp>("f");
  }

  mlir::MLIRContext context_{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::vector<std::string> errors_;
  mlir::ScopedDiagnosticHandler handler_{&context_, [this](mlir::Diagnostic& diagnostic) {
                                           errors_.push_back(diagnostic.str());
                                           return mlir::success();
                                         }};
};

TEST_F(Attributes, AreReadAsTheyWereWritten) {
  auto f = function("");
  setArena(f, {64, 192, 128, 3});
  const auto arena = arenaOf(f);
  ASSERT_TRUE(succeeded(arena));
  EXPECT_EQ(arena->bytes, 64u);
  EXPECT_EQ(arena->totalBytes, 192u);
  EXPECT_EQ(arena->liveBytes, 128u);
  EXPECT_EQ(arena->buffers, 3);
  EXPECT_EQ(f->getAttrOfType<mlir::IntegerAttr>("kiln.arena_bytes").getInt(), 64);
  EXPECT_THAT(errors_, ElementsAre());
}

// Whoever prints an operation in MLIR's generic form, as a diagnostic does, has its dialect print the
// attributes.
TEST_F(Attributes, ThoseOfOperationsArePrintedAndReadInTheGenericForm) {
  const std::string text = R"(func.func @f(%0: tensor<2xf32>) -> tensor<2xf32> {
    %1 = kiln.unary <relu> %0 : tensor<2xf32>
    return %1 : tensor<2xf32>
  })";
  const auto printed = [](mlir::ModuleOp module) {
    std::string out;
    llvm::raw_string_ostream stream(out);
    module->print(stream, mlir::OpPrintingFlags().printGenericOpForm());
    return out;
  };
  const auto first = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
  ASSERT_TRUE(first);
  EXPECT_THAT(printed(*first), testing::HasSubstr("#kiln.unary_kind<relu>"));
  const auto again = mlir::parseSourceString<mlir::ModuleOp>(printed(*first), &context_);
  ASSERT_TRUE(again);
  EXPECT_EQ(printed(*again), printed(*first));
}

TEST_F(Attributes, AMissingOneIsAnErrorAndNoNumber) {
  auto f = function(
      "kiln.arena_bytes = 0 : i64, kiln.arena_total_bytes = 0 : i64, kiln.arena_live_bytes = 0 : i64");
  EXPECT_TRUE(failed(arenaOf(f)));
  EXPECT_TRUE(failed(SourceAttr::require(f, 0)));
  EXPECT_THAT(errors_, ElementsAre("'func.func' op @f lacks kiln.arena_buffers",
                                   "'func.func' op @f lacks kiln.source on argument 0"));
  const auto target = TargetAttr::expect(f);
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().code, Code::kInternal);
  EXPECT_EQ(target.error().message, "'func.func' op @f lacks kiln.target");
}

TEST_F(Attributes, OneOfAnotherTypeIsMissing) {
  auto f = function("kiln.target = 1 : i64");
  EXPECT_TRUE(TargetAttr::isOn(f));
  EXPECT_FALSE(TargetAttr::get(f));
  EXPECT_TRUE(failed(TargetAttr::require(f)));
  EXPECT_EQ(SymbolAttr::get(f, 0).getInt(), 1);
}

}  // namespace
}  // namespace kiln::ir
