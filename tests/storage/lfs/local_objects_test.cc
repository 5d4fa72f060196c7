#include "storage/lfs/local_objects.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/git_fixture.h"

namespace kiln::lfs {
namespace {

class LocalObjects : public testing::Test {
 protected:
  LocalObjects() : object_(git_.addLarge("m.onnx", "model bytes")) {}
  Status copy(const Digest& object) {
    return copyLocalObjects(git_.directory() + "/.git",
                            std::vector<LargeFile>{{"m.onnx", object, out_ / "m.onnx"}});
  }

  testing_support::GitFixture git_;
  testing_support::TempDirectory out_;
  const Digest object_;
};

TEST_F(LocalObjects, AreCopied) {
  const Status done = copy(object_);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(digestOfFile(out_ / "m.onnx").value(), object_);
}

TEST_F(LocalObjects, AbsentOnesAreNamedWithWhatToDo) {
  std::filesystem::remove(git_.largeObject(object_));
  const Status done = copy(object_);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kNotFound);
  EXPECT_NE(done.error().message.find("'m.onnx'"), std::string::npos);
  EXPECT_NE(done.error().message.find("git lfs fetch"), std::string::npos) << done.error().message;
}

TEST_F(LocalObjects, OtherBytesAreRefused) {
  for (const char* bytes : {"MODEL bytes", "model byte", "model bytes and more", ""}) {
    std::filesystem::remove(out_ / "m.onnx");
    std::ofstream(git_.largeObject(object_)) << bytes;
    const Status done = copy(object_);
    ASSERT_FALSE(done) << bytes;
    EXPECT_EQ(done.error().code, Code::kDataLoss) << done.error().message;
  }
}

TEST_F(LocalObjects, LinksAndPipesAreNotFollowed) {
  std::filesystem::remove(git_.largeObject(object_));
  std::ofstream(out_ / "elsewhere") << "model bytes";
  std::filesystem::create_symlink(out_ / "elsewhere", git_.largeObject(object_));
  EXPECT_FALSE(copy(object_));
  std::filesystem::remove(git_.largeObject(object_));
  ASSERT_EQ(::mkfifo(git_.largeObject(object_).c_str(), 0600), 0);
  EXPECT_FALSE(copy(object_));
}

}  // namespace
}  // namespace kiln::lfs
