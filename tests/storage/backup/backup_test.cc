#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <thread>

#include "manifest/base/scratch_directory.h"
#include "storage/backup/make_backup.h"
#include "storage/backup/restore_backup.h"
#include "storage/blob/local_blob_store.h"
#include "tests/support/golden.h"
#include "tests/support/local_store_harness.h"
#include "tests/support/manual_clock.h"

namespace kiln::storage {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::readGolden;

// A farm's directory with a store, records and keys; the database is a text.
class BackupTest : public ::testing::Test {
 protected:
  BackupTest() {
    store_ = LocalBlobStore::open({.directory = farm() + "/store"}).value();
    first_ = putBlob(*store_, "a", asBytes("first blob")).value();
    second_ = putBlob(*store_, "b", asBytes("second blob")).value();
    EXPECT_TRUE(putBlob(*store_, "a", asBytes("")));
    write("records/2026/one.json", "a record", 0600);
    write("keys/signer.pem", "a private key", 0600);
    write("policy.json", "{}", 0644);
    write("logs/coordinator.log", "of no use later", 0600);
    write("pg/data/PG_VERSION", "15", 0600);
  }
  void write(const std::string& path, const std::string& text, unsigned mode) {
    fs::create_directories(fs::path(farm() + "/" + path).parent_path());
    std::ofstream(farm() + "/" + path) << text;
    ::chmod((farm() + "/" + path).c_str(), mode);
  }
  std::string farm() const { return directory_ / "farm"; }
  std::string backup() const { return directory_ / "backup"; }
  std::string restored() const { return directory_ / "restored"; }

  BackupRequest request() {
    return {.farm = farm(),
            .destination = backup(),
            .program = "kiln test",
            .now = clock_.now(),
            .dumpDatabase =
                [](const std::string& path) {
                  std::ofstream(path) << "the dump";
                  return Status();
                },
            .check = noObjection};
  }
  static Status noObjection(const std::string&) { return {}; }
  RestoreRequest restoring() {
    return {.source = backup(),
            .farm = restored(),
            .check = noObjection,
            .loadDatabase = [&](const std::string& path) {
              loaded_ = readGolden(path);
              return Status();
            }};
  }
  Result<BackupDocument> restore() { return restoreBackup(restoring()); }
  void expectNoRestore(const std::string& why) {
    const auto result = restore();
    ASSERT_FALSE(result) << why;
    EXPECT_EQ(result.error().code, Code::kDataLoss) << result.error().message;
    EXPECT_THAT(result.error().message, HasSubstr(why));
    EXPECT_EQ(loaded_, "") << "the database is loaded last";
    EXPECT_FALSE(fs::exists(restored())) << "nothing is left in the way of the next try";
  }
  // Replaces a file of the backup.
  void damage(const std::string& path, const std::string& text) {
    ::chmod((backup() + "/" + path).c_str(), 0600);
    std::ofstream(backup() + "/" + path, std::ios::trunc) << text;
  }
  static std::string blobPath(const Digest& digest) {
    return "store/blobs/" + digest.hex().substr(0, 2) + "/" + digest.hex();
  }

  testing_support::TempDirectory directory_;
  testing_support::ManualClock clock_;
  std::unique_ptr<LocalBlobStore> store_;
  Digest first_, second_;
  std::string loaded_;
};

TEST_F(BackupTest, WhatWasThereComesBack) {
  BackupRequest asked = request();
  asked.withKeys = true;
  const auto made = makeBackup(asked);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->blobs, 2u);
  EXPECT_EQ(made->blobBytes, first_.size + second_.size);
  ASSERT_EQ(made->files.size(), 3u);
  EXPECT_EQ(made->files[0].path, "keys/signer.pem");
  EXPECT_EQ(BackupDocument::parse(readGolden(backup() + "/backup.json")).value(), *made);
  store_.reset();
  fs::remove_all(farm());

