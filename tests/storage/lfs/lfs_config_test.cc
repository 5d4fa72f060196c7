#include "storage/lfs/lfs_config.h"

#include <gtest/gtest.h>

namespace kiln::lfs {
namespace {

std::string serverIn(std::string_view text) {
  const auto found = lfsServerIn(text);
  EXPECT_TRUE(found) << found.error().message;
  return found.value_or("");
}

TEST(LfsConfig, NamesTheServerAsGitWouldReadIt) {
  EXPECT_EQ(serverIn(""), "");
  EXPECT_EQ(serverIn("# nothing\n[lfs]\n  fetchexclude = *.bin\n"), "");
  EXPECT_EQ(serverIn("[lfs]\n\turl = https://lfs.example.org/r ; ours\n"), "https://lfs.example.org/r");
  EXPECT_EQ(serverIn("[LFS]\r\n URL=\"https://lfs.example.org/r\"\r\n"), "https://lfs.example.org/r");
  EXPECT_EQ(serverIn("[lfs]\nurl = https://a.example/r\nurl = https://b.example/r"), "https://b.example/r");
  EXPECT_EQ(serverIn("[remote \"origin\"]\nlfsurl = https://a.example/r\n"), "https://a.example/r");
  EXPECT_EQ(serverIn("[remote \"Origin\"]\nlfsurl = https://a.example/r\n"), "")
      << "a quoted part has a case";
  EXPECT_EQ(serverIn("[remote \"origin\"]\nlfsurl = https://a.example/r\n[lfs]\nurl = https://b.example/r\n"),
            "https://b.example/r");
  EXPECT_EQ(serverIn("[lfs \"https://example.org\"]\nurl = https://a.example/r\n"), "");
  EXPECT_EQ(serverIn("[lfs]\nurl\n"), "");
}

TEST(LfsConfig, RefusesByNameWhatItDoesNotRead) {
  const std::pair<const char*, Code> cases[] = {{"url = https://a.example\n", Code::kInvalidArgument},
                                                {"[lfs\nurl = https://a.example\n", Code::kInvalidArgument},
                                                {"[lfs] url = x\n", Code::kInvalidArgument},
                                                {"[remote \"origin]\n", Code::kInvalidArgument},
                                                {"[include]\npath = /etc/passwd\n", Code::kUnimplemented},
                                                {"[includeIf \"gitdir:x\"]\n", Code::kUnimplemented},
                                                {"[lfs]\nurl = https://a.example/\\\n", Code::kUnimplemented},
                                                {"[lfs]\nurl = \"https://a\n", Code::kUnimplemented}};
  for (const auto& [text, code] : cases) {
    const auto read = lfsServerIn(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, code) << text << read.error().message;
    EXPECT_NE(read.error().message.find("line "), std::string::npos) << read.error().message;
  }
  EXPECT_FALSE(lfsServerIn(std::string_view("[lfs]\nurl = a\0b\n", 15)));
}

TEST(LfsConfig, TakesServersByHttpsAlone) {
  EXPECT_EQ(checkedServer("https://a.example/r/info/lfs//").value(), "https://a.example/r/info/lfs");
  for (const char* url : {"ssh://git@a.example/r", "file:///srv/lfs", "git@a.example:r", "../lfs",
                          "https://a.example/r?token=1", "https://a.example/r#x"})
    EXPECT_EQ(checkedServer(url).error().code, Code::kUnimplemented) << url;
  EXPECT_EQ(checkedServer("https://me:s3cret@a.example/r").error().code, Code::kDataLoss);
  EXPECT_EQ(checkedServer("https://me:s3cret@a.example/r").error().message.find("s3cret"), std::string::npos);
}

}  // namespace
}  // namespace kiln::lfs
