#include "storage/remote/resource_name.h"

#include <gtest/gtest.h>

#include <random>

namespace kiln::storage {
namespace {

const Digest kDigest = digestOf("abc");
const std::string kTail = "blobs/" + kDigest.hex() + "/3";

TEST(ResourceName, RoundTrips) {
  for (std::string instance : {"", "a", "a/b", "blobs", "uploads/x/blobs", "a/blobs/b"}) {
    auto read = parseReadName(readName(instance, kDigest));
    ASSERT_TRUE(read) << instance;
    EXPECT_EQ(read->instance, instance);
    EXPECT_EQ(read->digest, kDigest);
    auto write = parseWriteName(writeName(instance, kDigest));
    ASSERT_TRUE(write) << instance;
    EXPECT_EQ(write->instance, instance);
    EXPECT_EQ(write->digest, kDigest);
    EXPECT_EQ(write->upload.size(), 36u);
  }
}

TEST(ResourceName, AllowsMetadataAfterAnUpload) {
  auto name = parseWriteName("a/uploads/u-1/" + kTail + "/some/file.onnx");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->instance, "a");
  EXPECT_EQ(name->upload, "u-1");
}

TEST(ResourceName, AnInstanceThatLooksLikeAnUploadIsReadFromTheRight) {
  std::string inner = "uploads/1/" + kTail;
  auto name = parseWriteName(inner + "/uploads/2/" + kTail);
  ASSERT_TRUE(name);
  EXPECT_EQ(name->instance, inner);
  EXPECT_EQ(name->upload, "2");
}

TEST(ResourceName, RefusesEverythingElse) {
  std::string hex = kDigest.hex();
  for (std::string bad :
       {std::string(), std::string("/"), std::string("blobs"), "blobs/" + hex, "blobs/" + hex + "/",
        "blobs/" + hex + "/-1", "blobs/" + hex + "/+3", "blobs/" + hex + "/03", "blobs/" + hex + "/3x",
        "blobs/" + hex + "/99999999999999999999", "blobs/" + hex.substr(1) + "/3",
        "blobs/sha256:" + hex + "/3", kTail + "/extra", "/" + kTail, "a//b/" + kTail,
        std::string(5000, 'a') + "/" + kTail})
    EXPECT_EQ(parseReadName(bad).error().code, Code::kInvalidArgument) << bad;
  for (std::string bad :
       {std::string(), kTail, "uploads/" + kTail, "uploads//" + kTail, "uploads/u/blobs/" + hex,
        "uploads/" + std::string(65, 'u') + "/" + kTail, "/uploads/u/" + kTail})
    EXPECT_EQ(parseWriteName(bad).error().code, Code::kInvalidArgument) << bad;
  EXPECT_EQ(parseReadName("a/compressed-blobs/zstd/" + hex + "/3").error().code, Code::kUnimplemented);
  EXPECT_EQ(parseWriteName("uploads/u/compressed-blobs/zstd/" + hex + "/3").error().code,
            Code::kUnimplemented);
}

TEST(ResourceName, MutatedNamesNeverCrash) {
  std::mt19937 random(7);
  std::string name = writeName("a/b", kDigest);
  for (int i = 0; i < 20'000; ++i) {
    std::string mutant = name.substr(0, random() % (name.size() + 1));
    for (unsigned k = 0; k < random() % 4 && !mutant.empty(); ++k)
      mutant[random() % mutant.size()] = static_cast<char>(random());
    (void)parseReadName(mutant);
    (void)parseWriteName(mutant);
  }
}

}  // namespace
}  // namespace kiln::storage
