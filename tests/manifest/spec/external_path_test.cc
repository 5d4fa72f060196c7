#include "manifest/spec/external_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kiln {
namespace {

using testing::HasSubstr;

TEST(ExternalPath, DropsWhatSaysNothing) {
  for (const auto& [location, path] :
       std::initializer_list<std::pair<const char*, const char*>>{{"w.bin", "w.bin"},
                                                                  {"./w.bin", "w.bin"},
                                                                  {"a/./w", "a/w"},
                                                                  {"././a/././b", "a/b"},
                                                                  {"..a/b", "..a/b"}}) {
    const auto plain = externalPath(location);
    ASSERT_TRUE(plain) << plain.error().message;
    EXPECT_EQ(*plain, path);
  }
}

TEST(ExternalPath, SaysWhatIsWrong) {
  const auto why = [](std::string_view location) {
    const auto plain = externalPath(location);
    EXPECT_FALSE(plain) << location;
    EXPECT_EQ(plain.error().code, Code::kInvalidArgument);
    return plain.error().message;
  };
  EXPECT_THAT(why(""), HasSubstr("has no name"));
  EXPECT_THAT(why("/etc/passwd"), HasSubstr("is an absolute path"));
  EXPECT_THAT(why("data.bin/"), HasSubstr("names a directory"));
  for (const char* location : {".", "./."}) EXPECT_THAT(why(location), HasSubstr("names a directory"));
  for (const char* location : {"..", "../w", "a/../b", "a/..", "./../w"})
    EXPECT_THAT(why(location), HasSubstr("leaves the model's directory")) << location;
  EXPECT_THAT(why("a//b"), HasSubstr("empty component"));
  EXPECT_THAT(why("a\\b"), HasSubstr("backslash"));
  EXPECT_THAT(why(std::string_view("a\0b", 3)), HasSubstr("control character"));
  EXPECT_THAT(why("a\nb"), HasSubstr("control character"));
  EXPECT_THAT(why("\xff"), HasSubstr("not UTF-8"));
  EXPECT_THAT(why(std::string(2000, 'a')), HasSubstr("1 to 1024 bytes"));
}

}  // namespace
}  // namespace kiln
