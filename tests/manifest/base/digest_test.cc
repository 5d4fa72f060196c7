#include "manifest/base/digest.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>

#include "tests/support/temp_directory.h"

namespace kiln {
namespace {

constexpr char kAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";  // FIPS 180-2

TEST(Digest, OfKnownVector) {
  Digest digest = digestOf("abc");
  EXPECT_EQ(digest.hex(), kAbc);
  EXPECT_EQ(digest.text(), std::string("sha256:") + kAbc);
  EXPECT_EQ(digest.size, 3u);
}

TEST(Digest, StreamsLikeOneShot) {
  Hasher hasher;
  hasher.update(asBytes("a"));
  hasher.update(asBytes("bc"));
  EXPECT_EQ(hasher.finish(), digestOf("abc"));
}

TEST(Digest, ParsesBothFormsAndNothingElse) {
  EXPECT_EQ(Digest::parse(kAbc, 3).value(), digestOf("abc"));
  EXPECT_EQ(Digest::parse(std::string("sha256:") + kAbc, 3).value(), digestOf("abc"));
  std::string upper(kAbc);
  upper[0] = 'B';
  for (const std::string& bad :
       {std::string(), std::string("sha256:"), upper, std::string(kAbc) + "0", std::string("sha512:") + kAbc})
    EXPECT_EQ(Digest::parse(bad, 3).error().code, Code::kInvalidArgument) << bad;
}

TEST(Digest, OfFileNamesAMissingPath) {
  auto missing = digestOfFile("/nonexistent/file");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_NE(missing.error().message.find("/nonexistent/file"), std::string::npos);
}

TEST(Digest, OfFileIsOfRegularFilesAlone) {
  testing_support::TempDirectory directory;
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  for (const std::string& path : {directory / "fifo", directory.path(), std::string("/dev/zero")})
    EXPECT_EQ(digestOfFile(path).error().code, Code::kInvalidArgument) << path;
}

TEST(Base64, RoundTripsEveryTailLength) {
  for (std::string text : {"", "f", "fo", "foo", "foob"})
    EXPECT_EQ(fromBase64(toBase64(asBytes(text))).value(), text);
  EXPECT_EQ(toBase64(asBytes("foob")), "Zm9vYg==");
  EXPECT_FALSE(fromBase64("Zm9vYg="));
  EXPECT_FALSE(fromBase64("Zm9v!g=="));
}

}  // namespace
}  // namespace kiln
