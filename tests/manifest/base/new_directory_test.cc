#include "manifest/base/new_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_directory.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

struct NewDirectoryTest : testing::Test {
  NewDirectoryTest() { fs::current_path(home); }
  ~NewDirectoryTest() override { fs::current_path(before); }

  std::size_t entries(const fs::path& path) const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
  const fs::path before = fs::current_path();
  const testing_support::TempDirectory scratch;
  const fs::path home = fs::canonical(scratch.path());
};

TEST_F(NewDirectoryTest, HasItsNameOnceItIsKept) {
  for (const std::string& spelled : {std::string("out"), std::string("./out/"), (home / "out//").string()}) {
    {
      auto made = NewDirectory::make(spelled);
      ASSERT_TRUE(made) << made.error().message;
      EXPECT_EQ(made->destination(), home / "out") << spelled;
      EXPECT_EQ(fs::path(made->path()).parent_path(), home) << spelled;
      EXPECT_TRUE(isInTheMaking(fs::path(made->path()).filename()));
      std::ofstream(made->path() + "/file") << "text";
      EXPECT_FALSE(fs::exists("out"));
      ASSERT_TRUE(made->keep(0755));
    }
    struct stat facts{};
    ASSERT_EQ(::stat("out", &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 0755u);
    EXPECT_TRUE(fs::exists("out/file"));
    EXPECT_EQ(NewDirectory::make(spelled).error().code, Code::kAlreadyExists) << spelled;
    fs::remove_all("out");
  }
  EXPECT_EQ(entries(home), 0u);
  EXPECT_TRUE(NewDirectory::make("out"));  // and given up
  EXPECT_EQ(entries(home), 0u);
}

// As two fetches into one place do.
TEST_F(NewDirectoryTest, WhoComesSecondIsToldSo) {
  auto first = NewDirectory::make("out"), second = NewDirectory::make("out");
  ASSERT_TRUE(first && second);
  std::ofstream(first->path() + "/file") << "first";
  std::ofstream(second->path() + "/file") << "second";
  ASSERT_TRUE(first->keep(0755));
  const Status late = second->keep(0755);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kAlreadyExists);
  EXPECT_NE(late.error().message.find("is there already; remove it or choose another directory"),
            std::string::npos)
      << late.error().message;
}

// "link/.." is where the system goes, and not the folder that the link lies in.
TEST_F(NewDirectoryTest, LinksAreFollowedAsTheSystemFollowsThem) {
  fs::create_directories("far/away");
  fs::create_directory_symlink("far/away", "link");
  const std::vector<std::pair<std::string, fs::path>> spellings{{"link/../out", home / "far/out"},
                                                                {"link/out", home / "far/away/out"},
                                                                {"link/./out/", home / "far/away/out"},
                                                                {"far/../link/../out", home / "far/out"},
                                                                {"far/away/../../out", home / "out"}};
  for (const auto& [spelled, place] : spellings) {
    EXPECT_EQ(NewDirectory::placeOf(spelled).value(), place) << spelled;
    auto made = NewDirectory::make(spelled);
    ASSERT_TRUE(made) << made.error().message;
    ASSERT_TRUE(made->keep(0700));
    EXPECT_TRUE(fs::exists(place)) << spelled;
    fs::remove(place);
  }
}

TEST_F(NewDirectoryTest, NothingIsReplaced) {
  const auto code = [](const std::string& place) {
    const auto made = NewDirectory::make(place);
    return made ? Code::kUnknown : made.error().code;
  };
  std::ofstream("file") << "text";
  fs::create_directories("full/one");
  fs::create_directories("empty");
  fs::create_directory_symlink("empty", "link");
  fs::create_symlink("nowhere", "dangling");
  for (const char* taken : {"file", "full", "link", "dangling", ".", "..", "full/one/..", "/"})
    EXPECT_EQ(code(taken), Code::kAlreadyExists) << taken;
  EXPECT_EQ(code("empty"), Code::kUnknown);
  EXPECT_EQ(code(""), Code::kInvalidArgument);
  EXPECT_EQ(code("nowhere/out"), Code::kNotFound);
  EXPECT_EQ(code("dangling/out"), Code::kNotFound);
  // What came there meanwhile stays.
  auto made = NewDirectory::make("late");
  ASSERT_TRUE(made);
  std::ofstream("late") << "precious";
  EXPECT_FALSE(made->keep(0700));
  EXPECT_EQ(fs::file_size("late"), 8u);
}

}  // namespace
}  // namespace kiln
