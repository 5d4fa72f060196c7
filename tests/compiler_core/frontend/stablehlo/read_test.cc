// The door: which bytes are StableHLO, and in which form.
#include "compiler_core/frontend/stablehlo/read.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/frontend/stablehlo/form.h"
#include "tests/compiler_core/frontend/stablehlo/dump.h"
#include "tests/compiler_core/frontend/stablehlo/fixture.h"

namespace kiln::stablehlo {
namespace {

using testing::HasSubstr;

Result<Program> read(std::string bytes) {
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  return readProgram(asBytes(*owner), "model", owner);
}

TEST(Door, TellsFormsByTheirBytes) {
  const test::Fixture artifact = test::fixture("operations.1.17.0.mlirbc");
  EXPECT_EQ(formOf(artifact.bytes()), Form::kBytecode);
  EXPECT_EQ(formOf(asBytes(test::jaxExport(*artifact.content, 10))), Form::kJaxExport);
  EXPECT_EQ(formOf(test::fixture("operations.mlir").bytes()), Form::kText);
  EXPECT_EQ(
      formOf(asBytes(
          "// a comment\n\n module { func.func @f() { %0 = chlo.constant dense<1> : tensor<i32> return } }")),
      Form::kText);
  const std::string raw = std::string("ML\xEFR\x0DMLIR22.1.8") + '\0' + "..stablehlo" + '\0';
  EXPECT_EQ(formOf(asBytes(raw)), Form::kBytecode);
}

TEST(Door, OtherFilesAreNotTaken) {
  const std::string tosaBytecode = std::string("ML\xEFR\x0DMLIR22.1.8") + '\0' + "..tosa" + '\0';
  for (const std::string& bytes :
       {std::string(), std::string("\0\0\0\0", 4), std::string("PK\x03\x04"), std::string(1000, '\0'),
        tosaBytecode,
        std::string("module { func.func @f(%a: tensor<f32>) { %0 = tosa.abs %a : (tensor<f32>) -> "
                    "tensor<f32> return } }"),
        std::string("the module stablehlo.add is described here"), std::string("\x08\x0a\x12\x04test")})
    EXPECT_FALSE(recognises(asBytes(bytes))) << bytes;
  EXPECT_THAT(read("nothing").error().message, HasSubstr("model: no StableHLO"));
}

// jit(lambda x: x) and what else hands its arguments on.
TEST(Door, ProgramsWithoutAnyOperationAreTaken) {
  const std::string lambda =
      "module @jit__lambda_ attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {\n"
      "  func.func public @main(%arg0: tensor<2xf32> loc(\"tosa.x\"), %arg1: tensor<i32>) -> (tensor<i32> "
      "{jax.result_info = \"result[0].linalg.x\"}, tensor<2xf32>) {\n"
      "    return %arg1, %arg0 : tensor<i32>, tensor<2xf32> // torch.nothing\n  }\n}\n";
  for (const std::string& text :
       {lambda, std::string("func.func @main(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }"),
        std::string(
            "module { func.func @a.b(%x.1: tensor<f32>) -> tensor<f32> { func.return %x.1 : tensor<f32> } }"),
        std::string("\"builtin.module\"() ({ \"func.func\"() <{function_type = (tensor<f32>) -> tensor<f32>, "
                    "sym_name = "
                    "\"main\"}> ({ ^bb0(%a: tensor<f32>): \"func.return\"(%a) : (tensor<f32>) -> () }) : () "
                    "-> () }) : () -> ()")}) {
    const auto program = read(text);
    ASSERT_TRUE(program) << text << ": " << program.error().message;
    EXPECT_EQ(program->form, "StableHLO text");
  }
  for (const char* text :
       {"module {}", "module { func.func @main(%a: tensor<f32>) { %0 = tosa.abs %a return } }",
        "module { func.func @main(%a: tensor<f32>) { \"tosa.abs\"(%a) return } }",
        "module attributes {mhlo.x = 1} { func.func @main(%a: !torch.int) { return } }",
        "#m = #linalg.iterator_type<parallel>\nmodule { func.func @main() { return } }"})
    EXPECT_FALSE(recognises(asBytes(text))) << text;
}

TEST(Door, ReadsEveryForm) {
  const test::Fixture artifact = test::fixture("operations.0.14.0.mlirbc");
  auto bytecode = read(*artifact.content);
  ASSERT_TRUE(bytecode) << bytecode.error().message;
  EXPECT_EQ(bytecode->form, "StableHLO bytecode 0.14.0");
  auto exported = read(test::jaxExport(*artifact.content, 9));
  ASSERT_TRUE(exported) << exported.error().message;
  EXPECT_EQ(exported->form, "JAX export 9 with StableHLO bytecode 0.14.0");
  EXPECT_THAT(exported->platforms, testing::ElementsAre("tpu", "cpu"));
  EXPECT_EQ(test::dump(*exported), test::dump(*bytecode));
  auto text = read(*test::fixture("operations.mlir").content);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(text->form, "StableHLO text");
}

TEST(Door, ErrorsNameTheFileAndTheForm) {
  const std::string artifact = *test::fixture("operations.0.14.0.mlirbc").content;
  EXPECT_THAT(read(artifact.substr(0, 1000)).error().message, HasSubstr("model: byte "));
  auto newer = read(test::jaxExport(artifact, 11));
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, Code::kUnimplemented);
  EXPECT_THAT(newer.error().message, HasSubstr("model: JAX export 11 is not served"));
  std::string broken = artifact;
  broken[20] = 0x55;
  EXPECT_THAT(read(test::jaxExport(broken, 10)).error().message, HasSubstr("JAX export 10 from byte 100: "));
}

TEST(Door, ShorterExportsAreRefused) {
  const std::string whole = test::jaxExport(*test::fixture("operations.0.9.0.mlirbc").content, 10);
  for (std::size_t length = 0; length < whole.size(); length += length < 112 ? 1 : 97)
    EXPECT_FALSE(read(whole.substr(0, length))) << length;
}

TEST(Door, LiteralsKeepTheirFile) {
  std::weak_ptr<const std::string> file;
  Program program;
  {
    auto owner = std::make_shared<const std::string>(*test::fixture("operations.1.17.0.mlirbc").content);
    file = owner;
    auto read = readProgram(asBytes(*owner), "model", owner);
    ASSERT_TRUE(read) << read.error().message;
    program = std::move(*read);
  }
  EXPECT_FALSE(file.expired());
  program = {};
  EXPECT_TRUE(file.expired());
}

}  // namespace
}  // namespace kiln::stablehlo
