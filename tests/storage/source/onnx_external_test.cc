#include "storage/source/onnx_external.h"

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "tests/api/client/onnx_bytes.h"
#include "tests/support/temp_directory.h"

namespace kiln::source {
namespace {

using testing_support::externalTensor;
using testing_support::field;
using testing_support::varintField;

std::vector<std::string> scan(const std::string& model) {
  return *externalLocations(asBytes(model));
}

TEST(OnnxExternal, FindsInitializersOfTheGraph) {
  const auto graph = field(5, externalTensor("weights.bin")) + field(5, externalTensor("more/w.bin")) +
                     field(5, externalTensor("weights.bin"));
  EXPECT_EQ(scan(varintField(1, 8) + field(7, graph)),
            (std::vector<std::string>{"more/w.bin", "weights.bin"}));
}

TEST(OnnxExternal, OnePathForOneFileAndWhatIsNoneAsItStands) {
  const auto graph = field(5, externalTensor("./w.bin")) + field(5, externalTensor("w.bin")) +
                     field(5, externalTensor("a/./b")) + field(5, externalTensor("../x")) +
                     field(5, externalTensor("")) + field(5, externalTensor("w.bin/"));
  EXPECT_EQ(scan(varintField(1, 8) + field(7, graph)),
            (std::vector<std::string>{"", "../x", "a/b", "w.bin", "w.bin/"}));
}

TEST(OnnxExternal, FindsTensorsInAttributesSubgraphsAndFunctions) {
  const auto attribute = field(5, externalTensor("attribute.bin"));
  const auto inner = field(6, field(5, externalTensor("inner.bin")));  // AttributeProto.g.initializer
  const auto sparse =
      field(22, field(1, externalTensor("sparse.bin")));  // AttributeProto.sparse_tensor.values
  const auto node = field(5, attribute) + field(5, inner) + field(5, sparse);
  const auto model =
      field(7, field(1, node)) + field(25, field(7, field(5, field(5, externalTensor("function.bin")))));
  EXPECT_EQ(scan(model),
            (std::vector<std::string>{"attribute.bin", "function.bin", "inner.bin", "sparse.bin"}));
}

TEST(OnnxExternal, PassesOverTensorsThatKeepTheirData) {
  const auto entry = field(1, "location") + field(2, "unused.bin");
  const auto tensor = field(13, entry) + varintField(14, 0) + field(9, std::string(1000, 'r'));
  EXPECT_TRUE(scan(field(7, field(5, tensor))).empty());
}

TEST(OnnxExternal, SampleModelsHaveNone) {
  for (const char* name : {"digits_cnn.onnx", "digits_mlp.onnx"}) {
    const auto found = externalLocationsOfFile(std::string(KILN_MODELS_DIR "/") + name);
    ASSERT_TRUE(found) << name;
    EXPECT_TRUE(found->empty());
  }
}

TEST(OnnxExternal, LengthsBeyondTheEndAndDeepNestingEndTheScan) {
  EXPECT_TRUE(
      scan(std::string("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10)).empty());  // claims 2^63 bytes
  std::string nested = externalTensor("deep.bin");
  for (int i = 0; i < 500; ++i) nested = field(1, field(5, field(6, field(5, nested))));
  EXPECT_TRUE(scan(field(7, nested)).empty());
}

TEST(OnnxExternal, TooManyLocationsAreRefused) {
  std::string graph;
  for (int i = 0; i < 70000; ++i) graph += field(5, externalTensor("w" + std::to_string(i)));
  const auto found = externalLocations(asBytes(field(7, graph)));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::kResourceExhausted);
}

TEST(OnnxExternal, SurvivesMutatedAndTruncatedModels) {
  const auto node = field(5, field(6, field(5, externalTensor("inner.bin"))));
  const auto seed = varintField(1, 8) + field(7, field(1, node) + field(5, externalTensor("a/b.bin")));
  std::mt19937 random(3);
  for (int i = 0; i < 50000; ++i) {
    auto model = seed.substr(0, random() % (seed.size() + 1));
    for (int k = 0; k < 2 && !model.empty(); ++k)
      model[random() % model.size()] = static_cast<char>(random());
    (void)externalLocations(asBytes(model));
  }
}

TEST(OnnxExternal, WhatIsTooLargeForAModelIsNotSearched) {
  testing_support::TempDirectory directory;
  std::ofstream(directory / "zeros.onnx").put('\0');
  std::filesystem::resize_file(directory / "zeros.onnx", std::uintmax_t{1} << 40);
  EXPECT_TRUE(externalLocationsOfFile(directory / "zeros.onnx").value().empty());
}

}  // namespace
}  // namespace kiln::source
