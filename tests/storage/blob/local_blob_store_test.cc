#include "storage/blob/local_blob_store.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>

#include "tests/support/held_lock.h"
#include "tests/support/local_store_harness.h"

namespace kiln::storage {
namespace {

namespace fs = std::filesystem;

INSTANTIATE_TEST_SUITE_P(Local, BlobStoreContract,
                         testing::Values([] { return std::make_unique<LocalStoreHarness>(); }));
INSTANTIATE_TEST_SUITE_P(LocalWithoutValidationCache, BlobStoreContract, testing::Values([] {
                           return std::make_unique<LocalStoreHarness>(
                               LocalBlobStoreOptions{.validationEntries = 0});
                         }));

Result<std::unique_ptr<LocalBlobStore>> openStore(const std::string& root, bool readOnly = false) {
  return LocalBlobStore::open({.directory = root, .readOnly = readOnly});
}

struct ManualClock final : Clock {
  TimePoint time{};
  TimePoint now() const override { return time; }
};

TEST(LocalBlobStore, KeepsBlobsAcrossOpens) {
  testing_support::TempDirectory directory;
  Digest digest = putBlob(*openStore(directory / "s").value(), "a", asBytes("kept")).value();
  EXPECT_EQ(getBlob(*openStore(directory / "s").value(), "a", digest, 10).value(), "kept");
  EXPECT_EQ(fs::status(blobFile(directory / "s", digest)).permissions(),
            fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
}

TEST(LocalBlobStore, ReadOnlyServesAndNeverWrites) {
  testing_support::TempDirectory directory;
  std::string root = directory / "s";
  auto absent = openStore(root, true);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Code::kNotFound);
  EXPECT_FALSE(fs::exists(root));

  auto writer = openStore(root).value();
  auto reader = openStore(root, true).value();
  Digest digest = putBlob(*writer, "a", asBytes("shared")).value();
  EXPECT_EQ(getBlob(*reader, "a", digest, 10).value(), "shared");
  EXPECT_EQ(putBlob(*reader, "a", asBytes("no")).error().code, Code::kPermissionDenied);
  flipBit(root, digest);
  EXPECT_EQ(getBlob(*reader, "a", digest, 10).error().code, Code::kDataLoss);
  EXPECT_TRUE(fs::exists(blobFile(root, digest)));
}

TEST(LocalBlobStore, ReadOnlySaysWhatIsThereAndTouchesNothing) {
  testing_support::TempDirectory directory;
  ManualClock clock;
  const std::string root = directory / "s";
  auto writer = LocalBlobStore::open({.directory = root, .clock = &clock}).value();
  const Digest digest = putBlob(*writer, "a", asBytes("there")).value();
  const std::string reference = root + "/refs/i-a/" + digest.hex();
  const auto uploaded = fs::last_write_time(reference);
  clock.time += std::chrono::hours(1);
  auto reader = LocalBlobStore::open({.directory = root, .readOnly = true, .clock = &clock}).value();
  EXPECT_TRUE(hasBlob(*reader, "a", digest).value());
  EXPECT_EQ(fs::last_write_time(reference), uploaded);
  EXPECT_TRUE(hasBlob(*writer, "a", digest).value());
  EXPECT_EQ(fs::last_write_time(reference) - uploaded, std::chrono::hours(1)) << "a promise of the writer's";
}

TEST(LocalBlobStore, IsMadeWithTheDirectoriesAboveIt) {
  testing_support::TempDirectory directory;
  EXPECT_TRUE(openStore(directory / "new/and/deep"));
  EXPECT_TRUE(openStore(directory / "new/and/deep", true));
}

TEST(LocalBlobStore, RefusesANewerFormat) {
  testing_support::TempDirectory directory;
  ASSERT_TRUE(openStore(directory / "s"));
  for (const char* format :
       {"kiln-blob-store 2\n", "", "kiln-blob-store 1", "kiln-blob-store 1\nand more\n"}) {
    std::ofstream(directory / "s/format") << format;
    EXPECT_EQ(openStore(directory / "s").error().code, Code::kFailedPrecondition) << format;
  }
}

TEST(LocalBlobStore, AFormatThatCannotBeReadIsNotSaidToBeMissing) {
  testing_support::TempDirectory directory;
  ASSERT_TRUE(openStore(directory / "s"));
  fs::remove(directory / "s/format");
  EXPECT_EQ(openStore(directory / "s", true).error().code, Code::kNotFound);
  fs::create_symlink("format", directory / "s/format");
  const auto unreadable = openStore(directory / "s", true);
  ASSERT_FALSE(unreadable);
  EXPECT_NE(unreadable.error().code, Code::kNotFound) << unreadable.error().message;
}

TEST(LocalBlobStore, AStartWaitsForThatOfAnotherProcess) {
  testing_support::TempDirectory directory;
  ASSERT_TRUE(openStore(directory / "s"));
  testing_support::HeldLock starting(directory / "s/lock", LOCK_EX);
  auto second = std::async(std::launch::async, [&] { return openStore(directory / "s").has_value(); });
  EXPECT_TRUE(starting.isAwaitedBy(second));
  starting.release();
  EXPECT_TRUE(second.get());
}

TEST(LocalBlobStore, TheEmptyBlobNeedsNoFileAndTakesNoBytes) {
  LocalStoreHarness harness;
  const Digest empty = digestOf("");
  Digest nothing = digestOf("x");
  nothing.size = 0;
  EXPECT_TRUE(putBlob(harness.store(), "a", asBytes("")));
  const std::vector<BlobBytes> batch{{empty, asBytes("")}, {empty, asBytes("x")}, {nothing, asBytes("")}};
  const std::vector<Status> statuses = harness.store().putBatch("a", batch);
  EXPECT_TRUE(statuses[0]);
  EXPECT_EQ(statuses[1].error().code, Code::kInvalidArgument);
  EXPECT_EQ(statuses[2].error().code, Code::kInvalidArgument);
  EXPECT_EQ(filesBelow(harness.root() + "/blobs"), 0u);
  EXPECT_FALSE(fs::exists(harness.root() + "/refs/i-a/" + empty.hex()));

  auto writer = harness.store().beginWrite("a", empty).value();
  EXPECT_TRUE(writer->write(asBytes("")));
  EXPECT_EQ(writer->write(asBytes("x")).error().code, Code::kInvalidArgument);
  EXPECT_TRUE(writer->commit());
  EXPECT_EQ(harness.store().beginWrite("a", nothing).value()->commit().error().code, Code::kInvalidArgument);
}

TEST(LocalBlobStore, TheDeclaredSizeHoldsForAllWritesTogether) {
  LocalStoreHarness harness;
  auto writer = harness.store().beginWrite("a", digestOf("four")).value();
  EXPECT_TRUE(writer->write(asBytes("fo")));
  EXPECT_EQ(writer->write(asBytes("ur!")).error().code, Code::kInvalidArgument);
  EXPECT_TRUE(writer->write(asBytes("ur")));
  EXPECT_TRUE(writer->write(asBytes("")));
  EXPECT_EQ(writer->write(asBytes("!")).error().code, Code::kInvalidArgument);
  EXPECT_TRUE(writer->commit());
  EXPECT_EQ(getBlob(harness.store(), "a", digestOf("four"), 10).value(), "four");
}

TEST(LocalBlobStore, Case04MovesCorruptBlobsAside) {
  LocalStoreHarness harness;
  Digest digest = putBlob(harness.store(), "a", asBytes("evidence")).value();
  harness.corrupt(digest);
  EXPECT_EQ(getBlob(harness.store(), "a", digest, 10).error().code, Code::kDataLoss);
  EXPECT_EQ(filesBelow(harness.root() + "/quarantine"), 1u);
  EXPECT_EQ(getBlob(harness.store(), "a", digest, 10).error().code, Code::kNotFound);
}

TEST(LocalBlobStore, WhatWasQuarantinedLeavesRoomForOthers) {
  LocalStoreHarness harness({.capacity = 1000});
  const Digest digest = putBlob(harness.store(), "a", asBytes(std::string(600, 'x'))).value();
  harness.corrupt(digest);
  EXPECT_EQ(getBlob(harness.store(), "a", digest, 1000).error().code, Code::kDataLoss);
  EXPECT_TRUE(putBlob(harness.store(), "a", asBytes(std::string(1000, 'y'))));
  EXPECT_EQ(putBlob(harness.store(), "a", asBytes("z")).error().code, Code::kResourceExhausted);
}

// One byte of a blob that is said to be large keeps no room from others.
TEST(LocalBlobStore, RoomIsKeptForWhatArrives) {
  constexpr std::uint64_t kCapacity = 64 << 20, kDeclared = 60 << 20;
  LocalStoreHarness harness({.capacity = kCapacity});
  const std::string bytes(kDeclared, 'x');
  auto slow = harness.store().beginWrite("a", digestOf(bytes)).value();
  EXPECT_TRUE(slow->write(asBytes(bytes).first(1)));
  EXPECT_TRUE(putBlob(harness.store(), "b", asBytes(std::string(32 << 20, 'y'))));
  // It is refused once there is no room for it any more, and gives back what it had.
  Status written;
  for (std::size_t at = 1; written && at < kDeclared; at += 1 << 20)
    written = slow->write(asBytes(bytes).subspan(at).first(std::min<std::size_t>(1 << 20, kDeclared - at)));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::kResourceExhausted);
  slow.reset();
  EXPECT_TRUE(putBlob(harness.store(), "b", asBytes(std::string(30 << 20, 'z'))));
  // What never fits is told at its start.
  EXPECT_EQ(harness.store().beginWrite("a", digestOf(bytes)).error().code, Code::kResourceExhausted);
}

// A disk of a fixed size, of which a store's files take what they take up.
class SmallDisk {
 public:
  explicit SmallDisk(std::uint64_t bytes) : bytes_(bytes) {}
  FreeSpace freeSpace() const {
    return [this]() -> Result<std::uint64_t> {
      std::uint64_t used = 0;
      for (const auto& entry : fs::recursive_directory_iterator(directory_.path())) {
        struct stat file{};
        if (::stat(entry.path().c_str(), &file) == 0 && S_ISREG(file.st_mode))
          used += static_cast<std::uint64_t>(file.st_blocks) * 512;
      }
      return bytes_ - std::min(bytes_, used);
    };
  }
  std::string path() const { return directory_ / "store"; }

