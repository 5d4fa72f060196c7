#include "compiler_core/ir/dims.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler_core/ir/profile.h"
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

TEST_F(Dims, WordsAreArithmeticThatAUserReads) {
  const std::vector<std::string> names{"batch", "image width"};
  const auto words = [&](const Dim& dim) { return wordsOf(dim, names); };
  EXPECT_EQ(words(7), "7");
  EXPECT_EQ(words(n_), "batch");
  EXPECT_EQ(words(n_ * Dim(2) + Dim(1)), "batch * 2 + 1");
  EXPECT_EQ(words(n_ - Dim(3)), "batch - 3");
  EXPECT_EQ(words(n_ - m_), "batch - image width");
  EXPECT_EQ(words(*floorDiv(n_ + Dim(1), 2)), "floor((batch + 1) / 2)");
  EXPECT_EQ(words(*modulo(n_, 4)), "batch mod 4");
  EXPECT_EQ(words(*floorDiv(n_, 2) * m_), "floor(batch / 2) * image width");
  EXPECT_EQ(words(Dim::symbol(&context_, 2) + Dim(1)), "an unknown size + 1");
  EXPECT_EQ(wordsOf(Shape{1, n_, *floorDiv(m_, 8)}, names), "1x(batch)x(floor(image width / 8))");
  EXPECT_EQ(wordsOf(Shape{}, names), "scalar");
}

// Whatever arithmetic makes, it is written without MLIR's words and with names.
TEST_F(Dims, WordsHoldNothingOfMlir) {
  Dim dim = n_;
  for (int i = 0; i < 64; ++i) {
    switch (i % 5) {
      case 0:
        dim = dim * Dim(i + 3) - m_;
        break;
      case 1:
        dim = *floorDiv(dim, i + 2);
        break;
      case 2:
        dim = *ceilDiv(dim + m_, i + 2);
        break;
      case 3:
        dim = *modulo(dim, 1000 + i);
        break;
      default:
        dim = dim - Dim(i) * n_;
    }
    const std::string text = wordsOf(dim, std::vector<std::string>{"N", "M"});
    for (const char* word : {"s0", "s1", "floordiv", "ceildiv", "affine", "-1 *"})
      EXPECT_EQ(text.find(word), std::string::npos) << text;
    EXPECT_EQ(std::ranges::count(text, '('), std::ranges::count(text, ')')) << text;
  }
}

// A module may have thousands of symbols: an expression asks for those it names.
TEST_F(Dims, AModuleBoundsWhatNamesItsSymbols) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context_));
  EXPECT_EQ(rangeOf(Dim(7), *module), (Range{7, 7}));
  EXPECT_EQ(rangeOf(n_, *module), std::nullopt);
  addSymbols(*module, {{"N", "x", 0, false, {}, {1, 8}}, {"M", "x", 1, false, {}, {2, 4}}});
  EXPECT_EQ(addSymbol(*module, {"size2", "", 0, false, 0, {0, 0}}), 2);
  EXPECT_EQ(symbolCount(*module), 3u);
  EXPECT_EQ(rangeOf(n_ * m_, *module), (Range{2, 32}));
  EXPECT_EQ(rangeOf(Dim::symbol(&context_, 3), *module), std::nullopt);
  boundSymbol(*module, 2, n_ * Dim(2), 16);
  boundSymbol(*module, 2, n_, 8);  // what was said first stands
  EXPECT_EQ(rangeOf(Dim::symbol(&context_, 2), *module), (Range{0, 16}));
  const auto symbols = symbolsOf(*module);
  ASSERT_EQ(symbols.size(), 3u);
  EXPECT_EQ(symbols[1].name, "M");
  EXPECT_EQ(symbols[2].bound, n_ * Dim(2));
}

// What five layers of stride 2 make of a size that is a multiple of 32, and the layers back up.
TEST_F(Dims, MultiplesDivideExactly) {
  const auto halved = [](const Dim& size) { return *floorDiv(size + Dim(2 - 3), 2) + Dim(1); };
  Dim sizes[6] = {n_ * Dim(32)};
  for (int i = 0; i < 5; ++i) sizes[i + 1] = halved(sizes[i]);
  EXPECT_EQ(sizes[5], n_);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(sizes[i + 1] * Dim(2), sizes[i]);
  EXPECT_EQ(*modulo(sizes[1] + Dim(3), 16), Dim(3));
  EXPECT_NE(halved(n_) * Dim(2), n_);
}

TEST_F(Dims, TextsAreAboutSizesWhereAModuleCountsInMultiples) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context_));
  addSymbols(*module, {{"H", "x", 2, false, {}, {1, 40}, 32}, {"N", "x", 0, false, {}, {1, 8}}});
  EXPECT_EQ(symbolsOf(*module)[0].multiple, 32);
  EXPECT_EQ(symbolsOf(*module)[1].multiple, 1);
  EXPECT_EQ(rangeOf(n_ * Dim(32), *module), (Range{32, 1280}));
  const SizeTexts texts(*module);
  EXPECT_EQ(texts.text(n_ * Dim(32)), "H");
  EXPECT_EQ(texts.text(n_ * Dim(64) + Dim(1)), "H * 2 + 1");
  EXPECT_EQ(texts.text(n_ * Dim(16)), "H floordiv 2");
  EXPECT_EQ(texts.text(n_), "H floordiv 32");
  EXPECT_EQ(texts.words(n_ * Dim(8) - Dim(1)), "floor(H / 4) - 1");
  EXPECT_EQ(texts.words(n_ * Dim(48)), "floor(H / 2) * 3");
  EXPECT_EQ(texts.words(*floorDiv(n_ * Dim(32) * m_ + Dim(5), 7)), "floor((H * N + 5) / 7)");
  EXPECT_EQ(texts.words(Shape{m_, 3, n_ * Dim(32) * m_}), "(N)x3x(H * N)");
}

TEST_F(Dims, OnlyKnownSymbolsAreReplaced) {
  EXPECT_EQ(substitute(n_ * m_ + Dim(1), {std::nullopt, 3}), n_ * Dim(3) + Dim(1));
  EXPECT_EQ(substitute(n_ + m_, {5}), m_ + Dim(5));
  EXPECT_EQ(substitute(n_ + m_, {5, 6}), Dim(11));
}

}  // namespace
}  // namespace kiln::ir
