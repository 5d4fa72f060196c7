#include "storage/lfs/pointer.h"

#include <gtest/gtest.h>

namespace kiln::lfs {
namespace {

const std::string kVersion = "version https://git-lfs.github.com/spec/v1\n";
const std::string kOid = "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n";

TEST(LfsPointer, NamesTheObject) {
  for (const std::string& version : {kVersion, std::string("version https://hawser.github.com/spec/v1\n")}) {
    const auto read = readPointer(version + kOid + "size 12345\n");
    ASSERT_TRUE(read && *read) << read.error().message;
    EXPECT_EQ((*read)->hex(), kOid.substr(11, 64));
    EXPECT_EQ((*read)->size, 12345u);
  }
}

TEST(LfsPointer, OtherFilesAreNone) {
  for (const std::string& text :
       {std::string(), std::string("model bytes"), std::string("version 1\n"), "\n" + kVersion,
        kVersion.substr(0, 20), kVersion + kOid + "size 1\n" + std::string(1024, 'x')}) {
    const auto read = readPointer(text);
    ASSERT_TRUE(read) << text;
    EXPECT_FALSE(*read) << text;
  }
}

TEST(LfsPointer, WhatBeginsAsOneAndIsNoneIsRefused) {
  const std::string head = kVersion + kOid;
  for (const std::string& text : {kVersion,
                                  head,
                                  head + "size 1",
                                  head + "size\n",
                                  head + "size \n",
                                  head + "size 01\n",
                                  head + "size -1\n",
                                  head + "size +1\n",
                                  head + "size 1 \n",
                                  head + "size 99999999999999999999\n",
                                  head + "size 1\nsize 1\n",
                                  head + "size 1\n\n",
                                  head + kOid + "size 1\n",
                                  kVersion + "size 1\n" + kOid,
                                  kVersion + "oid sha512:" + std::string(64, 'a') + "\nsize 1\n",
                                  kVersion + "oid sha256:" + std::string(64, 'A') + "\nsize 1\n",
                                  kVersion + "oid sha256:" + std::string(63, 'a') + "\nsize 1\n",
                                  kVersion + "oid sha256:../../../../etc/passwd\nsize 1\n",
                                  "version https://git-lfs.github.com/spec/v2\n" + kOid + "size 1\n",
                                  "version https://git-lfs.github.com/spec/v1\r\n" + kOid + "size 1\n"}) {
    const auto read = readPointer(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::kInvalidArgument);
    EXPECT_EQ(read.error().details, R"({"exitCode":3})");
  }
}

TEST(LfsPointer, ExtensionsAreNotRun) {
  const auto read =
      readPointer(kVersion + "ext-0-crypt sha256:" + std::string(64, '1') + "\n" + kOid + "size 1\n");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kUnimplemented);
  EXPECT_NE(read.error().message.find("ext-0-crypt"), std::string::npos) << read.error().message;
}

}  // namespace
}  // namespace kiln::lfs
