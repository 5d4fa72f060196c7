#include "storage/remote/resource_name.h"

#include <gtest/gtest.h>

#include <random>

namespace kiln::storage {
namespace {

const Digest kDigest = digestOf("abc");
const std::string kTail = "blobs/" + kDigest.hex() + "/3";

TEST(ResourceName, RoundTrips) {
  for (std::string instance : {"default", "a", "a/b", "blob", "uploads-of/x/my blobs", "a/b/c/d"}) {
    auto read = parseReadName(readName(instance, kDigest));
    ASSERT_TRUE(read) << instance;
    EXPECT_EQ(read->instance, instance);
    EXPECT_EQ(read->digest, kDigest);
    EXPECT_FALSE(read->zstd);
    auto write = parseWriteName(writeName(instance, kDigest));
    ASSERT_TRUE(write) << instance;
    EXPECT_EQ(write->instance, instance);
    EXPECT_EQ(write->digest, kDigest);
    EXPECT_EQ(write->upload.size(), 36u);
    EXPECT_FALSE(write->zstd);
  }
}

TEST(ResourceName, NamesNoInstanceForTheDefaultOne) {
  EXPECT_EQ(parseReadName(readName("", kDigest))->instance, "default");
  EXPECT_EQ(parseWriteName(writeName("", kDigest))->instance, "default");
}

TEST(ResourceName, MayAskForCompressedBytes) {
  const std::string tail = "compressed-blobs/zstd/" + kDigest.hex() + "/3";
  for (const std::string prefix : {"", "a/", "a/b/"}) {
    const auto read = parseReadName(prefix + tail);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(read->zstd);
    EXPECT_EQ(read->digest, kDigest);
    EXPECT_EQ(read->instance, prefix.empty() ? "default" : prefix.substr(0, prefix.size() - 1));
    for (const std::string metadata : {"", "/", "/some/file.onnx"}) {
      const auto write = parseWriteName(prefix + "uploads/u-1/" + tail + metadata);
      ASSERT_TRUE(write) << write.error().message;
      EXPECT_TRUE(write->zstd);
      EXPECT_EQ(write->upload, "u-1");
    }
  }
}

TEST(ResourceName, NamesWhatIsNotServed) {
  const std::string hex = kDigest.hex();
  const auto refusal = [](const std::string& name) {
    const auto parsed = name.starts_with("uploads") ? parseWriteName(name) : parseReadName(name);
    EXPECT_FALSE(parsed) << name;
    EXPECT_EQ(parsed.error().code, Code::kInvalidArgument);
    return parsed.error().message;
  };
  for (const std::string prefix : {"", "uploads/u/"}) {
    EXPECT_NE(refusal(prefix + "compressed-blobs/deflate/" + hex + "/3").find("\"deflate\""),
              std::string::npos);
    EXPECT_NE(refusal(prefix + "compressed-blobs/identity/" + hex + "/3").find("\"identity\""),
              std::string::npos);
    EXPECT_NE(refusal(prefix + "blobs/blake3/" + hex + "/3").find("\"blake3\""), std::string::npos);
    EXPECT_NE(refusal(prefix + "compressed-blobs/zstd/sha1/" + hex.substr(24) + "/3").find("\"sha1\""),
              std::string::npos);
  }
}

TEST(ResourceName, AllowsMetadataAfterAnUpload) {
  auto name = parseWriteName("a/uploads/u-1/" + kTail + "/some/file.onnx");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->instance, "a");
  EXPECT_EQ(name->upload, "u-1");
}

TEST(ResourceName, WhatFollowsAnUploadIsMetadataWhateverItLooksLike) {
  auto name = parseWriteName("uploads/1/" + kTail + "/uploads/2/blobs/" + digestOf("other").hex() + "/5");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->instance, "default");
  EXPECT_EQ(name->upload, "1");
  EXPECT_EQ(name->digest, kDigest);
}

TEST(ResourceName, AnInstanceHasNoWordThatTheProtocolReserves) {
  for (const std::string word : {"actions", "actionResults", "operations", "capabilities"})
    for (const std::string& instance : {word, "a/" + word, word + "/b"}) {
      for (const auto& parsed :
           {parseReadName(readName(instance, kDigest)), parseWriteName(writeName(instance, kDigest))}) {
        ASSERT_FALSE(parsed) << instance;
        EXPECT_EQ(parsed.error().code, Code::kInvalidArgument);
        EXPECT_NE(parsed.error().message.find("'" + word + "'"), std::string::npos) << parsed.error().message;
      }
    }
  EXPECT_FALSE(parseReadName("a/blobs/" + kTail));
  EXPECT_FALSE(parseWriteName("blobs/uploads/u/" + kTail));
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
    (void)parseReadName("compressed-blobs/" + mutant);
  }
}

}  // namespace
}  // namespace kiln::storage
