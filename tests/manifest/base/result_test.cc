#include "manifest/base/result.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace kiln {
namespace {

Result<int> half(int value) {
  if (value % 2) return fail(Code::kInvalidArgument, "odd");
  return value / 2;
}
Result<int> quarter(int value) {
  KILN_ASSIGN(int h, half(value));
  KILN_TRY(half(h));
  return h / 2;
}

TEST(Result, MacrosPassValuesAndErrors) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(3).error().message, "odd");
  EXPECT_EQ(quarter(6).error().code, Code::kInvalidArgument);
}

TEST(Result, ContextIsPrepended) {
  Error error = Error{Code::kNotFound, "no such node"}.in("model.onnx");
  EXPECT_EQ(error.message, "model.onnx: no such node");
  EXPECT_EQ(error.code, Code::kNotFound);
}

TEST(Result, ErrnoMapsToCanonicalCodes) {
  EXPECT_EQ(errnoError(ENOSPC, "x").code, Code::kResourceExhausted);
  EXPECT_EQ(errnoError(ENOSPC, "x").message, "x: No space left on device; free some space there");
  EXPECT_EQ(errnoError(ENOENT, "x").code, Code::kNotFound);
  EXPECT_EQ(errnoError(EPERM, "x").code, Code::kPermissionDenied);
  EXPECT_EQ(errnoError(EROFS, "x").code, Code::kPermissionDenied);
  for (const int number : {EISDIR, ENOTDIR, ENOTEMPTY, ENXIO, ELOOP, ENAMETOOLONG})
    EXPECT_EQ(errnoError(number, "x").code, Code::kInvalidArgument) << number;
  for (const int number : {EFBIG, EMFILE, ENFILE, ENOMEM})
    EXPECT_EQ(errnoError(number, "x").code, Code::kResourceExhausted) << number;
  EXPECT_EQ(errnoError(EIO, "x").code, Code::kInternal);
}

}  // namespace
}  // namespace kiln
