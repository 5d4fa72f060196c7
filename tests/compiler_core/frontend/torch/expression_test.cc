#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler_core/frontend/torch/reader/expression_text.h"

namespace kiln::torch {
namespace {

using ::testing::HasSubstr;
using Kind = Expression::Kind;

Expression parse(std::string_view text) {
  auto made = parseExpression(text);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *made : Expression();
}

TEST(TorchExpression, TreesOfSympyAreRead) {
  const Expression product = parse("Mul(Integer(32), Symbol('s21', positive=True, integer=True))");
  EXPECT_EQ(product.kind, Kind::kMul);
  ASSERT_EQ(product.operands.size(), 2u);
  EXPECT_EQ(product.operands[0], number(32));
  EXPECT_EQ(product.operands[1].kind, Kind::kSymbol);
  EXPECT_EQ(product.operands[1].text, "s21");
  EXPECT_EQ(parse("Add(FloorDiv(Symbol('s0'), Integer(2)), Integer(-1))").operands[0].kind, Kind::kFloorDiv);
  EXPECT_EQ(parse("Max(Integer(1), Symbol('u0'))").kind, Kind::kMax);
  EXPECT_EQ(parse("Integer(-7)"), number(-7));
}

TEST(TorchExpression, WhatIsNotKnownKeepsItsText) {
  const Expression other = parse("TruncToInt(Symbol('s0'))");
  EXPECT_EQ(other.kind, Kind::kOther);
  EXPECT_EQ(other.text, "TruncToInt(Symbol('s0'))");
  EXPECT_EQ(parse("Mod(Symbol('s0'))").kind, Kind::kOther);  // a function of two operands
}

TEST(TorchExpression, HostileTextsAreRefusedWithTheirPlace) {
  for (const char* text :
       {"", "Mul(", "Mul(Integer(1)", "Integer(99999999999999999999)", "Symbol(s0)", "Symbol('')",
        "Add(Integer(1) Integer(2))", "Integer(1) x", ")", "Symbol('s0', positive)"}) {
    const auto made = parseExpression(text);
    ASSERT_FALSE(made) << text;
    EXPECT_EQ(made.error().code, Code::kInvalidArgument);
    EXPECT_THAT(made.error().message, HasSubstr("character"));
  }
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += "Add(";
  EXPECT_FALSE(parseExpression(deep));
  EXPECT_FALSE(parseExpression(std::string(100'000, 'a')));
}

}  // namespace
}  // namespace kiln::torch
