// `kiln export --layout`: what Triton Inference Server and KServe's MLServer find.
#include "api/client/exports/serving_layout.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "tests/api/cli/signed_program.h"

namespace kiln {
namespace {

std::string contentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::map<std::string, std::string> filesBelow(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files[std::filesystem::relative(entry.path(), folder).generic_string()] = contentOf(entry.path());
  return files;
}

using KilnLayout = testing_support::SignedProgram;

TEST_F(KilnLayout, TritonsRepositoryIsVerifiedInPlace) {
  const auto made =
      kiln({"export", artifact.path(), "--layout", "triton", "models", "--model-name", "doubler"});
  ASSERT_EQ(made.exit, 0) << made.err;
  EXPECT_EQ(made.out, "models\n");
  EXPECT_EQ(contentOf(directory / "models/doubler/config.pbtxt"),
            "name: \"doubler\"\nbackend: \"python\"\nmax_batch_size: 0\n"
            "input {\n  name: \"x\"\n  data_type: TYPE_FP32\n  dims: [ -1, 256 ]\n}\n"
            "output {\n  name: \"y\"\n  data_type: TYPE_FP32\n  dims: [ -1, 256 ]\n}\n"
            "output {\n  name: \"state\"\n  data_type: TYPE_UINT32\n  dims: [ 9 ]\n}\n");
  EXPECT_NE(contentOf(directory / "models/doubler/1/model.py").find("TritonPythonModel"), std::string::npos);
  const std::string served = "models/doubler/1/artifact";
  EXPECT_EQ(filesBelow(directory / served), filesBelow(artifact.path()));
  EXPECT_EQ(kiln({"verify", served}).exit, 0);
  std::filesystem::permissions(directory / (served + "/program.so"), std::filesystem::perms(0644));
  std::ofstream(directory / (served + "/program.so"), std::ios::app) << "!";
  EXPECT_EQ(kiln({"verify", served}).exit, 5);
}

TEST_F(KilnLayout, WhatKServeMountsIsVerifiedInPlace) {
  const auto made = kiln({"export", artifact.path(), "--layout", "kserve", "mounted", "--json"});
  ASSERT_EQ(made.exit, 0) << made.err;
  const auto said = parseJson(made.out);
  ASSERT_TRUE(said);
  EXPECT_EQ(said->at("verify"), "mounted/artifact");
  EXPECT_EQ(kiln({"verify", "mounted/artifact"}).exit, 0);
  const Json tensor = {{"datatype", "FP32"}, {"shape", {-1, 256}}};
  Json x = tensor, y = tensor;
  x["name"] = "x";
  y["name"] = "y";
  EXPECT_EQ(
      Json::parse(contentOf(directory / "mounted/model-settings.json")),
      Json({{"name", "model"},
            {"platform", "kiln"},
            {"implementation", "kiln.serving.mlserver.KilnModel"},
            {"parameters", {{"uri", "./artifact"}, {"version", "1"}}},
            {"inputs", Json::array({x})},
            {"outputs", Json::array({y, {{"name", "state"}, {"datatype", "UINT32"}, {"shape", {9}}}})}}));
}

TEST_F(KilnLayout, WhatCannotBeIsRefusedAndLeavesNothing) {
  EXPECT_EQ(kiln({"export", artifact.path(), "--layout", "torchserve", "out"}).exit, 2);
  EXPECT_EQ(kiln({"export", artifact.path(), "--layout", "triton"}).exit, 2);
  EXPECT_EQ(kiln({"export", artifact.path(), "--layout", "triton", "out", "--oci", "o"}).exit, 2);
  EXPECT_EQ(kiln({"export", artifact.path(), "--oci", "o", "--model-name", "m"}).exit, 2);
  for (const char* const name : {"../up", ".hidden", "", "-n", "a/b"}) {
    EXPECT_EQ(
        kiln({"export", artifact.path(), "--layout", "triton", "out", "--model-name=" + std::string(name)})
            .exit,
        2)
        << name;
  }
  EXPECT_FALSE(std::filesystem::exists(directory / "out"));
  std::filesystem::create_directories(directory / "taken/other");
  EXPECT_EQ(kiln({"export", artifact.path(), "--layout", "kserve", "taken"}).exit, 2);
}

TEST(ServingLayout, NamesAndShapesAreStatedAsTheServersHaveThem) {
  Manifest manifest;
  manifest.inputs = {{"a\"b\\\n\xc3\xa9", DType::kF16, {Dim("N"), 3}, {}}, {"flag", DType::kBool, {}, {}}};
  manifest.outputs = {{"label", DType::kI64, {Dim("N")}, {}, true}};
  EXPECT_EQ(client::tritonConfig(manifest, "m").value(),
            "name: \"m\"\nbackend: \"python\"\nmax_batch_size: 0\n"
            "input {\n  name: \"a\\\"b\\\\\\012\\303\\251\"\n  data_type: TYPE_FP16\n  dims: [ -1, 3 ]\n}\n"
            "input {\n  name: \"flag\"\n  data_type: TYPE_BOOL\n  dims: [ 1 ]\n  reshape { shape: [ ] }\n}\n"
            "output {\n  name: \"label\"\n  data_type: TYPE_STRING\n  dims: [ -1 ]\n}\n");
  const Json settings = Json::parse(client::mlserverSettings(manifest, "m").value());
  EXPECT_EQ(settings.at("inputs").at(0).at("shape"), Json({-1, 3}));
  EXPECT_EQ(settings.at("outputs").at(0).at("datatype"), "BYTES");
}

TEST(ServingLayout, TypesThatServersDoNotKnowAreRefusedByName) {
  Manifest manifest;
  manifest.inputs = {{"x", DType::kBF16, {2}, {}}};
  for (const auto& made : {client::tritonConfig(manifest, "m"), client::mlserverSettings(manifest, "m")}) {
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, Code::kUnimplemented);
    EXPECT_NE(made.error().message.find("\"x\" is bf16"), std::string::npos) << made.error().message;
  }
  manifest.inputs = {{"x", DType::kF32, {Dim(std::int64_t{0})}, {}}};
  EXPECT_EQ(client::tritonConfig(manifest, "m").error().code, Code::kUnimplemented);
}

}  // namespace
}  // namespace kiln
