#include "manifest/base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/support/temp_directory.h"

namespace kiln {
namespace {

// Whatever somebody may have put where a file was expected: none is waited for, none is read without end.
TEST(RegularFile, NothingElseIsOpened) {
  const testing_support::TempDirectory directory;
  std::ofstream(directory / "file") << "text";
  EXPECT_EQ(readRegular(directory / "file", 4).value(), "text");
  EXPECT_EQ(readRegular(directory / "file", 3).error().code, Code::kInvalidArgument);

  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (directory / "socket").c_str(), sizeof address.sun_path - 1);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  for (const std::string& path :
       {directory / "fifo", directory / "socket", directory.path(), std::string("/dev/zero")}) {
    const auto opened = openRegular(path);
    ASSERT_FALSE(opened) << path;
    EXPECT_EQ(opened.error().code, Code::kInvalidArgument) << path;
    EXPECT_NE(opened.error().message.find(path), std::string::npos) << opened.error().message;
  }
  std::filesystem::create_symlink("file", directory / "link");
  EXPECT_TRUE(openRegular(directory / "link"));
  EXPECT_FALSE(openRegular(directory / "link", O_NOFOLLOW));
  EXPECT_EQ(openRegular(directory / "none").error().code, Code::kNotFound);
}

TEST(WriteFile, SaysWhatItDoesToAFileThatIsThere) {
  const testing_support::TempDirectory directory;
  const std::string path = directory / "file";
  ASSERT_TRUE(writeFile(path, asBytes("a long text"), O_EXCL, 0600));
  EXPECT_EQ(writeFile(path, asBytes("text"), O_EXCL, 0600).error().code, Code::kAlreadyExists);
  EXPECT_EQ(readRegular(path, 16).value(), "a long text");
  ASSERT_TRUE(writeFile(path, asBytes("text"), O_TRUNC, 0600));
  EXPECT_EQ(readRegular(path, 16).value(), "text");
  const Status full = writeFile("/dev/full", asBytes("text"), 0, 0600);
  ASSERT_FALSE(full);
  EXPECT_NE(full.error().message.find("/dev/full"), std::string::npos) << full.error().message;
}

}  // namespace
}  // namespace kiln
