// The power is cut right after something was acknowledged: the store, the log's tiles, a fetched artifact, an
// export, a backup, a restored farm and the files of trust must be there, whole, on a disk that forgets what
// nobody synced.
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>

#include "api/client/export.h"
#include "api/node/open.h"
#include "manifest/base/durable_file.h"
#include "signing/follow/tile_directory.h"
#include "signing/keys/files.h"
#include "signing/trust/trust_state.h"
#include "signing/witness/add_checkpoint.h"
#include "signing/witness/witness.h"
#include "storage/backup/make_backup.h"
#include "storage/backup/restore_backup.h"
#include "storage/blob/local_blob_store.h"
#include "tests/api/node/signed_artifact.h"
#include "tests/support/forgetful_disk.h"

namespace kiln::fault {
namespace {

namespace fs = std::filesystem;
using storage::LocalBlobStore;
using testing_support::ForgetfulDisk;
using testing_support::TempDirectory;

class Durability : public ::testing::Test {
 protected:
  // What is left of the directory `name` after the power was cut now.
  std::string after(const std::string& name) {
    const std::string copy = directory_ / ("after" + std::to_string(++copies_));
    disk_.copyTo(copy);
    return copy + "/" + name;
  }
  std::string at(const std::string& name) const { return live_ + "/" + name; }
  void beforeNames(std::function<int()> hook) { disk_.beforeNames(std::move(hook)); }

