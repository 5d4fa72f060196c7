#include "api/node/staging.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/api/node/lying_store.h"
#include "tests/support/memory_blob_store.h"
#include "tests/support/temp_directory.h"

namespace kiln::node {
namespace {

namespace fs = std::filesystem;
using testing_support::Lie;

std::string contentOf(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

struct StagingTest : testing::Test {
  testing_support::MemoryBlobStore honest;
  testing_support::LyingStore store{honest};
  testing_support::TempDirectory directory;
  const std::string destination = directory / "out", source = directory / "source";

  // Longer than the buffers that files are moved in.
  const std::string bytes = std::string(kChunkBytes, 'a') + std::string(kChunkBytes / 2, 'b') + "c";
  const Digest digest = storage::putBlob(honest, "default", asBytes(bytes)).value();

  Staging begin() { return Staging::begin(destination).value(); }
  void writeSource(const std::string& content) { std::ofstream(source, std::ios::binary) << content; }
  static void expectDamage(const Status& status, const std::string& what) {
    ASSERT_FALSE(status) << what << " was accepted";
    EXPECT_EQ(status.error().code, Code::kDataLoss) << what;
    EXPECT_NE(status.error().details.find("\"exitCode\":5"), std::string::npos) << what;
    EXPECT_TRUE(status.error().message.starts_with("folder/blob: "))
        << what << ": " << status.error().message;
  }
};

// A disk that is full is named by the folder that is on it, once, and is no fault of the source.
TEST_F(StagingTest, WhatCannotBeWrittenIsNamedByItsPlace) {
  const auto limited = [&](const std::function<Status(Staging&)>& write) -> std::string {
    rlimit before{};
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{4096, before.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    Staging staging = begin();
    const Status written = write(staging);
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    ::signal(SIGXFSZ, handler);
    if (written) return "written";
    EXPECT_EQ(written.error().code, Code::kResourceExhausted);
    EXPECT_TRUE(written.error().message.starts_with(staging.path() + "/folder/blob: "))
        << written.error().message;
    return written.error().message.substr(staging.path().size());
  };
  EXPECT_EQ(limited([&](Staging& to) { return to.write("folder/blob", asBytes(bytes)); }),
            "/folder/blob: File too large");
  EXPECT_EQ(
      limited([&](Staging& to) { return to.download("folder/blob", digest, honest, "default", nullptr); }),
      "/folder/blob: File too large");
}

// Nobody looks at the bytes beside it here: it alone decides what arrived.
TEST_F(StagingTest, ADownloadIsExactlyTheBlobThatWasAskedFor) {
  store.about = digest;
  for (const auto lie : {Lie::kFlip, Lie::kTruncate, Lie::kExtend, Lie::kOther}) {
    store.lie = lie;
    const std::string what = "lie " + std::to_string(static_cast<int>(lie));
    {
      Staging staging = begin();
      expectDamage(staging.download("folder/blob", digest, store, "default", nullptr), what);
      EXPECT_LE(fs::file_size(staging.path() + "/folder/blob"), bytes.size())
          << what << ": more was kept than was declared";
    }
    EXPECT_TRUE(fs::is_empty(directory.path())) << what << " left something behind";
  }
  store.lie = Lie::kNone;
  Staging staging = begin();
  std::string seen;
  ASSERT_TRUE(staging.download("folder/blob", digest, store, "default", [&](Bytes part) -> Status {
    seen.append(reinterpret_cast<const char*>(part.data()), part.size());
    return {};
  }));
  EXPECT_EQ(seen, bytes);
  EXPECT_EQ(contentOf(staging.path() + "/folder/blob"), bytes);
}

TEST_F(StagingTest, ACopyIsExactlyTheFileThatWasVerified) {
  const std::vector<std::pair<std::string, std::string>> swaps{
      {"one byte less", bytes.substr(1)},
      {"one byte more", bytes + "x"},
      {"nothing", ""},
      {"other bytes as many", std::string(bytes.size(), 'o')}};
  for (const auto& [what, content] : swaps) {
    writeSource(content);
    Staging staging = begin();
    expectDamage(staging.copy("folder/blob", digest, source), what);
  }
  writeSource(bytes);
  Staging staging = begin();
  errno = EINTR;  // of a call before
  ASSERT_TRUE(staging.copy("folder/blob", digest, source));
  EXPECT_EQ(contentOf(staging.path() + "/folder/blob"), bytes);
}

TEST_F(StagingTest, AnEmptyFileArrivesAndNothingElseInItsPlace) {
  const Digest empty = digestOf("");
  writeSource("");
  Staging staging = begin();
  ASSERT_TRUE(staging.copy("empty", empty, source));
  EXPECT_EQ(fs::file_size(staging.path() + "/empty"), 0u);
  writeSource("x");
  expectDamage(staging.copy("folder/blob", empty, source), "a byte for an empty file");
}

TEST_F(StagingTest, CopiesNoLinkAndNothingThatIsNotThere) {
  Staging staging = begin();
  const auto missing = staging.copy("missing", digest, source);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  std::ofstream(directory / "target", std::ios::binary) << bytes;
  fs::create_symlink(directory / "target", source);
  EXPECT_FALSE(staging.copy("link", digest, source));
}

TEST_F(StagingTest, WhoeverSeesTheBytesMayStopThem) {
  Staging staging = begin();
  const auto stopped = staging.download("folder/blob", digest, store, "default",
                                        [](Bytes) { return fail(Code::kCancelled, "enough"); });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::kCancelled);
}

TEST_F(StagingTest, NoFileIsWrittenTwice) {
  Staging staging = begin();
  ASSERT_TRUE(staging.write("folder/blob", asBytes("first")));
  const auto again = staging.write("folder/blob", asBytes("second"));
  ASSERT_FALSE(again);
  EXPECT_EQ(contentOf(staging.path() + "/folder/blob"), "first");
}

TEST_F(StagingTest, TakesOnlyAPlaceThatIsFree) {
  const auto refuses = [&] {
    const auto staging = Staging::begin(destination);
    return !staging && staging.error().code == Code::kAlreadyExists;
  };
  std::ofstream(destination) << "a file";
  EXPECT_TRUE(refuses()) << "a file";
  std::ofstream(destination, std::ios::trunc).close();
  EXPECT_TRUE(refuses()) << "an empty file";
  fs::remove(destination);
  fs::create_directory(directory / "elsewhere");
  fs::create_directory_symlink(directory / "elsewhere", destination);
  EXPECT_TRUE(refuses()) << "a link to an empty directory";
  fs::remove(destination);
  fs::create_directory(destination);
  std::ofstream(destination + "/x").close();
  EXPECT_TRUE(refuses()) << "a directory with something in it";
  fs::remove(destination + "/x");
  EXPECT_FALSE(refuses()) << "an empty directory";
  EXPECT_FALSE(Staging::begin(directory / "no such parent/out"));
}

// What is looked at is what is written, by whatever links the way leads.
TEST_F(StagingTest, AWayThroughALinkEndsWhereTheSystemSays) {
  fs::create_directories(directory / "far/away");
  fs::create_directory_symlink(directory / "far/away", directory / "link");
  {
    Staging staging = Staging::begin(directory / "link/../out").value();
    ASSERT_TRUE(staging.commit());
  }
  EXPECT_TRUE(fs::exists(directory / "far/out"));
  EXPECT_FALSE(fs::exists(destination));
}

TEST_F(StagingTest, NothingHasTheFinalNameBeforeItIsComplete) {
  {
    Staging staging = Staging::begin(destination + "/").value();
    ASSERT_TRUE(staging.write("folder/blob", asBytes("content")));
    EXPECT_FALSE(fs::exists(destination));
    EXPECT_EQ(fs::path(staging.path()).parent_path(), directory.path());
    ASSERT_TRUE(staging.commit());
  }
  EXPECT_EQ(contentOf(destination + "/folder/blob"), "content");
  struct stat facts{};
  ASSERT_EQ(::stat(destination.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0755u);
  ASSERT_EQ(::stat((destination + "/folder/blob").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0222, 0u);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace kiln::node
