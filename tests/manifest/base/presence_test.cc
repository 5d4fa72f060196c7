#include "manifest/base/presence.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_directory.h"

namespace kiln {
namespace {

TEST(Presence, IsThereOrNot) {
  const testing_support::TempDirectory directory;
  std::ofstream(directory / "file") << "x";
  EXPECT_TRUE(checkPresent(directory / "file"));
  EXPECT_TRUE(checkPresent(directory.path()));
  for (const char* name : {"none", "none/below", "file/below"}) {
    const Status there = checkPresent(directory / name);
    ASSERT_FALSE(there) << name;
    EXPECT_EQ(there.error().code, Code::kNotFound) << name;
  }
}

// In a folder that may not be searched nobody knows.
TEST(Presence, AFolderThatMayNotBeSearchedIsDenied) {
  const testing_support::TempDirectory directory;
  std::filesystem::create_directory(directory / "closed");
  const std::string path = directory / "closed/model.onnx";
  std::ofstream(path) << "x";
  std::filesystem::permissions(directory / "closed", std::filesystem::perms::none);
  const pid_t child = ::fork();
  if (child == 0) {
    // Root may search every folder.
    if (::geteuid() == 0 && ::seteuid(65534) != 0) ::_exit(3);
    const Status there = checkPresent(path);
    ::_exit(there ? 1 : there.error().code == Code::kPermissionDenied ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  std::filesystem::permissions(directory / "closed", std::filesystem::perms::owner_all);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace kiln