 private:
  testing_support::TempDirectory directory_;
  const std::uint64_t bytes_;
};

// What is promised to an upload is taken from the disk as it comes, and then no promise any more: of each
// size, whether its room is made at its start or as it grows.
TEST(LocalBlobStore, AnUploadInProgressTakesItsSizeOfTheDiskOnce) {
  for (const std::uint64_t size :
       {std::uint64_t{512 << 10}, std::uint64_t{4 << 20}, std::uint64_t{24 << 20}}) {
    const SmallDisk disk(2 * size + size / 2);
    auto store =
        LocalBlobStore::open({.directory = disk.path(), .keepFree = size / 4, .freeSpace = disk.freeSpace()})
            .value();
    const std::string first(size, 'x'), second(size, 'y'), third(size, 'z');
    auto writer = store->beginWrite("a", digestOf(first)).value();
    for (std::uint64_t at = 0; at < size; at += 256 << 10)
      ASSERT_TRUE(writer->write(asBytes(first).subspan(at).first(256 << 10))) << size;
    EXPECT_TRUE(putBlob(*store, "a", asBytes(second))) << size << ": there is room for two";
    EXPECT_EQ(store->beginWrite("a", digestOf(third)).error().code, Code::kResourceExhausted)
        << size << ": and for no third";
    EXPECT_TRUE(writer->commit());
    EXPECT_EQ(store->beginWrite("a", digestOf(third)).error().code, Code::kResourceExhausted) << size;
  }
}

// Pure: a disk from which whatever is placed is taken.
TEST(SpaceLedger, APromiseIsCountedUntilItIsOnTheDisk) {
  std::uint64_t free = 1000;
  SpaceLedger ledger([&]() -> Result<std::uint64_t> { return free; }, 0, 0, 100);
  auto one = ledger.reserve(400).value();
  EXPECT_FALSE(ledger.reserve(501)) << "900 are not kept free, 400 of them promised";
  free -= 300;
  one.place(300);
  EXPECT_TRUE(ledger.reserve(500)) << "300 are on the disk now, 100 still promised";
  EXPECT_FALSE(ledger.reserve(501));
  one.place(200);
  EXPECT_FALSE(ledger.reserve(501)) << "what is placed stays so";
  one.shrink(350);
  EXPECT_TRUE(ledger.reserve(550));
  EXPECT_FALSE(ledger.reserve(551));
  ASSERT_TRUE(one.grow(600));
  EXPECT_TRUE(ledger.reserve(300));
  EXPECT_FALSE(ledger.reserve(301));
  SpaceLedger::Reservation moved = std::move(one);
  free -= 300;
  moved.place(9999);
  moved.keep();
  EXPECT_TRUE(ledger.reserve(300));
  EXPECT_FALSE(ledger.reserve(301));
}

// Another process repairs the blob while the corrupt file is being read.
TEST(LocalBlobStore, OnlyTheFileThatWasReadIsQuarantined) {
  LocalStoreHarness harness;
  auto other = openStore(harness.root()).value();
  const std::string bytes(5 << 20, 'x');
  const Digest digest = putBlob(harness.store(), "a", asBytes(bytes)).value();
  harness.corrupt(digest);
  bool isRepaired = false;
  const Status read = harness.store().read("a", digest, 0, 0, [&](Bytes) -> Status {
    if (!isRepaired) isRepaired = putBlob(*other, "a", asBytes(bytes)).has_value();
    return {};
  });
  ASSERT_TRUE(isRepaired);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kDataLoss);
  EXPECT_EQ(filesBelow(harness.root() + "/quarantine"), 0u);
  EXPECT_EQ(getBlob(harness.store(), "a", digest, 6 << 20).value_or("missing"), bytes);
}