  const auto back = restore();
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(loaded_, "the dump");
  EXPECT_EQ(readGolden(restored() + "/records/2026/one.json"), "a record");
  struct stat status{};
  ASSERT_EQ(::stat((restored() + "/keys/signer.pem").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat((restored() + "/keys").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_FALSE(fs::exists(restored() + "/logs"));
  const auto store = LocalBlobStore::open({.directory = restored() + "/store"}).value();
  EXPECT_EQ(getBlob(*store, "a", first_, 100).value(), "first blob");
  EXPECT_EQ(getBlob(*store, "b", second_, 100).value(), "second blob");
  EXPECT_EQ(getBlob(*store, "b", first_, 100).error().code, Code::kNotFound) << "instances stay apart";
  EXPECT_EQ(restore().error().code, Code::kAlreadyExists);
}

TEST_F(BackupTest, KeysAreTakenOnlyWhenAskedFor) {
  ASSERT_TRUE(makeBackup(request()));
  EXPECT_FALSE(fs::exists(backup() + "/state/keys"));
  EXPECT_EQ(makeBackup(request()).error().code, Code::kAlreadyExists);
}

TEST_F(BackupTest, HardLinksShareTheBytes) {
  BackupRequest asked = request();
  asked.blobs = Transfer::kHardLink;
  ASSERT_TRUE(makeBackup(asked));
  EXPECT_TRUE(fs::equivalent(backup() + "/" + blobPath(first_), farm() + "/" + blobPath(first_)));
  ASSERT_TRUE(restore());
  EXPECT_FALSE(fs::equivalent(restored() + "/" + blobPath(first_), farm() + "/" + blobPath(first_)));
}

TEST_F(BackupTest, ADamagedBlobIsLeftOutAndSaid) {
  flipBit(farm() + "/store", first_);
  const auto made = makeBackup(request());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(made->damaged, ElementsAre(first_.text()));
  EXPECT_EQ(made->blobs, 1u);
  ASSERT_TRUE(restore());
  const auto store = LocalBlobStore::open({.directory = restored() + "/store"}).value();
  EXPECT_EQ(getBlob(*store, "b", second_, 100).value(), "second blob");
  EXPECT_FALSE(getBlob(*store, "a", first_, 100));
}

// What is in a place, without what lies below.
std::vector<std::string> namesIn(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

// A FIFO would be waited for, a device has no end.
TEST_F(BackupTest, WhatIsNoFileInABackupIsRefusedAndNotWaitedFor) {
  ASSERT_TRUE(makeBackup(request()));
  for (const std::string& path :
       {std::string("backup.json"), std::string("database.dump"), std::string("state/policy.json"),
        std::string("store/format"), "store/refs/i-a/" + first_.hex(), blobPath(first_)}) {
    const std::string file = backup() + "/" + path, aside = directory_ / "aside";
    ASSERT_TRUE(fs::exists(file)) << path;
    fs::rename(file, aside);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    const auto result = restore();
    EXPECT_FALSE(result) << path;
    EXPECT_EQ(loaded_, "") << path;
    EXPECT_FALSE(fs::exists(restored())) << path;
    fs::remove(file);
    fs::rename(aside, file);
  }
  EXPECT_TRUE(restore());
}

// What the bucket keeps is not copied, and nothing is looked for in the folder.
TEST_F(BackupTest, OfAFarmOnABucketHoldsNoBlobs) {
  store_.reset();
  fs::remove_all(farm() + "/store");
  std::ofstream(farm() + "/store.url") << "s3://bucket/farm\n";
  const auto made = makeBackup(request());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->blobs, 0u);
  const auto back = restore();
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(readGolden(restored() + "/store.url"), "s3://bucket/farm\n");
  EXPECT_FALSE(fs::exists(restored() + "/store"));
}

TEST_F(BackupTest, AFailedRestoreLeavesThePlaceAsItWas) {
  ASSERT_TRUE(makeBackup(request()));
  fs::create_directories(restored() + "/pg/data");
  const auto fails = [&](std::function<Status(const std::string&)> load) {
    RestoreRequest asked = restoring();
    asked.loadDatabase = std::move(load);
    return restoreBackup(asked).error();
  };
  EXPECT_EQ(fails([](const std::string&) { return Status(fail(Code::kUnavailable, "no server")); }).code,
            Code::kUnavailable);
  EXPECT_EQ(namesIn(restored()), std::vector<std::string>{"pg"});
  // Somebody puts something in the way meanwhile: what had its name already loses it again.
  const Error late = fails([&](const std::string&) {
    fs::create_directory(restored() + "/store");
    return Status();
  });
  EXPECT_EQ(late.code, Code::kAlreadyExists);
  EXPECT_THAT(late.message, HasSubstr("an empty one"));
  EXPECT_EQ(namesIn(restored()), (std::vector<std::string>{"pg", kRestoreUnfinished, "store"}))
      << "no farm is started beside a database of another";
  EXPECT_THAT(restore().error().message, HasSubstr("left of a restore that was cut off"));
  fs::remove(restored() + "/store");
  EXPECT_EQ(fails([](const std::string&) { return Status(fail(Code::kAlreadyExists, "not empty")); }).code,
            Code::kAlreadyExists);
  EXPECT_EQ(namesIn(restored()), (std::vector<std::string>{"pg", kRestoreUnfinished}))
      << "what was loaded before is still there";
  const auto back = restore();
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(namesIn(restored()), (std::vector<std::string>{"pg", "policy.json", "records", "store"}));
}

// Database and log may be of two farms: whoever knows of both says so before anything is made.
TEST_F(BackupTest, WhatDoesNotBelongTogetherIsNeitherPutByNorBroughtBack) {
  const auto before = namesIn(directory_.path());
  const auto objection = [&](const std::string& seen) -> Status {
    EXPECT_EQ(readGolden(seen + "/database.dump"), "the dump");
    EXPECT_EQ(readGolden(seen + "/state/policy.json"), "{}");
    return fail(Code::kDataLoss, "of two farms");
  };
  BackupRequest asked = request();
  asked.check = objection;
  EXPECT_EQ(makeBackup(asked).error().code, Code::kDataLoss);
  EXPECT_EQ(namesIn(directory_.path()), before);
  ASSERT_TRUE(makeBackup(request()));
  RestoreRequest wrong = restoring();
  wrong.check = objection;
  EXPECT_EQ(restoreBackup(wrong).error().code, Code::kDataLoss);
  EXPECT_EQ(loaded_, "");
  EXPECT_FALSE(fs::exists(restored()));
}

// Some of these are run by whoever starts the farm, some name what the signer loads, some are of no use.
TEST_F(BackupTest, OnlyWhatBelongsInABackupIsPlaced) {
  const std::vector<std::string> others{"kiln.env",
                                        "metrics/signer.port",
                                        "prometheus.yml",
                                        "run/services.json",
                                        "logs/x",
                                        "pg/data/x",
                                        "sock/x",
                                        "workers/w/x",
                                        "keys/signer.uri",
                                        "restore.unfinished",
                                        ".restore-abcdef/policy.json",
                                        "sample/.x.partial-abcdef/program.so",
                                        ".x.partial-abcdef/x"};
  for (const std::string& path : others) {
    EXPECT_FALSE(belongsInBackup(path)) << path;
    write(path, "of no use later", 0600);
  }
  write("store.json", "a name that only begins like one", 0600);
  BackupRequest asked = request();
  asked.withKeys = true;
  const auto made = makeBackup(asked);
  ASSERT_TRUE(made) << made.error().message;
  for (const BackupFile& file : made->files) EXPECT_TRUE(belongsInBackup(file.path)) << file.path;
  EXPECT_EQ(made->files.size(), 4u);
  // Somebody adds them, with all that belongs to it.
  BackupDocument hostile = *made;
  const std::string text = "rm -rf everything";
  for (const std::string& path : others) {
    fs::create_directories(fs::path(backup() + "/state/" + path).parent_path());
    std::ofstream(backup() + "/state/" + path) << text;
    hostile.files.push_back({path, digestOf(text), 0755});
  }
  hostile.files.push_back({"store/blobs/planted", digestOf(text), 0755});
  std::ranges::sort(hostile.files, {}, &BackupFile::path);
  damage("backup.json", toCanonicalJson(hostile.toJson()).value());
  const auto back = restore();
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(namesIn(restored()),
            (std::vector<std::string>{"keys", "policy.json", "records", "store", "store.json"}));
  EXPECT_EQ(namesIn(restored() + "/keys"), std::vector<std::string>{"signer.pem"});
  EXPECT_FALSE(fs::exists(restored() + "/store/blobs/planted"));
}

// Where a restore is ended: before a database is loaded, after, and with each name that a file gets.
int namesToGive = 0;          // before it is ended; 0 for never
std::function<void()> ended;  // what ends it

struct CutOff : BackupTest {
  // As infra/postgres leaves it.
  CutOff() {
    EXPECT_TRUE(makeBackup(request()));
    fs::create_directories(restored() + "/pg/data");
  }
  // Runs it in a process that `end` ends; returns whether it got that far.
  bool restoreUntil(int names, std::function<void()> end) {
    const pid_t child = ::fork();
    if (child == 0) {
      namesToGive = names;
      ended = std::move(end);
      RestoreRequest asked = restoring();
      asked.loadDatabase = [&](const std::string&) {
        std::ofstream(directory_ / "loaded") << "yes";
        if (names == 0) ended();
        return Status();
      };
      ::_exit(restoreBackup(asked) ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }
  // Nothing is there, all of it is, or whoever starts a farm here is told.
  void expectAllOrNothing(const std::string& when) {
    std::vector<std::string> names = namesIn(restored());
    std::erase_if(names, [](const std::string& name) { return name.starts_with(".restore-"); });
    if (std::ranges::find(names, kRestoreUnfinished) != names.end()) {
      // And the next restore does not take the mark away.
      if (names.size() > 2) {
        EXPECT_EQ(restore().error().code, Code::kAlreadyExists) << when;
        EXPECT_TRUE(fs::exists(restored() + "/" + kRestoreUnfinished)) << when;
      }
    } else {
      EXPECT_FALSE(fs::exists(directory_ / "loaded") && names.size() == 1) << when;
      EXPECT_TRUE(names.size() == 1 || names.size() == 4) << when << " leaves " << names.size();
    }
    if (fs::exists(restored() + "/store")) {
      const auto store = LocalBlobStore::open({.directory = restored() + "/store"}).value();
      EXPECT_EQ(getBlob(*store, "a", first_, 100).value_or("nothing"), "first blob") << when;
    }
  }
  void again() {
    fs::remove_all(restored());
    fs::remove(directory_ / "loaded");
    fs::create_directories(restored() + "/pg/data");
  }
};

TEST_F(CutOff, AKillAtAnyStepIsSeenByTheNextStart) {
  int steps = 0;
  for (;; ++steps) {
    const bool cut = restoreUntil(steps, [] { ::raise(SIGKILL); });
    expectAllOrNothing("a kill at step " + std::to_string(steps));
    if (!cut) break;
    again();
  }
  EXPECT_EQ(steps, 4) << "the database, policy.json, records, store";
  EXPECT_FALSE(fs::exists(restored() + "/" + kRestoreUnfinished));
}

// SIGTERM: everything in the making is removed while the files get their names.
TEST_F(CutOff, AnInterruptEmptiesNothingThatHasItsName) {
  for (int step = 0; step < 4; ++step) {
    restoreUntil(step, [] {
      auto done = std::make_shared<std::promise<void>>();
      auto removed = done->get_future();
      std::thread([done] {
        ScratchDirectory::removeAllAndStop();
        ::_exit(128 + SIGTERM);
      }).detach();
      // Whoever removes either waits for the names, or has removed everything by then.
      removed.wait_for(std::chrono::milliseconds(200));
    });
    expectAllOrNothing("an interrupt at step " + std::to_string(step));
    again();
  }
}

TEST_F(BackupTest, NothingIsWrittenOverByARestore) {
  ASSERT_TRUE(makeBackup(request()));
  for (const char* name : {"store", "policy.json", "records"}) {
    fs::create_directories(restored() + "/" + name);
    const auto result = restore();
    ASSERT_FALSE(result) << name;
    EXPECT_EQ(result.error().code, Code::kAlreadyExists) << name;
    EXPECT_THAT(result.error().message, HasSubstr(restored() + "/" + name));
    EXPECT_EQ(namesIn(restored()), std::vector<std::string>{name});
    fs::remove_all(restored());
  }
}

TEST_F(BackupTest, AFailedBackupLeavesNothing) {
  const auto before = namesIn(directory_.path());
  BackupRequest asked = request();
  asked.dumpDatabase = [](const std::string& path) {
    std::ofstream(path) << "half a du";
    return Status(fail(Code::kUnavailable, "the server has gone away"));
  };
  EXPECT_EQ(makeBackup(asked).error().code, Code::kUnavailable);
  EXPECT_EQ(namesIn(directory_.path()), before);
  asked = request();
  asked.dumpDatabase = [](const std::string&) { return Status(); };  // of which nothing comes
  EXPECT_FALSE(makeBackup(asked));
  EXPECT_EQ(namesIn(directory_.path()), before);
  fs::rename(farm() + "/store/format", directory_ / "format");
  EXPECT_FALSE(makeBackup(request()));
  fs::rename(directory_ / "format", farm() + "/store/format");
  EXPECT_EQ(namesIn(directory_.path()), before);
  ASSERT_TRUE(makeBackup(request()));
}

// A restore would refuse such a name, when it is too late.
TEST_F(BackupTest, ANameThatNobodyCouldRestoreIsToldNow) {
  for (const char* name : {"records/back\\slash", "records/line\nfeed", "records/no utf-8 \xff"}) {
    write(name, "a record", 0600);
    const auto made = makeBackup(request());
    ASSERT_FALSE(made) << name;
    EXPECT_THAT(made.error().message, HasSubstr("unsafe path")) << name;
    fs::remove(farm() + "/" + name);
  }
  EXPECT_TRUE(makeBackup(request()));
}

TEST_F(BackupTest, WithoutTheDumpThereIsNoBackup) {
  BackupRequest asked = request();
  asked.dumpDatabase = [](const std::string&) { return Status(fail(Code::kUnavailable, "no server")); };
  EXPECT_EQ(makeBackup(asked).error().code, Code::kUnavailable);
  EXPECT_FALSE(fs::exists(backup() + "/backup.json"));
  EXPECT_FALSE(restore());
  asked.destination = farm() + "/backup";
  EXPECT_EQ(makeBackup(asked).error().code, Code::kInvalidArgument);
}

// The farm's own folder by way of a link is its own folder, and a link in it leads out of it.
TEST_F(BackupTest, ALinkIsFollowedOnceForWhatIsCheckedAndWritten) {
  fs::create_directories(directory_ / "elsewhere/deep");
  fs::create_directory_symlink(directory_ / "elsewhere/deep", farm() + "/link");
  fs::create_directories(farm() + "/sub/deep");
  fs::create_directory_symlink(farm() + "/sub/deep", directory_ / "into");
  BackupRequest asked = request();
  for (const std::string& inside : {directory_ / "into/b", directory_ / "into/../b"}) {
    asked.destination = inside;
    const auto refused = makeBackup(asked);
    ASSERT_FALSE(refused) << inside;
    EXPECT_THAT(refused.error().message, HasSubstr("own directory")) << inside;
    EXPECT_EQ(namesIn(farm() + "/sub"), std::vector<std::string>{"deep"}) << inside;
  }
  asked.destination = farm() + "/link/../b";
  ASSERT_TRUE(makeBackup(asked));
  EXPECT_TRUE(fs::exists(directory_ / "elsewhere/b/backup.json"));
}

// Each form of the two paths, from a folder beside the farm and from within it.
TEST_F(BackupTest, WhereItLiesIsJudgedByThePlaceAndNotByTheSpelling) {
  const fs::path before = fs::current_path();
  const auto outcome = [&](const fs::path& from, const std::string& farmPath, const std::string& to) {
    fs::current_path(from);
    BackupRequest asked = request();
    asked.farm = farmPath;
    asked.destination = to;
    const auto made = makeBackup(asked);
    if (made) fs::remove_all(to);
    fs::current_path(before);
    return made ? std::string("made") : made.error().message;
  };
  const fs::path home = directory_.path();
  for (const std::string& farmPath : {std::string("farm"), std::string("./farm/"), farm()}) {
    for (const std::string& to :
         {std::string("b"), std::string("./b"), std::string("farm-b"), directory_ / "b"})
      EXPECT_EQ(outcome(home, farmPath, to), "made") << farmPath << " to " << to;
    for (const std::string& to :
         {std::string("farm/b"), std::string("./farm/../farm/b"), std::string("farm/..b"), farm() + "/b"})
      EXPECT_THAT(outcome(home, farmPath, to), HasSubstr("own directory")) << farmPath << " to " << to;
  }
  EXPECT_THAT(outcome(farm(), ".", "b"), HasSubstr("own directory"));
  EXPECT_EQ(outcome(farm(), ".", "../b"), "made");
}

TEST_F(BackupTest, AChangedBackupIsNotRestored) {
  ASSERT_TRUE(makeBackup(request()));
  const auto change = [&](const std::string& path, const std::string& text, const std::string& why) {
    const std::string good = readGolden(backup() + "/" + path);
    damage(path, text);
    expectNoRestore(why);
    damage(path, good);
  };
  change(blobPath(first_), "other bytes", "its bytes are not its name's");
  change("database.dump", "another dump", "is not what was backed up");
  change("state/records/2026/one.json", "another record", "is not what was backed up");
  fs::rename(backup() + "/" + blobPath(first_), directory_ / "aside");
  expectNoRestore("holds 1 blobs where there were 2");
  fs::rename(directory_ / "aside", backup() + "/" + blobPath(first_));
  // A reference without its bytes.
  std::ofstream(backup() + "/store/refs/i-a/" + digestOf("nothing").hex()) << "";
  expectNoRestore("is missing, and an instance refers to it");
}

// All of it may have been made anew, so that it fits together.
TEST_F(BackupTest, AnotherBackupThanTheNamedOneIsNotRestored) {
  const auto made = makeBackup(request());
  ASSERT_TRUE(made);
  RestoreRequest named = restoring();
  named.document = made->digest();
  const std::string document = readGolden(backup() + "/backup.json");
  auto other = BackupDocument::parse(document).value();
  other.database = digestOf("another dump");
  damage("database.dump", "another dump");
  damage("backup.json", *toCanonicalJson(other.toJson()));
  const auto refused = restoreBackup(named);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kDataLoss);
  EXPECT_THAT(refused.error().message, HasSubstr(made->digest().text()));
  damage("database.dump", "the dump");
  damage("backup.json", document);
  EXPECT_TRUE(restoreBackup(named));
}

TEST(BackupDocument, BadDocumentsAreRefused) {
  const Json good = parseJson(readGolden(KILN_GOLDEN "/v1/backup.json")).value();
  ASSERT_TRUE(BackupDocument::parse(good.dump()));
  const auto with = [&](const char* pointer, const Json& value) {
    Json json = good;
    json[Json::json_pointer(pointer)] = value;
    const auto parsed = BackupDocument::parse(json.dump());
    return parsed ? std::string() : parsed.error().message;
  };
  for (const char* path : {"../escape", "/etc/passwd", "a/../b", "", "a//b"})
    EXPECT_THAT(with("/files/0/path", path), HasSubstr("backup.files[0].path")) << path;
  EXPECT_THAT(with("/files/0/mode", 04755), HasSubstr("mode"));
  EXPECT_THAT(with("/files/1", good["files"][0]), HasSubstr("sorted"));
  EXPECT_THAT(with("/damaged/0", "abc"), HasSubstr("damaged"));
  EXPECT_THAT(with("/createdOn", "yesterday"), HasSubstr("createdOn"));
  EXPECT_THAT(with("/more", 1), HasSubstr("more"));
}

}  // namespace
}  // namespace kiln::storage

// In libc's place: what gives a file of a restore its name.
extern "C" int renameat2(int from, const char* old, int to, const char* name, unsigned flags) noexcept {
  if (kiln::storage::namesToGive > 0 && --kiln::storage::namesToGive == 0) kiln::storage::ended();
  return static_cast<int>(::syscall(SYS_renameat2, from, old, to, name, flags));
}
