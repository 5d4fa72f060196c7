#include "compiler_core/frontend/frontends.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/frontend/format/format.h"
#include "compiler_core/frontend/outline.h"
#include "compiler_core/reference/evaluator.h"
#include "manifest/base/file.h"
#include "tests/compiler_core/frontend/parameters/file_writers.h"
#include "tests/compiler_core/frontend/run_model.h"
#include "tests/compiler_core/frontend/torch/archive_builder.h"
#include "tests/support/temp_directory.h"

namespace kiln::frontend {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::floats;
using testing_support::floatsOf;
using testing_support::OnnxBuilder;
using testing_support::TempDirectory;

// x * a + b, where a and b are arguments of the program.
constexpr char kStableHlo[] = R"(
func.func public @main(%a: tensor<3xf32> loc("p['a']"), %b: tensor<3xf32> loc("p['b']"), %x: tensor<3xf32> loc("x"))
    -> tensor<3xf32> {
  %0 = stablehlo.multiply %x, %a : tensor<3xf32>
  %1 = stablehlo.add %0, %b : tensor<3xf32>
  return %1 : tensor<3xf32>
}
)";

constexpr char kTosa[] = R"(
func.func @main(%a: tensor<3xf32> loc("a"), %b: tensor<3xf32> loc("b"), %x: tensor<3xf32> loc("x")) -> tensor<3xf32> {
  %s = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %0 = tosa.mul %x, %a, %s : (tensor<3xf32>, tensor<3xf32>, tensor<1xi8>) -> tensor<3xf32>
  %1 = tosa.add %0, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
)";

std::string onnxModel() {
  return OnnxBuilder()
      .input("a", {3})
      .input("b", {3})
      .input("x", {3})
      .node("Mul", {"x", "a"}, {"0"})
      .node("Add", {"0", "b"}, {"y"})
      .output("y")
      .build();
}

// A file of vectors.
std::string safetensors(const std::vector<std::pair<std::string, std::vector<float>>>& tensors) {
  std::string header, data;
  for (const auto& [name, values] : tensors) {
    const std::size_t begin = data.size();
    data += testing_support::bytesOfNumbers(values);
    header +=
        (header.empty() ? "{" : ",") +
        testing_support::safetensorsEntry(name, "F32", std::to_string(values.size()), begin, data.size());
  }
  return testing_support::safetensors(header + "}", data);
}

class Frontends : public ::testing::Test {
 protected:
  std::string write(const std::string& name, std::string_view bytes) {
    const std::string path = directory_ / name;
    EXPECT_TRUE(writeFile(path, asBytes(bytes), O_TRUNC, 0644));
    return path;
  }
  std::string parameters(const std::vector<float>& a, const std::vector<float>& b) {
    return write("weights.safetensors", safetensors({{"a", a}, {"b", b}}));
  }
  Result<Captured> import(const std::string& path, const std::vector<std::string>& parameters,
                          const Pins& pins = {}) {
    prepareContext(context_);
    KILN_ASSIGN(model_, loadModel(path, parameters));
    return model_->import(context_, {{}, pins, {}, {}});
  }

  TempDirectory directory_;
  mlir::MLIRContext context_;
  LoadedModel model_;
};

TEST_F(Frontends, AFileIsWhatItsBytesAreAndNotWhatItIsCalled) {
  EXPECT_EQ(outlineOf(write("a.mlir", onnxModel())).value().form, "ONNX");
  const Outline program = outlineOf(write("a.onnx", kStableHlo)).value();
  EXPECT_THAT(program.form, HasSubstr("StableHLO text"));
  EXPECT_THAT(program.inputs, ElementsAre("p['a']", "p['b']", "x"));
  EXPECT_TRUE(program.externalFiles.empty());
  const Outline archive = outlineOf(write("b.onnx", testing_support::TorchArchive().build())).value();
  EXPECT_EQ(archive.form, "torch.export 8.20");
  EXPECT_THAT(archive.inputs, ElementsAre("x"));
  const Outline tosa = outlineOf(write("c.onnx", kTosa)).value();
  EXPECT_EQ(tosa.form, "TOSA 1.0 text");
  EXPECT_THAT(tosa.inputs, ElementsAre("a", "b", "x"));
}

