#include "compiler_core/frontend/torch/reader/read.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compiler_core/frontend/torch/archive_builder.h"

namespace kiln::torch {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::replaced;
using testing_support::TorchArchive;

Result<Program> read(const std::string& archive) {
  auto owned = std::make_shared<const std::string>(archive);
  return readProgram(asBytes(*owned), "m.pt2", owned);
}

void expectRefused(const TorchArchive& archive, Code code,
                   const ::testing::Matcher<const std::string&>& message) {
  const auto program = read(archive.build());
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, code) << program.error().message;
  EXPECT_THAT(program.error().message, AllOf(HasSubstr("m.pt2"), message));
}

// The entry of the one weight, with `from` replaced.
TorchArchive withWeight(std::string_view from, std::string_view to) {
  TorchArchive archive;
  archive.weights = replaced(archive.weights, from, to);
  return archive;
}
TorchArchive withProgram(std::string_view from, std::string_view to) {
  TorchArchive archive;
  archive.program = replaced(archive.program, from, to);
  return archive;
}

TEST(TorchRead, AnArchiveIsAProgram) {
  const auto program = read(TorchArchive().build());
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->form, "torch.export 8.20");
  EXPECT_EQ(program->torchVersion, "2.15.0");
  EXPECT_EQ(program->opset, 10);
  ASSERT_EQ(program->graph.nodes.size(), 1u);
  EXPECT_EQ(program->graph.nodes[0].target, "aten.add.Tensor");
  EXPECT_THAT(program->graph.nodes[0].outputs, ElementsAre("add"));
  ASSERT_EQ(program->inputs.size(), 2u);
  EXPECT_EQ(program->inputs[0].kind, InputSpec::Kind::kParameter);
  EXPECT_EQ(program->inputs[0].target, "layer.w");
  EXPECT_EQ(program->ranges.at("s0").min, 3);
  const Tensor& weight = program->tensors.at("layer.w");
  EXPECT_THAT(weight.shape, ElementsAre(2));
  EXPECT_EQ(weight.bytes.size(), 8u);
}

TEST(TorchRead, IsKnownByItsContent) {
  const std::string archive = TorchArchive().build();
  EXPECT_TRUE(recognises(asBytes(archive)));
  EXPECT_FALSE(recognises(asBytes(testing_support::writeZip({{"a.npy", "x"}}))));
  EXPECT_FALSE(recognises({}));
  EXPECT_FALSE(recognises(asBytes(archive).first(archive.size() / 2)));
}

TEST(TorchRead, AMinorVersionMayAddMembersAMajorOneIsRefusedByName) {
  TorchArchive newer = withProgram(R"("minor":20)", R"("minor":99)");
  newer.program = replaced(newer.program, R"("verifiers")", R"("new_member":{"a":[1]},"verifiers")");
  const auto program = read(newer.build());
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->form, "torch.export 8.99");
  expectRefused(withProgram(R"("major":8)", R"("major":9)"), Code::kUnimplemented,
                AllOf(HasSubstr("9.20"), HasSubstr("8.x")));
}

TEST(TorchRead, PicklesAreRefusedByName) {
  expectRefused(withWeight(R"("use_pickle":false)", R"("use_pickle":true)"), Code::kUnimplemented,
                AllOf(HasSubstr("layer.w"), HasSubstr("pickled")));
  TorchArchive legacy;
  legacy.more = {{"m/data/weights/model.pt", "x"}};
  expectRefused(legacy, Code::kUnimplemented, HasSubstr("pickled"));
  TorchArchive old;
  old.more = {{"m/serialized_exported_program.json", "{}"}};
  expectRefused(old, Code::kUnimplemented, HasSubstr("older torch.export"));
}

TEST(TorchRead, SeveralProgramsAndCompressedMembersAreRefused) {
  TorchArchive several;
  several.more = {{"m/models/other.json", several.program}};
  expectRefused(several, Code::kUnimplemented, AllOf(HasSubstr("\"model\""), HasSubstr("\"other\"")));
  const std::string compressed =
      testing_support::writeZip({{"m/models/model.json", TorchArchive().program, true}});
  EXPECT_THAT(read(compressed).error().message, HasSubstr("compressed"));
}