TEST(LocalBlobStore, Case04ATruncatedBlobIsMissing) {
  LocalStoreHarness harness;
  Digest digest = putBlob(harness.store(), "a", asBytes("truncated")).value();
  fs::permissions(blobFile(harness.root(), digest), fs::perms::owner_all);
  fs::resize_file(blobFile(harness.root(), digest), 3);
  EXPECT_FALSE(hasBlob(harness.store(), "a", digest).value());
  EXPECT_TRUE(putBlob(harness.store(), "a", asBytes("truncated")));
  EXPECT_EQ(getBlob(harness.store(), "a", digest, 10).value(), "truncated");
}

// Whatever lies in the place of a blob or of a reference is none, and the next upload mends it.
TEST(LocalBlobStore, WhatIsNoFileOfItsOwnIsMissingAndMended) {
  const std::map<std::string, std::function<void(const std::string&)>> others{
      {"a link to the same bytes",
       [](const std::string& path) {
         fs::copy_file(path, path + ".copy");
         fs::remove(path);
         fs::create_symlink(path + ".copy", path);
       }},
      {"a link that leads nowhere",
       [](const std::string& path) {
         fs::remove(path);
         fs::create_symlink("nowhere", path);
       }},
      {"a folder with something in it",
       [](const std::string& path) {
         fs::remove(path);
         fs::create_directories(path + "/below");
       }},
      {"a FIFO",
       [](const std::string& path) {
         fs::remove(path);
         ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
       }},
  };
  for (const auto& [what, replace] : others) {
    for (const bool reference : {false, true}) {
      LocalStoreHarness harness;
      const Digest digest = putBlob(harness.store(), "a", asBytes("whole")).value();
      std::string place = blobFile(harness.root(), digest);
      if (reference)
        for (const auto& entry : fs::recursive_directory_iterator(harness.root() + "/refs"))
          if (entry.path().filename() == digest.hex()) place = entry.path();
      replace(place);
      const std::string where = what + (reference ? " for a reference" : " for a blob");
      EXPECT_FALSE(hasBlob(harness.store(), "a", digest).value()) << where;
      EXPECT_EQ(getBlob(harness.store(), "a", digest, 10).error().code, Code::kNotFound) << where;
      const auto again = putBlob(harness.store(), "a", asBytes("whole"));
      ASSERT_TRUE(again) << where << ": " << again.error().message;
      EXPECT_EQ(getBlob(harness.store(), "a", digest, 10).value_or("missing"), "whole") << where;
    }
  }
}

