// The committed sample models: imported, evaluated, compared with what ONNX Runtime computed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiler_core/runtime/npy/npy.h"
#include "tests/compiler_core/frontend/run_model.h"

namespace kiln {
namespace {

using reference::HostTensor;

HostTensor readTensor(const std::string& name) {
  auto tensor = npy::read(std::string(KILN_SOURCE_DIR) + "/tests/models/" + name);
  EXPECT_TRUE(tensor) << (tensor ? "" : tensor.error().message);
  return {tensor->dtype, tensor->shape, tensor->data};
}

// Runs the model over the first `count` images, `batch` at a time, against the golden rows.
void compareWithGolden(const std::string& model, const std::string& images, const std::string& golden,
                       const analysis::DimValues& dims, std::int64_t batch, std::int64_t count) {
  auto loaded = onnx::loadModel(std::string(KILN_SOURCE_DIR) + "/tests/models/" + model);
  ASSERT_TRUE(loaded) << loaded.error().message;
  mlir::MLIRContext context;
  frontend::prepareContext(context);
  auto captured = onnx::importModel(context, *loaded, {dims, {}});
  ASSERT_TRUE(captured) << captured.error().message;
  EXPECT_EQ(captured->capture.served, captured->capture.nodes);
  HostTensor all = readTensor(images), expected = readTensor(golden);
  std::size_t row =
      all.bytes.size() / static_cast<std::size_t>(all.shape[0]) * static_cast<std::size_t>(batch);
  for (std::int64_t i = 0; i + batch <= count; i += batch) {
    HostTensor input{DType::kF32, captured->inputs[0].shape, {}};
    auto begin = all.bytes.begin() + static_cast<std::ptrdiff_t>(row) * (i / batch);
    input.bytes.assign(begin, begin + static_cast<std::ptrdiff_t>(row));
    auto outputs = reference::evaluate(*captured->module, captured->weights, {input});
    ASSERT_TRUE(outputs) << outputs.error().message;
    ASSERT_EQ(outputs->at(0).shape, (std::vector<std::int64_t>{batch, 10}));
    for (std::int64_t k = 0; k < batch * 10; ++k) {
      float want = expected.data<float>()[i * 10 + k];
      EXPECT_NEAR(outputs->at(0).data<float>()[k], want, 1e-5f + 1e-4f * std::fabs(want))
          << "image " << i + k / 10;
    }
  }
}

TEST(Samples, ConvolutionalModelMatchesOnnxRuntime) {
  compareWithGolden("digits_cnn.onnx", "digits_images.npy", "digits_cnn_logits.npy", {}, 1, 64);
}

TEST(Samples, PerceptronMatchesOnnxRuntime) {
  compareWithGolden("digits_mlp.onnx", "digits_pixels.npy", "digits_mlp_probability.npy", {{"N", 16}}, 16,
                    64);
}

TEST(Samples, AnUnboundDimensionNamesItselfAndTheFlag) {
  auto loaded = onnx::loadModel(std::string(KILN_SOURCE_DIR) + "/tests/models/digits_mlp.onnx");
  ASSERT_TRUE(loaded) << loaded.error().message;
  mlir::MLIRContext context;
  frontend::prepareContext(context);
  auto captured = onnx::importModel(context, *loaded, {});
  ASSERT_FALSE(captured);
  EXPECT_EQ(captured.error().code, Code::kUnimplemented);
  EXPECT_THAT(captured.error().message, testing::HasSubstr("--profile N=MIN:OPT:MAX"));
}

}  // namespace
}  // namespace kiln