TEST(TorchRead, AWeightLiesInsideOfItsFile) {
  expectRefused(withWeight(R"("sizes":[{"as_int":2}])", R"("sizes":[{"as_int":3}])"), Code::kInvalidArgument,
                AllOf(HasSubstr("3 elements"), HasSubstr("holds 2")));
  expectRefused(
      withWeight(R"("storage_offset":{"as_int":0})", R"("storage_offset":{"as_int":9223372036854775807})"),
      Code::kInvalidArgument, HasSubstr("layer.w"));
  expectRefused(withWeight(R"("sizes":[{"as_int":2}])", R"("sizes":[{"as_int":-2}])"), Code::kInvalidArgument,
                HasSubstr("natural numbers"));
  expectRefused(withWeight(R"("strides":[{"as_int":1}])", R"("strides":[{"as_int":4611686018427387904}])"),
                Code::kInvalidArgument, HasSubstr("layer.w"));
  expectRefused(withWeight("weight_0", "../x"), Code::kInvalidArgument, HasSubstr("no member"));
}

TEST(TorchRead, ElementsThatShareMemoryOrATypeThatIsNotServedAreRefused) {
  expectRefused(withWeight(R"("strides":[{"as_int":1}])", R"("strides":[{"as_int":0}])"),
                Code::kUnimplemented, HasSubstr("share memory"));
  expectRefused(withWeight(R"("dtype":7)", R"("dtype":10)"), Code::kUnimplemented, HasSubstr("complex64"));
  TorchArchive flags = withWeight(R"("dtype":7)", R"("dtype":12)");
  flags.weight0 = "\x02\x01";
  expectRefused(flags, Code::kInvalidArgument, HasSubstr("neither true nor false"));
}

TEST(TorchRead, StridedTensorsAreLaidOut) {
  TorchArchive archive =
      withWeight(R"("sizes":[{"as_int":2}],"strides":[{"as_int":1}])",
                 R"("sizes":[{"as_int":2},{"as_int":3}],"strides":[{"as_int":1},{"as_int":2}])");
  archive.weights = replaced(archive.weights, R"("dtype":7)", R"("dtype":1)");
  archive.weight0 = "\x01\x02\x03\x04\x05\x06";
  const auto program = read(archive.build());
  ASSERT_TRUE(program) << program.error().message;
  const Bytes bytes = program->tensors.at("layer.w").bytes;
  EXPECT_THAT(std::vector<int>(bytes.begin(), bytes.end()), ElementsAre(1, 3, 5, 2, 4, 6));
}

TEST(TorchRead, MalformedProgramsAreRefusedWithTheirPlace) {
  expectRefused(withProgram(R"("target":"torch.ops.aten.add.Tensor",)", ""), Code::kInvalidArgument,
                AllOf(HasSubstr("node 0"), HasSubstr("target")));
  expectRefused(withProgram(R"({"as_int":2}],"strides":[{"as_int":1}],"layout":7},
  "x")",
                            R"({"as_int":1e300}],"strides":[{"as_int":1}],"layout":7},
  "x")"),
                Code::kInvalidArgument, HasSubstr("p_w"));
  expectRefused(withProgram("Symbol('s0', positive=True, integer=True)", "Symbol("), Code::kInvalidArgument,
                HasSubstr("tensor \"x\""));
  expectRefused(withProgram(R"("output_specs":[{"user_output":{"arg":{"as_tensor":{"name":"add"}}}}])",
                            R"("output_specs":[])"),
                Code::kInvalidArgument, HasSubstr("outputs"));
  TorchArchive deep;
  deep.program = std::string(100'000, '[');
  expectRefused(deep, Code::kInvalidArgument, HasSubstr("models/model.json"));
  TorchArchive nested;
  std::string graph = R"({"inputs":[],"outputs":[],"nodes":[],"tensor_values":{}})";
  for (int i = 0; i < 10; ++i)
    graph = R"({"inputs":[{"as_graph":{"name":"g","graph":)" + graph +
            R"(}}],"outputs":[],"nodes":[],"tensor_values":{}})";
  nested.program = R"({"graph_module":{"graph":)" + graph + R"(},"schema_version":{"major":8,"minor":20}})";
  expectRefused(nested, Code::kInvalidArgument, HasSubstr("nested"));
}

TEST(TorchRead, TruncatedArchivesAreRefused) {
  const std::string whole = TorchArchive().build();
  for (std::size_t size = 0; size < whole.size(); size += 37) EXPECT_FALSE(read(whole.substr(0, size)));
}

}  // namespace
}  // namespace kiln::torch