TEST(LocalBlobStore, AnUploadReplacesASilentlyCorruptBlob) {
  LocalStoreHarness harness;
  Digest digest = putBlob(harness.store(), "a", asBytes("repair me")).value();
  harness.corrupt(digest);
  EXPECT_TRUE(putBlob(harness.store(), "b", asBytes("repair me")));
  EXPECT_EQ(getBlob(harness.store(), "a", digest, 10).value(), "repair me");
}

TEST(LocalBlobStore, CapacityIsKeptAndNothingIsLeftBehind) {
  LocalStoreHarness harness({.capacity = 1000});
  ASSERT_TRUE(putBlob(harness.store(), "a", asBytes(std::string(600, 'x'))));
  auto full = putBlob(harness.store(), "a", asBytes(std::string(500, 'y')));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, Code::kResourceExhausted);
  EXPECT_NE(full.error().message.find("500 bytes wanted, 400 available"), std::string::npos)
      << full.error().message;
  EXPECT_EQ(filesBelow(harness.root() + "/tmp"), 0u);
  EXPECT_EQ(filesBelow(harness.root() + "/blobs"), 1u);
  // A reservation that was given up is free again; putting the same blob again costs nothing.
  {
    auto abandoned = harness.store().beginWrite("a", digestOf(std::string(400, 'z')));
    ASSERT_TRUE(abandoned);
  }
  ASSERT_TRUE(putBlob(harness.store(), "a", asBytes(std::string(300, 'x'))));
  ASSERT_TRUE(putBlob(harness.store(), "b", asBytes(std::string(100, 'w'))));
  EXPECT_EQ(putBlob(harness.store(), "a", asBytes("1")).error().code, Code::kResourceExhausted);
}