 private:
  static std::string made(const std::string& path) {
    fs::create_directory(path);
    return path;
  }
  const TempDirectory directory_;
  const std::string live_ = made(directory_ / "live");
  ForgetfulDisk disk_{live_};
  int copies_ = 0;
};

TEST_F(Durability, TheDiskForgetsWhatNobodySynced) {
  std::ofstream(at("file")) << "bytes";
  EXPECT_FALSE(fs::exists(after("file")));
  ASSERT_TRUE(syncDirectory(at("")));
  EXPECT_TRUE(fs::exists(after("file")));
  EXPECT_EQ(fs::file_size(after("file")), 0u) << "a name without its bytes";
  fs::create_directory(at("folder"));
  ASSERT_TRUE(signing::writeTextFile(at("folder/inner"), "text"));
  EXPECT_FALSE(fs::exists(after("folder"))) << "the name of the folder itself was not synced";
  ASSERT_TRUE(syncDirectory(at("")));
  EXPECT_EQ(signing::readTextFile(after("folder/inner"), 10).value(), "text");
}

class StoreDurability : public Durability {
 protected:
  std::unique_ptr<LocalBlobStore> open(const std::string& path) {
    auto store = LocalBlobStore::open({.directory = path});
    EXPECT_TRUE(store) << store.error().message;
    return store ? std::move(*store) : nullptr;
  }
  // After a cut the instance sees these blobs, and no other does.
  void expectKept(const std::string& instance, const std::vector<std::string>& blobs) {
    const auto store = open(after("store"));
    ASSERT_NE(store, nullptr);
    for (const std::string& blob : blobs) {
      const auto read = storage::getBlob(*store, instance, digestOf(blob), 32 << 20);
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_EQ(*read, blob);
      EXPECT_FALSE(storage::hasBlob(*store, "stranger", digestOf(blob)).value());
    }
  }
  const std::unique_ptr<LocalBlobStore> store_ = open(at("store"));
};

TEST_F(StoreDurability, ANewStoreIsOne) {
  EXPECT_TRUE(fs::exists(after("store")));
  expectKept("a", {});
}

TEST_F(StoreDurability, EachBlobIsKeptOnceItIsAcknowledged) {
  const std::string large(3 << 20, 'l');
  std::vector<std::string> acknowledged;
  for (const std::string& blob : {std::string("one"), std::string("two"), large}) {
    ASSERT_TRUE(storage::putBlob(*store_, "a", asBytes(blob)));
    acknowledged.push_back(blob);
    expectKept("a", acknowledged);
  }
  ASSERT_TRUE(storage::putBlob(*store_, "b", asBytes("one"))) << "another instance gains a reference";
  expectKept("b", {"one"});
  expectKept("a", acknowledged);
}

TEST_F(StoreDurability, SmallAndLargeGroupsAreKept) {
  for (const std::size_t count : {1u, 3u, 7u, 8u, 40u, 300u}) {
    std::vector<std::string> blobs;
    for (std::size_t i = 0; i < count; ++i) blobs.push_back(std::to_string(count) + " " + std::to_string(i));
    std::vector<storage::BlobBytes> group;
    for (const std::string& blob : blobs) group.push_back({digestOf(blob), asBytes(blob)});
    const std::string instance = "of " + std::to_string(count);
    for (const Status& status : store_->putBatch(instance, group))
      ASSERT_TRUE(status) << status.error().message;
    expectKept(instance, blobs);
  }
}

TEST_F(StoreDurability, ARepairedBlobIsKept) {
  const Digest digest = storage::putBlob(*store_, "a", asBytes("to be damaged")).value();
  const std::string file = at("store/blobs/" + digest.hex().substr(0, 2) + "/" + digest.hex());
  fs::permissions(file, fs::perms(0600));
  std::ofstream(file) << "damaged bytes";
  const auto reopened = open(at("store"));
  ASSERT_FALSE(storage::getBlob(*reopened, "a", digest, 100));
  ASSERT_TRUE(storage::putBlob(*reopened, "a", asBytes("to be damaged")));
  expectKept("a", {"to be damaged"});
}

// While somebody else is about to sync its names, and after that has failed.
TEST_F(StoreDurability, ABlobThatIsSaidToBeThereIsKept) {
  const auto asker = open(at("store"));
  ASSERT_NE(asker, nullptr);
  for (const std::size_t count : {1u, 3u, 40u})
    for (const bool fails : {false, true}) {
      const std::string name = std::to_string(count) + (fails ? " failing" : " passing");
      std::vector<std::string> blobs;
      for (std::size_t i = 0; i < count; ++i) blobs.push_back(name + " " + std::to_string(i));
      std::vector<storage::BlobBytes> group;
      for (const std::string& blob : blobs) group.push_back({digestOf(blob), asBytes(blob)});
      int promised = 0;
      beforeNames([&] {
        for (const std::string& blob : blobs) {
          const bool there = storage::hasBlob(*asker, name, digestOf(blob)).value();
          if (!there) continue;
          ++promised;
          expectKept(name, {blob});
        }
        return fails && promised > 0 ? EIO : 0;
      });
      for (const Status& status : store_->putBatch(name, group))
        EXPECT_EQ(status.has_value(), !fails) << name;
      EXPECT_GT(promised, 0) << name;
      beforeNames([] { return EIO; });
      const std::string late = name + " late";
      EXPECT_FALSE(storage::putBlob(*store_, name, digestOf(late), asBytes(late)));
      EXPECT_FALSE(storage::hasBlob(*store_, name, digestOf(late)).value()) << name;
      beforeNames(nullptr);
      if (storage::hasBlob(*store_, name, digestOf(late)).value()) expectKept(name, {late});
    }
}

// Another instance's reference is old, the name of the bytes is new.
TEST_F(StoreDurability, ARepairedBlobIsSaidToBeThereOnceItsNameIsKept) {
  const std::string text = "to be damaged";
  const Digest digest = storage::putBlob(*store_, "a", asBytes(text)).value();
  ASSERT_TRUE(storage::putBlob(*store_, "b", digest, asBytes(text)));
  ASSERT_TRUE(fs::remove(at("store/blobs/" + digest.hex().substr(0, 2) + "/" + digest.hex())));
  ASSERT_TRUE(syncDirectory(at("store/blobs/" + digest.hex().substr(0, 2))));
  beforeNames([] { return EIO; });
  EXPECT_FALSE(storage::putBlob(*store_, "a", digest, asBytes(text)));
  for (const char* instance : {"a", "b"})
    EXPECT_FALSE(storage::hasBlob(*store_, instance, digest).value()) << instance;
  beforeNames(nullptr);
  EXPECT_TRUE(storage::hasBlob(*store_, "b", digest).value());
  expectKept("b", {text});
}

TEST_F(Durability, TilesAndCheckpointsAreKept) {
  using namespace signing;
  auto tiles = WritableTiles::open(at("log"));
  ASSERT_TRUE(tiles) << tiles.error().message;
  std::uint64_t size = 0;
  for (const std::uint64_t step : {3u, 300u, 70000u}) {
    std::vector<std::string> leaves;
    for (std::uint64_t i = 0; i < step; ++i) leaves.push_back("leaf " + std::to_string(size + i));
    const TileMap grown = grow(*tiles, size, leaves).value();
    ASSERT_TRUE(tiles->write(grown));
    size += step;
    TileTree live(*tiles, size);
    TileDirectory left(after("log"));
    TileTree tree(left, size);
    EXPECT_EQ(treeRoot(tree, size).value(), treeRoot(live, size).value());
    EXPECT_EQ(readEntries(left, size, size - 3, size).value(),
              readEntries(*tiles, size, size - 3, size).value());
    const std::string note = "note " + std::to_string(size);
    ASSERT_TRUE(tiles->stage(note));
    EXPECT_EQ(readTextFile(after("log/checkpoint.staged"), 100).value(), note);
    ASSERT_TRUE(tiles->publish(note));
    EXPECT_EQ(TileDirectory(after("log")).checkpoint().value(), note);
  }
}

// Each file below `live` is below `left` with the same bytes; how many there are.
std::size_t expectSame(const std::string& live, const std::string& left) {
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(live)) {
    const fs::path copy = left / fs::relative(entry.path(), live);
    EXPECT_TRUE(fs::exists(copy)) << copy;
    if (!entry.is_regular_file() || !fs::exists(copy)) continue;
    EXPECT_EQ(digestOfFile(copy.string()).value(), digestOfFile(entry.path().string()).value()) << copy;
    ++files;
  }
  return files;
}

TEST_F(Durability, AFetchedArtifactIsKeptWhole) {
  testing_support::SignedArtifact artifact;
  ASSERT_TRUE(
      node::fetchArtifact(artifact.farm.store, artifact.ref, at("artifact"), artifact.trust, SystemClock()));
  const std::string left = after("artifact");
  const auto opened = node::openArtifact(left, artifact.farm.artifact, artifact.trust, SystemClock());
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_GT(expectSame(at("artifact"), left), 6u);
}

TEST_F(Durability, AnExportIsKeptWhole) {
  testing_support::SignedArtifact artifact;
  ASSERT_TRUE(
      node::fetchArtifact(artifact.farm.store, artifact.ref, at("artifact"), artifact.trust, SystemClock()));
  const auto opened =
      node::openArtifact(at("artifact"), artifact.farm.artifact, artifact.trust, SystemClock());
  ASSERT_TRUE(opened) << opened.error().message;
  const auto exported = client::exportArtifact({*opened, at("oci"), nullptr, {}, false});
  ASSERT_TRUE(exported) << exported.error().message;
  EXPECT_GT(expectSame(at("oci"), after("oci")), 6u);
}

TEST_F(Durability, ABackupIsKeptWholeAndSoIsTheFarmRestoredFromIt) {
  const auto store = LocalBlobStore::open({.directory = at("farm/store")});
  ASSERT_TRUE(store) << store.error().message;
  ASSERT_TRUE(storage::putBlob(**store, "a", asBytes("one")));
  fs::create_directories(at("farm/records/2026"));
  std::ofstream(at("farm/records/2026/one.json")) << "a record";
  const auto made = storage::makeBackup({.farm = at("farm"),
                                         .destination = at("backup"),
                                         .program = "kiln test",
                                         .dumpDatabase =
                                             [](const std::string& path) {
                                               std::ofstream(path) << "the dump";
                                               return Status();
                                             },
                                         .check = [](const std::string&) { return Status(); }});
  ASSERT_TRUE(made) << made.error().message;
  const std::string left = after("backup");
  EXPECT_GT(expectSame(at("backup"), left), 4u);
  const auto restored = storage::restoreBackup({.source = left,
                                                .farm = at("restored"),
                                                .check = [](const std::string&) { return Status(); },
                                                .loadDatabase = [](const std::string&) { return Status(); }});
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_GT(expectSame(at("restored"), after("restored")), 3u);
}

TEST_F(Durability, FilesOfTrustAreKept) {
  using namespace signing;
  ASSERT_TRUE(writeSecretFile(at("key.pem"), "secret"));
  EXPECT_EQ(readTextFile(after("key.pem"), 100).value_or("gone"), "secret");
  ASSERT_TRUE(writeTextFile(at("root.json"), "root"));
  EXPECT_EQ(readTextFile(after("root.json"), 100).value_or("gone"), "root");
  for (const char* text : {"first", "second"}) {
    ASSERT_TRUE(replaceFile(at("recalls.json"), text));
    EXPECT_EQ(readTextFile(after("recalls.json"), 100).value_or("gone"), text);
  }
  for (const std::uint64_t version : {1u, 2u}) {
    ASSERT_TRUE(TrustState::update(at("state"), [&](TrustState& state) -> Status {
      state.recallsVersion = version;
      return {};
    }));
    EXPECT_EQ(TrustState::load(after("state"))->recallsVersion, version);
  }
}

// A witness that forgets may cosign two histories.
TEST_F(Durability, AWitnessRemembersWhatItCosigned) {
  using namespace signing;
  const Ed25519PrivateKey logKey = Ed25519PrivateKey::create().value(),
                          key = Ed25519PrivateKey::create().value();
  const VerifierKey log{"log.example", NoteKeyKind::kEd25519, logKey.publicKey()};
  const SystemClock clock;
  auto witness = Witness::open(at("witness"), "witness.example", key, {log}, clock).value();
  const std::string note = signCheckpoint({log.name, 1, leafHash("leaf")}, logKey)->toString();
  ASSERT_EQ(witness->addCheckpoint(AddCheckpoint{0, {}, note}.text()).status, 200);
  const auto again = Witness::open(after("witness"), "witness.example", key, {log}, clock);
  ASSERT_TRUE(again) << again.error().message;
  const auto kept = (*again)->last(log.name);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(openCheckpoint(parseNote(*kept).value(), log)->size, 1u);
}

}  // namespace
}  // namespace kiln::fault
