#include "compiler_core/ir/dims.h"

#include <gtest/gtest.h>

#include "mlir/IR/MLIRContext.h"

namespace kiln::ir {
namespace {

class Dims : public testing::Test {
 protected:
  mlir::MLIRContext context_;
  const Dim n_ = Dim::symbol(&context_, 0), m_ = Dim::symbol(&context_, 1);
};

TEST_F(Dims, ProductsDoNotDependOnTheOrderOfTheirFactors) {
  EXPECT_EQ(product({n_, m_, 4}), product({4, m_, n_}));
  EXPECT_NE(product({n_, m_}), product({n_, n_}));
}

// (s0 + 1) * 96 is written s0 * 96 + 96 as soon as it is a dimension.
TEST_F(Dims, ANumberThatAllTermsShareIsAFactor) {
  const Dim size = *floorDiv(n_ - Dim(11), 4) + Dim(1);
  EXPECT_EQ(product({size * Dim(96), size}), product({size, size, 96}));
  EXPECT_EQ(product({n_ * Dim(6) + m_ * Dim(9), m_}), product({3, m_, n_ * Dim(2) + m_ * Dim(3)}));
  EXPECT_NE(product({size * Dim(96) + Dim(1), size}), product({size, size, 96}));
}

TEST_F(Dims, WhatDividesExactlyIsDivided) {
  const Dim size = n_ + Dim(1);
  EXPECT_EQ(exactDiv(product({size, size, 96}), size * Dim(96)), size);
  EXPECT_EQ(exactDiv(n_ * Dim(4) + Dim(8), 4), n_ + Dim(2));
  EXPECT_EQ(exactDiv(n_ * Dim(4) + Dim(2), 4), std::nullopt);
}

}  // namespace
}  // namespace kiln::ir