TEST(LocalBlobStore, CapacityCountsWhatWasThere) {
  testing_support::TempDirectory directory;
  ASSERT_TRUE(putBlob(*openStore(directory / "s").value(), "a", asBytes(std::string(600, 'x'))));
  auto store = LocalBlobStore::open({.directory = directory / "s", .capacity = 1000}).value();
  EXPECT_EQ(store->beginWrite("a", digestOf(std::string(401, 'y'))).error().code, Code::kResourceExhausted);
  EXPECT_TRUE(store->beginWrite("a", digestOf(std::string(400, 'y'))));
}

TEST(LocalBlobStore, ReservationsAddUp) {
  LocalStoreHarness harness({.capacity = 1000});
  auto first = harness.store().beginWrite("a", digestOf(std::string(600, 'x')));
  ASSERT_TRUE(first);
  EXPECT_EQ(harness.store().beginWrite("a", digestOf(std::string(500, 'y'))).error().code,
            Code::kResourceExhausted);
  first->reset();
  EXPECT_TRUE(harness.store().beginWrite("a", digestOf(std::string(500, 'y'))));
}

TEST(LocalBlobStore, ADiskThatIsTooSmallRefusesAtOnce) {
  LocalStoreHarness harness;
  Digest huge = digestOf("x");
  huge.size = 1ull << 55;
  EXPECT_EQ(harness.store().beginWrite("a", huge).error().code, Code::kResourceExhausted);
  LocalStoreHarness keeping({.keepFree = 1ull << 60});
  EXPECT_EQ(putBlob(keeping.store(), "a", asBytes("x")).error().code, Code::kResourceExhausted);
}

TEST(LocalBlobStore, TempFilesOfACrashedProcessGoAtTheNextOpen) {
  testing_support::TempDirectory directory;
  std::string root = directory / "s";
  ASSERT_TRUE(openStore(root));
  pid_t child = ::fork();
  if (child == 0) {
    auto store = openStore(root).value();
    auto writer = store->beginWrite("a", digestOf("half written")).value();
    (void)writer->write(asBytes("half"));
    ::_exit(0);  // no destructor runs
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(filesBelow(root + "/tmp"), 1u);
  auto store = openStore(root).value();
  EXPECT_EQ(filesBelow(root + "/tmp"), 0u);
  EXPECT_FALSE(hasBlob(*store, "a", digestOf("half written")).value());
}

// Everything that may lie in tmp/, whoever forgot it there: only what a living store holds stays.
TEST(LocalBlobStore, WhateverNobodyHoldsInTmpGoesAtTheNextOpen) {
  testing_support::TempDirectory directory;
  const std::string root = directory / "s", outside = directory / "outside";
  auto living = openStore(root).value();
  auto writer = living->beginWrite("a", digestOf("living")).value();
  ASSERT_TRUE(writer->write(asBytes("living")));
  fs::create_directory(outside);
  std::ofstream(outside + "/kept") << "not the store's";
  std::ofstream(root + "/tmp/forgotten") << "by an interrupted copy";
  fs::permissions(root + "/tmp/forgotten", fs::perms::none);
  std::ofstream(root + "/tmp/.hidden") << "";
  ASSERT_EQ(::mkfifo((root + "/tmp/fifo").c_str(), 0600), 0);
  fs::create_directory_symlink(outside, root + "/tmp/link");
  fs::create_symlink("nowhere", root + "/tmp/dangling");
  fs::create_directories(root + "/tmp/old/deep");
  std::ofstream(root + "/tmp/old/deep/file") << "x";
  fs::create_directory_symlink(outside, root + "/tmp/old/link");

  auto second = openStore(root).value();
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(root + "/tmp"))
    left.push_back(entry.path().filename().string());
  EXPECT_EQ(left.size(), 2u) << "the two stores' own: " << testing::PrintToString(left);
  EXPECT_EQ(filesBelow(root + "/tmp"), 1u);
  EXPECT_TRUE(fs::exists(outside + "/kept")) << "links are removed, not followed";
  EXPECT_TRUE(writer->commit());
  EXPECT_EQ(getBlob(*second, "a", digestOf("living"), 10).value(), "living");
}

