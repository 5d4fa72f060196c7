// Which files are taken for programs of MLIR's own dialects, and for which.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/frontend/dialects/read/form.h"
#include "tests/compiler_core/frontend/dialects/programs.h"

namespace kiln::dialects {
namespace {

using testing::HasSubstr;
using namespace testing_support;

std::string formNameOf(const std::string& bytes) {
  const auto program = readProgram(asBytes(bytes), "test.mlir");
  return program ? program->form : program.error().message;
}

TEST(DialectsForm, IsInTheBytes) {
  EXPECT_EQ(formOf(asBytes(square())), Form::kText);
  EXPECT_EQ(formOf(asBytes(bytecodeOf(square()))), Form::kBytecode);
  EXPECT_EQ(formOf(asBytes(std::string("// by hand\n\n") + square())), Form::kText);
  for (const std::string& other :
       {std::string(), std::string("module"), std::string("# tosa is not in this note"), std::string("ML"),
        std::string("\x08\x07\x12\x04tosa", 8)})
    EXPECT_EQ(formOf(asBytes(other)), Form::kNone) << other;
}

TEST(DialectsForm, SaysWhatItIs) {
  EXPECT_EQ(formNameOf(square()), "TOSA 1.0 text");
  EXPECT_EQ(formNameOf(bytecodeOf(square())), "TOSA 1.0 bytecode");
  const std::string fill = mainOf("%x: tensor<2xf32>, %c: tensor<f32>", "tensor<2xf32>",
                                  "%v = tensor.extract %c[] : tensor<f32>\n"
                                  "%0 = linalg.fill ins(%v : f32) outs(%x : tensor<2xf32>) -> tensor<2xf32>\n"
                                  "return %0 : tensor<2xf32>");
  EXPECT_EQ(formNameOf(fill), "linalg text");
  EXPECT_EQ(formNameOf(bytecodeOf(fill)), "linalg bytecode");
}

TEST(DialectsForm, BytecodeOfAnotherMlirIsRefusedByItsProducer) {
  EXPECT_EQ(producerOf(asBytes(bytecodeOf(square()))), "MLIR22.1.8");
  const std::string older = bytecodeOf(square(), "MLIR19.1.7");
  const auto program = readProgram(asBytes(older), "old.mlirbc");
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, Code::kUnimplemented);
  EXPECT_THAT(program.error().message, HasSubstr("old.mlirbc: the bytecode was written by MLIR19.1.7"));
  EXPECT_THAT(program.error().message, HasSubstr("give the program as text"));
  EXPECT_EQ(producerOf(asBytes(std::string("ML\xefR\x0d") + std::string(300, 'x'))), "");
}

TEST(DialectsForm, BothFormsAreOneProgram) {
  auto text = readProgram(asBytes(square()), "a");
  auto bytecode = readProgram(asBytes(bytecodeOf(square())), "b");
  ASSERT_TRUE(text && bytecode);
  EXPECT_EQ(bytecode->producer, "MLIR22.1.8");
  auto print = [](const Program& program) {
    std::string printed;
    llvm::raw_string_ostream stream(printed);
    mlir::ModuleOp module = program.module.get();
    module.print(stream);
    return printed;
  };
  EXPECT_EQ(print(*text), print(*bytecode));
}

}  // namespace
}  // namespace kiln::dialects
