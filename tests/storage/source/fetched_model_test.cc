#include "storage/source/fetched_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln::source {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(FetchedModel, AFileHasItsDataBesideIt) {
  const auto got = fetchedModel("a/b/net.mlirbc", {"net.mlirbc", "w/1.bin"});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_FALSE(got->isFolder);
  EXPECT_EQ(got->model.name, "model.mlir");
  EXPECT_EQ(got->model.path, "a/b/net.mlirbc");
  ASSERT_THAT(got->data, SizeIs(1));
  EXPECT_EQ(got->data[0].name, "w/1.bin");
  EXPECT_EQ(got->data[0].path, "a/b/w/1.bin");
}

TEST(FetchedModel, AFolderHasThemApart) {
  const auto onnx = fetchedModel("bert", {"data/w.bin", "model/onnx/m.onnx"});
  ASSERT_TRUE(onnx) << onnx.error().message;
  EXPECT_TRUE(onnx->isFolder);
  EXPECT_EQ(onnx->model.path, "bert/onnx/m.onnx");
  EXPECT_EQ(onnx->data.at(0).name, "w.bin");
  EXPECT_EQ(onnx->data.at(0).path, "bert/onnx/w.bin");
  const auto program = fetchedModel(kWholeCommit, {"model/p.mlir", "weights/a", "weights/b"});
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->model.name, "model.mlir");
  EXPECT_EQ(program->model.path, "p.mlir");
  EXPECT_EQ(program->weights.at(1).name, "params/1");
  EXPECT_EQ(program->weights.at(1).path, "b");
  // Whatever the folder is called.
  EXPECT_TRUE(fetchedModel("a/model", {"model/p.mlir"})->isFolder);
  EXPECT_FALSE(fetchedModel("a/model", {"model"})->isFolder);
}

// A worker says what it fetched.
TEST(FetchedModel, WhatNobodyAskedForIsRefused) {
  const auto refusal = [](const std::string& asked, const std::vector<std::string>& outputs) {
    const auto got = fetchedModel(asked, outputs);
    return got ? std::string("taken") : got.error().message;
  };
  EXPECT_THAT(refusal("m", {}), HasSubstr("lacks \"m\""));
  EXPECT_THAT(refusal("m", {"weights/a"}), HasSubstr("lacks \"m\""));
  EXPECT_THAT(refusal("m", {"model/a", "model/b"}), HasSubstr("two models"));
  EXPECT_THAT(refusal("m", {"evil", "model/a"}), HasSubstr("\"evil\", which no model needs"));
  EXPECT_THAT(refusal("m", {"data/a", "model/a", "weights/a"}), HasSubstr("of which a model has one kind"));
  EXPECT_THAT(refusal("m", {"data/spec.json", "model/a"}), HasSubstr("\"spec.json\""));
  EXPECT_THAT(refusal("m.onnx", {"m.onnx", "model.onnx"}), HasSubstr("\"model.onnx\""));
}

}  // namespace
}  // namespace kiln::source
