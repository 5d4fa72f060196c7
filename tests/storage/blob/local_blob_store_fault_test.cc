// The local store when the disk fills up and when its process is killed.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/local_store_harness.h"

namespace kiln::storage {
namespace {

namespace fs = std::filesystem;

// Runs `body` in a child with a real file system of 8 MiB at `directory`; its exit status.
template <class F>
int onSmallDisk(const std::string& directory, F body) {
  pid_t child = ::fork();
  if (child == 0) {
    bool mounted = ::unshare(CLONE_NEWNS) == 0 &&
                   ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                   ::mount("none", directory.c_str(), "tmpfs", 0, "size=8m") == 0;
    ::_exit(mounted ? body() : 77);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void fillDisk(const std::string& path) {
  std::ofstream out(path);
  std::string block(4096, 'j');
  while (out.write(block.data(), 4096).flush()) {
  }
}

TEST(LocalBlobStoreFault, AFullDiskIsSaidAndLeavesNothing) {
  testing_support::TempDirectory directory;
  int status = onSmallDisk(directory.path(), [&] {
    auto store = LocalBlobStore::open({.directory = directory / "store", .keepFree = 0}).value();
    if (!putBlob(*store, "a", asBytes("first"))) return 1;
    std::string small(900'000, 's');
    auto writer = store->beginWrite("a", digestOf(small)).value();
    fillDisk(directory / "junk");
    Status written = writer->write(asBytes(small));
    if (written || written.error().code != Code::kResourceExhausted) return 2;
    writer.reset();
    if (filesBelow(directory / "store/tmp") != 0) return 3;
    auto refused = putBlob(*store, "a", asBytes(small));
    if (refused || refused.error().code != Code::kResourceExhausted) return 4;
    if (getBlob(*store, "a", digestOf("first"), 10).value_or("") != "first") return 5;
    fs::remove(directory / "junk");
    return putBlob(*store, "a", asBytes(small)) ? 0 : 6;
  });
  if (status == 77) GTEST_SKIP() << "mounting a small file system needs root";
  EXPECT_EQ(status, 0);
}

TEST(LocalBlobStoreFault, ReservedSpaceIsKeptFromOthers) {
  testing_support::TempDirectory directory;
  int status = onSmallDisk(directory.path(), [&] {
    auto store = LocalBlobStore::open({.directory = directory / "store", .keepFree = 0}).value();
    for (const std::size_t size : {1u << 20, 3u << 20}) {
      std::string large(size, 'l');
      auto writer = store->beginWrite("a", digestOf(large)).value();
      fillDisk(directory / "junk");
      if (!writer->write(asBytes(large))) return 1;
      fs::remove(directory / "junk");
      if (!writer->commit()) return 2;
    }
    return 0;
  });
  if (status == 77) GTEST_SKIP() << "mounting a small file system needs root";
  EXPECT_EQ(status, 0);
}

TEST(LocalBlobStoreFault, AKilledWriterLosesNothingItAcknowledged) {
  testing_support::TempDirectory directory;
  std::string root = directory / "store";
  auto blob = [](int i) {
    return std::string(static_cast<std::size_t>(1000 + i * 37), static_cast<char>('a' + i % 26));
  };
  for (int round = 0; round < 5; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    pid_t child = ::fork();
    if (child == 0) {
      auto store = LocalBlobStore::open({.directory = root}).value();
      for (int i = 0;; ++i) {
        if (!putBlob(*store, "a", asBytes(blob(i % 1000)))) ::_exit(1);
        int done = i % 1000;
        if (::write(ends[1], &done, sizeof done) != sizeof done) ::_exit(2);
      }
    }
    ::close(ends[1]);
    int acknowledged = -1, last = -1;
    for (int seen = 0; seen < 3 + round && ::read(ends[0], &acknowledged, sizeof acknowledged) > 0; ++seen)
      last = acknowledged;
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    while (::read(ends[0], &acknowledged, sizeof acknowledged) > 0) last = acknowledged;
    ::close(ends[0]);

    auto store = LocalBlobStore::open({.directory = root}).value();
    EXPECT_EQ(filesBelow(root + "/tmp"), 0u);
    for (int i = 0; i <= last; ++i)
      EXPECT_EQ(getBlob(*store, "a", digestOf(blob(i)), 1 << 20).value_or("missing"), blob(i));
  }
}

}  // namespace
}  // namespace kiln::storage