TEST(LocalBlobStore, TempFilesOfALivingStoreStay) {
  testing_support::TempDirectory directory;
  auto first = openStore(directory / "s").value();
  auto writer = first->beginWrite("a", digestOf("living")).value();
  ASSERT_TRUE(writer->write(asBytes("liv")));
  auto second = openStore(directory / "s").value();
  ASSERT_TRUE(writer->write(asBytes("ing")));
  EXPECT_TRUE(writer->commit());
  EXPECT_EQ(getBlob(*second, "a", digestOf("living"), 10).value(), "living");
}

TEST(LocalBlobStore, SeveralProcessesWriteAtOnce) {
  testing_support::TempDirectory directory;
  std::vector<pid_t> children;
  for (int c = 0; c < 3; ++c)
    if (pid_t child = ::fork(); child == 0) {
      auto store = openStore(directory / "s").value();
      bool good = true;
      for (int i = 0; i < 20; ++i)
        good = good && putBlob(*store, "a", asBytes("blob " + std::to_string(i))).has_value();
      ::_exit(good ? 0 : 1);
    } else {
      children.push_back(child);
    }
  for (pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  auto store = openStore(directory / "s").value();
  for (int i = 0; i < 20; ++i) {
    std::string text = "blob " + std::to_string(i);
    EXPECT_EQ(getBlob(*store, "a", digestOf(text), 100).value(), text);
  }
}

TEST(LocalBlobStore, ValidationIsTimeBounded) {
  ManualClock clock;
  LocalStoreHarness harness({.validationTtl = std::chrono::minutes(1), .clock = &clock});
  Digest digest = putBlob(harness.store(), "a", asBytes(std::string(100, 'x'))).value();
  struct stat file{};
  ASSERT_EQ(::stat(blobFile(harness.root(), digest).c_str(), &file), 0);
  ValidationCache cache(2, std::chrono::minutes(1), clock);
  cache.remember(digest, file);
  EXPECT_TRUE(cache.isValid(digest, file));
  clock.time += std::chrono::seconds(59);
  EXPECT_TRUE(cache.isValid(digest, file));
  clock.time += std::chrono::seconds(1);
  EXPECT_FALSE(cache.isValid(digest, file));
  cache.remember(digest, file);
  file.st_mtim.tv_nsec ^= 1;
  EXPECT_FALSE(cache.isValid(digest, file));
}

// The first byte of a file, changed as decay of the medium changes it: the file's times stay what they are.
// For that the mapped page must be written to once, and be of a file system that never writes it back.
class Decay {
 public:
  explicit Decay(const std::string& path) {
    UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    void* const page =
        file ? ::mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0) : MAP_FAILED;
    if (page == MAP_FAILED) return;
    byte_ = static_cast<volatile char*>(page);
    flip(), flip();
  }
  ~Decay() {
    if (isPossible()) ::munmap(const_cast<char*>(byte_), 1);
  }
  Decay(const Decay&) = delete;
  Decay& operator=(const Decay&) = delete;
  bool isPossible() const { return byte_ != nullptr; }
  void flip() { *byte_ = static_cast<char>(*byte_ ^ 4); }

 private:
  volatile char* byte_ = nullptr;
};