TEST_F(Frontends, WhatNoFrontendKnowsIsNamedForWhatItIs) {
  const auto image = outlineOf(write("a.onnx", std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16)));
  ASSERT_FALSE(image);
  EXPECT_THAT(image.error().message, HasSubstr("no ONNX model but an image"));
  const auto missing = outlineOf(directory_ / "none.mlir");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
}

// Who only asks which format a file is gets the answer that the door gives.
TEST_F(Frontends, TheFormatOfAFileIsThatOfTheFrontendThatTakesIt) {
  const std::pair<std::string, Format> files[] = {
      {testing_support::TorchArchive().build(), Format::kTorchExport},
      {kStableHlo, Format::kStableHlo},
      {kTosa, Format::kDialects},
      {onnxModel(), Format::kOther}};
  ASSERT_EQ(frontends().size(), std::size(files));
  for (std::size_t i = 0; i < std::size(files); ++i) {
    const auto& [bytes, format] = files[i];
    EXPECT_EQ(formatOf(asBytes(bytes)), format) << frontends()[i].name;
    for (std::size_t k = 0; k < i; ++k)
      EXPECT_FALSE(frontends()[k].recognises(asBytes(bytes))) << frontends()[k].name;
    EXPECT_TRUE(frontends()[i].recognises == nullptr || frontends()[i].recognises(asBytes(bytes)))
        << frontends()[i].name;
  }
}

TEST_F(Frontends, EachHasANameAndOnlyTheLastTakesWhatIsLeft) {
  const auto all = frontends();
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_FALSE(all[i].name.empty());
    EXPECT_EQ(all[i].recognises == nullptr, i + 1 == all.size()) << all[i].name;
  }
}

TEST_F(Frontends, ParametersTakeThePlaceOfInputs) {
  for (const std::string& path :
       {write("m.onnx", onnxModel()), write("m.mlir", kStableHlo), write("t.mlir", kTosa)}) {
    auto captured = import(path, {parameters({1, 2, 3}, {10, 20, 30})});
    ASSERT_TRUE(captured) << captured.error().message;
    ASSERT_EQ(captured->inputs.size(), 1u);
    EXPECT_EQ(captured->inputs[0].name, "x");
    const auto result = reference::evaluate(*captured->module, captured->weights, {floats({3}, {1, 1, 2})});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_THAT(floatsOf(result->front()), ElementsAre(11, 22, 36));
  }
}

TEST_F(Frontends, TiedTensorsAreOneWeight) {
  // Larger than what is a constant of the graph.
  constexpr std::int64_t kLength = 1024;
  std::vector<float> values(kLength);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const std::string path = write("tied.onnx", OnnxBuilder()
                                                  .input("a", {kLength})
                                                  .input("b", {kLength})
                                                  .input("x", {kLength})
                                                  .node("Mul", {"x", "a"}, {"0"})
                                                  .node("Add", {"0", "b"}, {"y"})
                                                  .output("y")
                                                  .build());
  const auto file = [&](const std::vector<float>& b) {
    return write("tied.safetensors", safetensors({{"a", values}, {"b", b}}));
  };
  auto tied = import(path, {file(values)});
  ASSERT_TRUE(tied) << tied.error().message;
  EXPECT_EQ(tied->weights.size(), 1);
  values[7] = -1;
  auto apart = import(path, {file({values.rbegin(), values.rend()})});
  ASSERT_TRUE(apart) << apart.error().message;
  EXPECT_EQ(apart->weights.size(), 2);
}

TEST_F(Frontends, WhatDoesNotFitIsTheParametersFaultAndNotTheModels) {
  for (const std::string& path :
       {write("m.onnx", onnxModel()), write("m.mlir", kStableHlo), write("t.mlir", kTosa)}) {
    const auto captured = import(path, {write("bad.safetensors", safetensors({{"a", {1}}}))});
    ASSERT_FALSE(captured);
    EXPECT_EQ(captured.error().code, Code::kFailedPrecondition) << captured.error().message;
    EXPECT_THAT(captured.error().message, HasSubstr("f32[1]"));
    const auto pinned = import(path, {parameters({1, 2, 3}, {1, 2, 3})},
                               {{path.ends_with("m.mlir") ? "p['a']" : "a", {1, 2, 3}}});
    ASSERT_FALSE(pinned);
    EXPECT_EQ(pinned.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(pinned.error().message, HasSubstr("leave one of them out"));
  }
}

}  // namespace
}  // namespace kiln::frontend
