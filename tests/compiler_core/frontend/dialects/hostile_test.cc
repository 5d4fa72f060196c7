// Text and bytecode that are made to do harm end in a named error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "compiler_core/frontend/dialects/read/rehearsal.h"
#include "tests/compiler_core/frontend/dialects/programs.h"

namespace kiln::dialects {
namespace {

using testing::HasSubstr;
using namespace testing_support;

Error errorOf(const std::string& bytes) {
  auto program = readProgram(asBytes(bytes), "bad.mlir");
  return program ? Error{Code::kUnknown, "read", {}} : program.error();
}

TEST(DialectsHostile, ACrashOfARehearsalIsAnError) {
  EXPECT_TRUE(rehearse(1 << 20, [] {}));
  const Status aborted = rehearse(1 << 20, [] { std::abort(); });
  ASSERT_FALSE(aborted);
  EXPECT_EQ(aborted.error().code, Code::kInvalidArgument);
  EXPECT_THAT(aborted.error().message, HasSubstr("Abort"));
  const Status left = rehearse(1 << 20, [] { _exit(7); });
  ASSERT_FALSE(left);
  EXPECT_THAT(left.error().message, HasSubstr("status 7"));
}

TEST(DialectsHostile, WhatARehearsalDoesIsGoneWithIt) {
  int changed = 0;
  EXPECT_TRUE(rehearse(1 << 20, [&] { changed = 1; }));
  EXPECT_EQ(changed, 0);
}

TEST(DialectsHostile, TextIsBoundedBeforeTheParserSeesIt) {
  const std::string deep =
      mainOf("%x: tensor<f32>", "tensor<f32>",
             "\"tosa.x\"() {a = " + std::string(300, '[') + std::string(300, ']') + "} : () -> ()");
  EXPECT_EQ(errorOf(deep).code, Code::kUnimplemented);
  EXPECT_THAT(errorOf(deep).message, HasSubstr("brackets nested deeper than 256"));
  const std::string map = "#m = affine_map<(d0) -> (" + std::string(2000, '-') + "d0)>\n" + square();
  EXPECT_THAT(errorOf(map).message, HasSubstr("bad.mlir:1:16: an affine map of more than 1024 characters"));
  EXPECT_THAT(errorOf("#s = affine_set<(d0) : (d0 == 0)>\n" + square()).message,
              HasSubstr("affine maps are not"));
  EXPECT_THAT(errorOf(square() + std::string(5000, 'a')).message, HasSubstr("longer than 4096 characters"));
}

TEST(DialectsHostile, FaultsOfTextHaveLineAndColumn) {
  const Error error =
      errorOf(mainOf("%x: tensor<3xf32>", "tensor<3xf32>", "%0 = tosa.no_such %x : tensor<3xf32>"));
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("bad.mlir:2:"));
  const Error verifier =
      errorOf(mainOf("%x: tensor<3xf32>", "tensor<4xf32>",
                     "%0 = tosa.abs %x : (tensor<3xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>"));
  EXPECT_EQ(verifier.code, Code::kInvalidArgument);
  EXPECT_THAT(verifier.message, HasSubstr("bad.mlir:2:"));
}

// MLIR 22's parser follows a null pointer here.
TEST(DialectsHostile, TextOnWhichTheParserCrashesIsAnError) {
  const Error error = errorOf(mainOf("%x: tensor<2x3xf32>, %o: tensor<2xf32>", "tensor<2xf32>",
                                     "%0 = linalg.reduce { arith.addf } ins(%x : tensor<2x3xf32>) outs(%o : "
                                     "tensor<2xf32>) dimensions = [?]\n"
                                     "return %0 : tensor<2xf32>"));
  EXPECT_EQ(error.code, Code::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("bad.mlir"));
}

TEST(DialectsHostile, BytecodeThatIsCutOffIsAnError) {
  const std::string bytes = bytecodeOf(square());
  ASSERT_FALSE(bytes.empty());
  for (std::size_t size = 4; size < bytes.size(); size += 3) {
    const Error error = errorOf(bytes.substr(0, size));
    EXPECT_NE(error.code, Code::kUnknown) << size;
    EXPECT_NE(error.code, Code::kInternal) << size << error.message;
  }
}

TEST(DialectsHostile, ChangedBytecodeIsReadOrIsAnError) {
  const std::string bytes = bytecodeOf(square());
  std::mt19937 random(7);
  for (int i = 0; i < 400; ++i) {
    std::string changed = bytes;
    for (int change = 0; change < 1 + i % 3; ++change)
      changed[16 + random() % (changed.size() - 16)] = static_cast<char>(random());
    const Error error = errorOf(changed);
    EXPECT_NE(error.code, Code::kInternal) << error.message;
  }
}

}  // namespace
}  // namespace kiln::dialects
