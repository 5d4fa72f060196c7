// Exports from anybody: what is read of them, and what is refused.
#include "storage/oci/oci_layout_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "manifest/artifact/bundle_limit.h"
#include "manifest/artifact/media_types.h"
#include "storage/oci/oci_export.h"
#include "tests/support/temp_directory.h"

namespace kiln::storage {
namespace {

namespace fs = std::filesystem;

struct OciLayoutTest : ::testing::Test {
  testing_support::TempDirectory directory;
  const std::string root = directory / "export";
  const std::string artifactText =
      std::string(R"({"artifactType":")") + kArtifactType + R"(","schemaVersion":2})";
  const Digest artifact = digestOf(artifactText);

  OciLayoutTest() {
    fs::create_directories(root + "/blobs/sha256");
    write("oci-layout", kOciLayoutText);
    put(artifactText);
    put(kEmptyConfig);
    index({});
  }
  void write(const std::string& name, std::string_view text) {
    std::ofstream(root + "/" + name, std::ios::binary) << text;
  }
  std::string pathOf(const Digest& digest) const { return root + "/blobs/sha256/" + digest.hex(); }
  Digest put(std::string_view text) {
    const Digest digest = digestOf(text);
    std::ofstream(pathOf(digest), std::ios::binary) << text;
    return digest;
  }
  void index(const std::vector<LayoutEntry>& referrers) {
    const Digest tag = put(makeReferrersIndex(referrers).value());
    write("index.json", makeLayoutIndex(artifact, referrers, tag).value());
  }
  Digest refer(const char* type, const Digest& subject, const std::string& path, const Digest& blob) {
    return put(makeReferrer({type, subject, digestOf(kEmptyConfig), {{path, kBlobMediaType, blob}}}).value());
  }
  Result<OciExport> read() {
    KILN_ASSIGN(const auto store, OciLayoutStore::open(root));
    return readExport(*store);
  }
  Result<std::string> get(const Digest& digest, std::uint64_t offset = 0, std::uint64_t length = 0) {
    KILN_ASSIGN(const auto store, OciLayoutStore::open(root));
    std::string out;
    KILN_TRY(store->read("", digest, offset, length, [&](Bytes bytes) -> Status {
      out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return {};
    }));
    return out;
  }
};

TEST_F(OciLayoutTest, ReadsBlobsAndRanges) {
  const std::string text(3 * kChunkBytes + 17, 'x');
  const Digest blob = put(text);
  EXPECT_EQ(get(blob).value(), text);
  EXPECT_EQ(get(blob, kChunkBytes - 1, 3).value(), "xxx");
  EXPECT_EQ(get(blob, text.size(), 0).value(), "");
  EXPECT_EQ(get(blob, text.size() + 1, 0).error().code, Code::kOutOfRange);
  EXPECT_EQ(get(digestOf("")).value(), "");
  const auto store = OciLayoutStore::open(root).value();
  EXPECT_EQ(store->findMissing("", std::vector{blob, digestOf("none"), digestOf("")}).value(),
            std::vector{digestOf("none")});
  EXPECT_EQ(store->beginWrite("", blob).error().code, Code::kPermissionDenied);
}

TEST_F(OciLayoutTest, OfTheDigestsWithSizeZeroOneIsOfNoBytes) {
  const auto store = OciLayoutStore::open(root).value();
  for (const Digest& other : {Digest{}, Digest{digestOf("none").hash, 0}}) {
    EXPECT_EQ(get(other).error().code, Code::kNotFound);
    EXPECT_EQ(store->findMissing("", std::vector{other}).value(), std::vector{other});
  }
  std::ofstream(pathOf(Digest{}));
  EXPECT_EQ(get(Digest{}).error().code, Code::kDataLoss);
}

TEST_F(OciLayoutTest, NothingOfAWrongBlobIsPassedOnToItsEnd) {
  std::string text(2 * kChunkBytes + 5, 'x');
  const Digest blob = put(text);
  for (const std::size_t at : {std::size_t{0}, kChunkBytes + 1, text.size() - 1}) {
    std::string damaged = text;
    damaged[at] = 'y';
    std::ofstream(pathOf(blob), std::ios::binary) << damaged;
    std::size_t received = 0;
    const auto store = OciLayoutStore::open(root).value();
    const auto status = store->read("", blob, 0, 0, [&](Bytes bytes) -> Status {
      received += bytes.size();
      return {};
    });
    EXPECT_EQ(status.error().code, Code::kDataLoss);
    EXPECT_LT(received, text.size());
  }
  fs::resize_file(pathOf(blob), 10);
  EXPECT_EQ(get(blob).error().code, Code::kDataLoss);
  Digest huge = blob;
  huge.size = std::uint64_t{1} << 60;  // a claim allocates nothing
  EXPECT_EQ(get(huge).error().code, Code::kDataLoss);
}

TEST_F(OciLayoutTest, LinksAndSpecialFilesAreNotFollowed) {
  const Digest blob = put("content");
  fs::rename(pathOf(blob), directory / "outside");
  fs::create_symlink(directory / "outside", pathOf(blob));
  EXPECT_EQ(get(blob).error().code, Code::kDataLoss);
  fs::remove(pathOf(blob));
  ASSERT_EQ(::mkfifo(pathOf(blob).c_str(), 0600), 0);
  EXPECT_FALSE(get(blob));
  fs::rename(root + "/blobs/sha256", directory / "elsewhere");
  fs::create_symlink(directory / "elsewhere", root + "/blobs/sha256");
  EXPECT_FALSE(get(artifact));
}

TEST_F(OciLayoutTest, FindsArtifactBundlesFixturesAndClosure) {
  const Digest bundle = put("{\"bundle\":1}"), fixture = put("npy");
  const Digest config = put(makeClosureConfig({{{"bin/ptxas", digestOf("ptxas")}}}).value());
  const Digest closure =
      put(makeReferrer({kClosureType, artifact, config, {{"input/model.onnx", kBlobMediaType, fixture}}})
              .value());
  index({{refer(kBundleType, artifact, "bundles/1", bundle), kBundleType},
         {refer(kFixturesType, artifact, "default/input_0.npy", fixture), kFixturesType},
         {closure, kClosureType},
         {refer(kBundleType, digestOf("other"), "bundles/2", bundle), kBundleType}});
  const auto found = read();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->artifact, artifact);
  EXPECT_EQ(found->bundles, std::vector{bundle});
  ASSERT_EQ(found->fixtures.size(), 1u);
  EXPECT_EQ(found->fixtures[0].path, "default/input_0.npy");
  ASSERT_TRUE(found->closure);
  EXPECT_EQ(found->closure->omitted, (std::vector<ModelFile>{{"bin/ptxas", digestOf("ptxas")}}));
  EXPECT_EQ(found->referrers.size(), 3u);
}

TEST_F(OciLayoutTest, HoldsAsManyBundlesAsAnArtifactMayHave) {
  const Digest bundle = put("{\"bundle\":1}");
  std::vector<LayoutEntry> referrers;
  for (std::size_t i = 0; i < kMaxBundles; ++i)
    referrers.push_back({refer(kBundleType, artifact, "bundles/" + std::to_string(i), bundle), kBundleType});
  index(referrers);
  const auto full = read();
  ASSERT_TRUE(full) << full.error().message;
  EXPECT_EQ(full->bundles.size(), kMaxBundles);
  referrers.push_back({refer(kBundleType, artifact, "bundles/more", bundle), kBundleType});
  index(referrers);
  EXPECT_EQ(read().error().code, Code::kInvalidArgument);
}

// Manifests and bundles are read before anybody has looked at a signature.
TEST_F(OciLayoutTest, NoMoreBytesAreReadThanAnExportOfAnArtifactHas) {
  Digest large = digestOf("large");
  large.size = kMaxBundlesBytes / 8;
  std::vector<LayoutEntry> referrers;
  for (int i = 0; i < 8; ++i)
    referrers.push_back({refer(kBundleType, artifact, "bundles/" + std::to_string(i), large), kBundleType});
  index(referrers);
  const auto full = read();
  ASSERT_TRUE(full) << full.error().message;
  EXPECT_EQ(addBundle(root, *full, "{}").error().code, Code::kResourceExhausted);
  referrers.push_back({refer(kBundleType, artifact, "bundles/more", large), kBundleType});
  index(referrers);
  EXPECT_NE(read().error().message.find("all of an artifact may have"), std::string::npos);
  referrers.clear();
  for (int i = 0; i < 5; ++i) {
    Digest manifest = digestOf("manifest " + std::to_string(i));
    manifest.size = 4 << 20;
    referrers.push_back({manifest, "application/x-of-others"});
  }
  index(referrers);
  EXPECT_NE(read().error().message.find("manifests of more than"), std::string::npos);
}

TEST_F(OciLayoutTest, AddsABundle) {
  const OciExport before = read().value();
  ASSERT_TRUE(addBundle(root, before, "{\"bundle\":2}"));
  const auto after = read();
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->bundles, std::vector{digestOf("{\"bundle\":2}")});
  EXPECT_EQ(get(after->bundles[0]).value(), "{\"bundle\":2}");
  ASSERT_TRUE(addBundle(root, *after, "{\"bundle\":3}"));
  EXPECT_EQ(read()->bundles.size(), 2u);
}

TEST_F(OciLayoutTest, RefusesPathsThatEscapeAndIndexesThatAreNone) {
  const Digest blob = put("x");
  for (const char* path : {"../../etc/passwd", "/etc/passwd", "a/../b", ""}) {
    const std::string text =
        makeReferrer({kFixturesType, artifact, digestOf(kEmptyConfig), {{path, kBlobMediaType, blob}}})
            .value();
    index({{put(text), kFixturesType}});
    EXPECT_FALSE(read()) << path;
  }
  for (const char* text :
       {"", "{", "[]", R"({"schemaVersion":2})", R"({"schemaVersion":2,"manifests":[]})",
        R"({"schemaVersion":2,"manifests":[{"mediaType":"a","digest":"md5:1","size":1}]})",
        R"({"schemaVersion":2,"manifests":[{"mediaType":"a","digest":"sha256:../..","size":1}]})"}) {
    write("index.json", text);
    EXPECT_FALSE(read()) << text;
  }
  write("index.json", std::string(kMaxLayoutIndexBytes + 1, ' '));
  EXPECT_FALSE(read());
  fs::remove(root + "/index.json");
  fs::create_symlink("oci-layout", root + "/index.json");
  EXPECT_FALSE(read());
  fs::remove(root + "/oci-layout");
  EXPECT_EQ(OciLayoutStore::open(root).error().code, Code::kInvalidArgument);
  EXPECT_EQ(OciLayoutStore::open(directory / "none").error().code, Code::kNotFound);
}

}  // namespace
}  // namespace kiln::storage
