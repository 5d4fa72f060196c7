#include "compiler_core/frontend/torch/import/tensors_by_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/frontend/graph/captured.h"

namespace kiln::torch {
namespace {

using ::testing::HasSubstr;

// Views are looked at and written by what is counted here.
class Counted : public Views {
 public:
  Result<Value> look(const Node&, std::size_t) override {
    ++looks;
    return made;
  }
  Result<Value> written(const Node&, std::size_t, Value, Value) override {
    ++writes;
    return made;
  }
  int looks = 0, writes = 0;
  Value made;
};

class TorchTensors : public ::testing::Test {
 protected:
  TorchTensors() : builder_(&context_) {
    frontend::prepareContext(context_);
    module_ = mlir::ModuleOp::create(builder_.getUnknownLoc());
    builder_.setInsertionPointToEnd(module_->getBody());
    for (Value& value : values_)
      value = frontend::GraphBuilder(builder_, builder_.getUnknownLoc()).integerList({1});
    views_.made = values_[3];
    EXPECT_TRUE(tensors_.define("x", values_[0]));
  }
  std::string whyNot(std::string_view name) {
    const auto read = tensors_.read(name);
    return read ? "" : read.error().message;
  }

  mlir::MLIRContext context_;
  mlir::OpBuilder builder_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  Value values_[4];
  Node node_;
  Counted views_;
  TensorsByName tensors_{views_};
};

TEST_F(TorchTensors, AViewIsMadeAnewWhenItsBaseWasWritten) {
  ASSERT_TRUE(tensors_.define("v", values_[1], {"x", &node_, 0, Alias::kView}));
  EXPECT_EQ(*tensors_.read("v"), values_[1]);
  EXPECT_EQ(views_.looks, 0);
  ASSERT_TRUE(tensors_.write("x", values_[2]));
  EXPECT_EQ(*tensors_.read("v"), values_[3]);
  EXPECT_EQ(*tensors_.read("v"), values_[3]);
  EXPECT_EQ(views_.looks, 1);
}

TEST_F(TorchTensors, AWriteThroughAViewChangesItsBase) {
  ASSERT_TRUE(tensors_.define("v", values_[1], {"x", &node_, 0, Alias::kView}));
  ASSERT_TRUE(tensors_.write("v", values_[2]));
  EXPECT_EQ(*tensors_.read("x"), values_[3]);
  EXPECT_EQ(*tensors_.read("v"), values_[2]);
  EXPECT_EQ(views_.writes, 1);
  EXPECT_TRUE(tensors_.isWritten("x"));
}

TEST_F(TorchTensors, WhatMayBeAViewIsKnownItselfAndNothingAroundIt) {
  ASSERT_TRUE(tensors_.define("v", values_[1], {"x", &node_, 0, Alias::kView}));
  ASSERT_TRUE(tensors_.define("m", values_[1], {"v", &node_, 0, Alias::kMaybe}));
  ASSERT_TRUE(tensors_.define("other", values_[1], {"x", &node_, 0, Alias::kView}));
  ASSERT_TRUE(tensors_.write("m", values_[2]));
  EXPECT_EQ(*tensors_.read("m"), values_[2]);
  for (const char* name : {"x", "v", "other"}) EXPECT_THAT(whyNot(name), HasSubstr("clone()")) << name;
}

TEST_F(TorchTensors, WhatMayBeAViewIsNotReadAfterItsBaseWasWritten) {
  ASSERT_TRUE(tensors_.define("m", values_[1], {"x", &node_, 0, Alias::kMaybe}));
  ASSERT_TRUE(tensors_.write("x", values_[2]));
  EXPECT_THAT(whyNot("m"), HasSubstr("clone()"));
}

TEST_F(TorchTensors, NamesAreDefinedOnceAndBeforeTheyAreRead) {
  EXPECT_FALSE(tensors_.define("x", values_[1]));
  EXPECT_THAT(whyNot("y"), HasSubstr("not defined"));
  ASSERT_TRUE(tensors_.define("same", "x"));
  EXPECT_EQ(*tensors_.read("same"), values_[0]);
}

}  // namespace
}  // namespace kiln::torch
