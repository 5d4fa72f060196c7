// Where blobs are put: what such a path names, and what is none.
#include "api/transcoding/upload_path.h"

#include <gtest/gtest.h>

namespace kiln::transcoding {
namespace {

const std::string kHash(64, 'a');

TEST(UploadPath, NamesInstanceAndDigest) {
  const auto name = parseUploadPath("/api/v1/instances/a%2Fb/blobs/sha256:" + kHash);
  ASSERT_TRUE(name) << name.error().message;
  EXPECT_EQ(name->instance, "a/b");
  EXPECT_EQ(name->digest.text(), "sha256:" + kHash);
  EXPECT_EQ(parseUploadPath("/api/v1/instances/a/blobs/sha256%3A" + kHash)->digest, name->digest);
}

TEST(UploadPath, NothingElseIsOne) {
  for (const char* path :
       {"/api/v1/instances/a/blobs:batchRead", "/api/v1/instances/a/blobs", "/api/v1/instances/a/blobs/",
        "/api/v1/instances//blobs/x", "/api/v1/instances/a/blobs/x/y", "/api/v1/instances/a/jobs/x"})
    EXPECT_FALSE(isUploadPath(path)) << path;
}

TEST(UploadPath, WhatIsNoDigestIsRefusedByName) {
  for (const std::string& digest :
       {kHash, "sha256:" + kHash + "0", "sha256:" + std::string(64, 'A'), "sha512:" + kHash,
        std::string("sha256:"), "sha256:" + std::string(63, 'a') + "%00"}) {
    const std::string path = "/api/v1/instances/a/blobs/" + digest;
    EXPECT_TRUE(isUploadPath(path));
    const auto name = parseUploadPath(path);
    ASSERT_FALSE(name) << digest;
    EXPECT_EQ(name.error().code, Code::kInvalidArgument);
    EXPECT_NE(name.error().message.find("digest"), std::string::npos) << name.error().message;
  }
}

}  // namespace
}  // namespace kiln::transcoding