TEST(LocalBlobStore, AVerificationIsBelievedForItsTimeAndNoLonger) {
  char memory[] = "/dev/shm/kiln-test-XXXXXX";
  if (::mkdtemp(memory) == nullptr) GTEST_SKIP() << "needs a file system in memory";
  ManualClock clock;
  auto store = LocalBlobStore::open({.directory = std::string(memory) + "/s",
                                     .validationTtl = std::chrono::minutes(1),
                                     .clock = &clock})
                   .value();
  const std::string bytes(100, 'x');
  const Digest digest = digestOf(bytes);
  auto writer = store->beginWrite("a", digest).value();
  ASSERT_TRUE(writer->write(asBytes(bytes)));
  std::string written;
  for (const auto& entry : fs::recursive_directory_iterator(std::string(memory) + "/s/tmp"))
    if (entry.is_regular_file()) written = entry.path();
  Decay decay(written);
  if (decay.isPossible()) {
    ASSERT_TRUE(writer->commit());
    decay.flip();
    EXPECT_TRUE(getBlob(*store, "a", digest, 100)) << "was hashed when it was written";
    decay.flip();
    clock.time += std::chrono::minutes(1);
    EXPECT_EQ(getBlob(*store, "a", digest, 100).value(), bytes);
    decay.flip();
    clock.time += std::chrono::seconds(59);
    EXPECT_TRUE(getBlob(*store, "a", digest, 100)) << "was hashed when it was read";
    clock.time += std::chrono::seconds(1);
    EXPECT_EQ(getBlob(*store, "a", digest, 100).error().code, Code::kDataLoss);
  }
  writer.reset();  // no writer outlives its store
  store.reset();
  fs::remove_all(memory);
  if (!decay.isPossible()) GTEST_SKIP() << "writing to the store's files needs root";
}

TEST(LocalBlobStore, ValidationIsBoundedInNumber) {
  ManualClock clock;
  ValidationCache cache(2, std::chrono::minutes(1), clock);
  auto fileOf = [](const Digest& digest) {
    struct stat file{};
    file.st_size = static_cast<off_t>(digest.size);
    return file;
  };
  Digest a = digestOf("a"), b = digestOf("b"), c = digestOf("c");
  cache.remember(a, fileOf(a));
  cache.remember(b, fileOf(b));
  EXPECT_TRUE(cache.isValid(a, fileOf(a)));
  cache.remember(c, fileOf(c));
  EXPECT_FALSE(cache.isValid(b, fileOf(b)));
  EXPECT_TRUE(cache.isValid(a, fileOf(a)));
}

TEST(LocalBlobStore, OpenVerifiedGivesAReadableFile) {
  LocalStoreHarness harness;
  Digest digest = putBlob(harness.store(), "a", asBytes("mapped")).value();
  auto file = harness.store().openVerified("a", digest);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->size, 6u);
  char text[6];
  EXPECT_EQ(::pread(file->fd.get(), text, 6, 0), 6);
  harness.corrupt(digest);
  EXPECT_EQ(harness.store().openVerified("a", digest).error().code, Code::kDataLoss);
  EXPECT_EQ(harness.store().openVerified("b", digest).error().code, Code::kNotFound);
}

TEST(BlobStore, FilesGoInAndOut) {
  LocalStoreHarness harness;
  testing_support::TempDirectory directory;
  std::string text(3 << 20, 'f');
  std::ofstream(directory / "in") << text;
  Digest digest = putFile(harness.store(), "a", directory / "in").value();
  EXPECT_EQ(digest, digestOf(text));
  ASSERT_TRUE(getFile(harness.store(), "a", digest, directory / "out"));
  EXPECT_EQ(digestOfFile(directory / "out").value(), digest);
  EXPECT_EQ(getFile(harness.store(), "a", digest, directory / "out").error().code, Code::kAlreadyExists);
  harness.corrupt(digest);
  EXPECT_EQ(getFile(harness.store(), "a", digest, directory / "bad").error().code, Code::kDataLoss);
  EXPECT_FALSE(fs::exists(directory / "bad"));
  EXPECT_EQ(getBlob(harness.store(), "a", digest, 10).error().code, Code::kOutOfRange);
}

}  // namespace
}  // namespace kiln::storage
