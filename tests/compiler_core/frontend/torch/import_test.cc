#include "compiler_core/frontend/torch/import/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "compiler_core/frontend/parameters/formats.h"
#include "compiler_core/frontend/torch/operators/operators.h"
#include "compiler_core/frontend/torch/reader/read.h"
#include "compiler_core/reference/evaluator.h"
#include "tests/compiler_core/frontend/torch/archive_builder.h"

namespace kiln::torch {
namespace {

using reference::HostTensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::replaced;
using testing_support::TorchArchive;

struct Imported {
  std::string bytes;
  mlir::MLIRContext context;
  Program program;
  frontend::Captured captured;
};

Result<std::unique_ptr<Imported>> import(std::string bytes, const frontend::ImportOptions& options) {
  auto out = std::make_unique<Imported>();
  out->bytes = std::move(bytes);
  KILN_ASSIGN(out->program, readProgram(asBytes(out->bytes), "m.pt2", nullptr));
  frontend::prepareContext(out->context);
  KILN_ASSIGN(out->captured, importProgram(out->context, out->program, options));
  return out;
}

frontend::ImportOptions fixed(std::int64_t rows) {
  frontend::ImportOptions options;
  options.dims = {{"s0", rows}};
  return options;
}

TEST(TorchImport, ParametersAreWeightsAndUsersInputsAreInputs) {
  const auto made = import(TorchArchive().build(), fixed(3));
  ASSERT_TRUE(made) << made.error().message;
  const frontend::Captured& captured = (*made)->captured;
  ASSERT_EQ(captured.inputs.size(), 1u);
  EXPECT_EQ(captured.inputs[0].name, "x");
  EXPECT_EQ(captured.outputs[0].name, "result0");
  EXPECT_EQ(captured.capture.opsets.at("aten"), 10);
  const auto result = reference::evaluate(*captured.module, captured.weights,
                                          {HostTensor::of<float>(DType::kF32, {3, 2}, {1, 2, 3, 4, 5, 6})});
  ASSERT_TRUE(result) << result.error().message;
  const float* values = result->front().data<float>();
  EXPECT_THAT(std::vector<float>(values, values + 6), ElementsAre(11, 22, 13, 24, 15, 26));
}

TEST(TorchImport, SymbolsAreBoundByProfilesWithinWhatTheProgramWasExportedFor) {
  frontend::ImportOptions options;
  options.ranges = {{"s0", {4, 32, 4}}};
  const auto made = import(TorchArchive().build(), options);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ((*made)->captured.symbols.size(), 1u);
  EXPECT_EQ((*made)->captured.symbols[0].multiple, 4);
  EXPECT_EQ((*made)->captured.outputs[0].dimNames[0], "s0");
  options.ranges = {{"s0", {4, 128, 1}}};
  const auto beyond = import(TorchArchive().build(), options);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(beyond.error().message, HasSubstr("3 to 64"));
  EXPECT_FALSE(import(TorchArchive().build(), fixed(2)));
}

TEST(TorchImport, MultiplesOfASymbolAreSizesInMultiples) {
  TorchArchive archive;
  for (int i = 0; i < 2; ++i)
    archive.program = replaced(archive.program, R"j("expr_str":"Symbol('s0', positive=True, integer=True)")j",
                               R"j("expr_str":"Mul(Integer(32), Symbol('s0'))")j");
  frontend::ImportOptions options;
  options.ranges = {{"x.0", {96, 640, 32}}};
  EXPECT_TRUE(import(archive.build(), options));
  options.ranges = {{"x.0", {96, 640, 16}}};
  EXPECT_THAT(import(archive.build(), options).error().message, HasSubstr("multiple of 32"));
}

TEST(TorchImport, EverythingThatIsNotServedIsNamedAtOnce) {
  TorchArchive archive;
  archive.program = replaced(archive.program, "aten.add.Tensor", "aten.nonzero.default");
  const auto made = import(archive.build(), fixed(3));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Code::kUnimplemented);
  EXPECT_THAT(made.error().message, HasSubstr("aten.nonzero.default"));
  EXPECT_THAT(made.error().details, HasSubstr("depends on values"));
}

TEST(TorchImport, ArgumentsThatNobodyReadsAreNotServed) {
  TorchArchive archive;
  archive.program = replaced(archive.program, R"("outputs":[{"as_tensor":{"name":"add"}}],"metadata")",
                             R"("outputs":[{"as_tensor":{"name":"add"}}],"metadata")");
  archive.program = replaced(archive.program, R"({"name":"other",)",
                             R"({"name":"odd","arg":{"as_int":3}},{"name":"other",)");
  EXPECT_THAT(import(archive.build(), fixed(3)).error().details, HasSubstr("argument odd"));
}

TEST(TorchImport, DeclaredTypesAndWeightsMustFit) {
  TorchArchive archive;
  archive.program = replaced(archive.program, R"("p_w":{"dtype":7)", R"("p_w":{"dtype":5)");
  EXPECT_EQ(import(archive.build(), fixed(3)).error().code, Code::kInvalidArgument);
  TorchArchive missing;
  missing.weights = R"({"config":{}})";
  EXPECT_THAT(import(missing.build(), fixed(3)).error().message, HasSubstr("'layer.w'"));
}

TEST(TorchImport, TargetsAreFoundWithTheirWaysOfWriting) {
  EXPECT_FALSE(findOperator("aten.add.Tensor")->isInPlace);
  EXPECT_TRUE(findOperator("aten.add_.Tensor")->isInPlace);
  EXPECT_FALSE(findOperator("aten.__and__.Tensor")->isInPlace);
  EXPECT_FALSE(findOperator("aten.unsqueeze_.default"));
  EXPECT_FALSE(findOperator("mine.add.Tensor"));
  std::set<std::string_view> names;
  for (const Row& row : allRows()) EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

// Archives that torch has written, with eager's answers (fixtures/make.py).
struct Sample {
  const char* name;
  std::map<std::string, std::int64_t> dims;
};
class TorchSamples : public ::testing::TestWithParam<Sample> {};

std::string contents(const std::string& name) {
  std::ifstream file(std::string(KILN_SOURCE_DIR) + "/tests/compiler_core/frontend/torch/fixtures/" + name,
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

HostTensor named(const parameters::Tensors& tensors, const std::string& name) {
  for (const ir::Weight& tensor : tensors)
    if (tensor.name == name) return reference::toHostTensor(tensor);
  ADD_FAILURE() << "no array " << name;
  return {};
}

TEST_P(TorchSamples, AreEqualToEager) {
  const std::string stored = contents(GetParam().name + std::string(".npz"));
  const auto arrays = parameters::readNpz(asBytes(stored), nullptr);
  ASSERT_TRUE(arrays) << arrays.error().message;
  for (const char* form : {".exported.pt2", ".decomposed.pt2"}) {
    frontend::ImportOptions options;
    options.dims = GetParam().dims;
    const auto made = import(contents(GetParam().name + std::string(form)), options);
    ASSERT_TRUE(made) << form << ": " << made.error().message << made.error().details;
    const frontend::Captured& captured = (*made)->captured;
    std::vector<HostTensor> inputs;
    for (const ir::Signature& input : captured.inputs) inputs.push_back(named(*arrays, "in." + input.name));
    const auto results = reference::evaluate(*captured.module, captured.weights, inputs);
    ASSERT_TRUE(results) << results.error().message;
    for (std::size_t i = 0; i < captured.outputs.size(); ++i) {
      const HostTensor wanted = named(*arrays, "out." + captured.outputs[i].name);
      ASSERT_EQ((*results)[i].shape, wanted.shape) << captured.outputs[i].name;
      for (std::int64_t k = 0; k < wanted.elements(); ++k)
        ASSERT_NEAR((*results)[i].data<float>()[k], wanted.data<float>()[k], 1e-4)
            << form << " " << captured.outputs[i].name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TorchSamples,
                         ::testing::Values(Sample{"tiny_convnet", {{"s77", 2}}},
                                           Sample{"encoder", {{"s23", 2}}}, Sample{"decoder", {}},
                                           Sample{"decoder_buffers", {}}, Sample{"writes", {}},
                                           Sample{"branches", {}}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kiln::torch
