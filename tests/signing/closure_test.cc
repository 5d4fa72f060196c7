// What the signer reads before it signs, from a store that it does not believe.
#include "signing/server/closure.h"

#include <gtest/gtest.h>

#include "manifest/artifact/fixture_list.h"
#include "tests/api/node/lying_store.h"
#include "tests/signing/farm_fixture.h"

namespace kiln::signing {
namespace {

using testing_support::Lie;

struct ClosureTest : ::testing::Test {
  Farm farm;
  testing_support::LyingStore store{farm.store};
  const Digest manifest = digestOf(farm.manifestText), fixtures = digestOf(farm.fixtureList);

  template <class T>
  static void expectRefused(const Result<T>& read, const std::string& part) {
    ASSERT_FALSE(read) << part;
    EXPECT_EQ(read.error().code, Code::kFailedPrecondition) << read.error().message;
    EXPECT_NE(read.error().message.find(part), std::string::npos) << read.error().message;
  }
};

// Hands out a blob of 64 pieces, whatever was asked for, and counts those that were taken.
class EagerStore final : public storage::BlobStore {
 public:
  std::size_t taken = 0;

  Status read(const std::string&, const Digest&, std::uint64_t, std::uint64_t,
              const storage::ByteSink& sink) override {
    for (; taken < 64; ++taken) KILN_TRY(sink(asBytes("piece")));
    return {};
  }
  Result<std::unique_ptr<storage::BlobWriter>> beginWrite(const std::string&, const Digest&) override {
    return fail(Code::kUnimplemented, "");
  }
  Result<std::vector<Digest>> findMissing(const std::string&, std::span<const Digest>) override {
    return fail(Code::kUnimplemented, "");
  }
};

TEST_F(ClosureTest, ReadsWhatIsThere) {
  EXPECT_EQ(loadBlob(store, "default", manifest, manifest.size, "text").value(), farm.manifestText);
  EXPECT_TRUE(checkBlob(store, "default", manifest, "text"));
  for (const auto& load : {loadManifests, loadClosure}) {
    const auto closure = load(store, "default", farm.artifact);
    ASSERT_TRUE(closure) << closure.error().message;
    EXPECT_EQ(closure->oci.config, manifest);
    EXPECT_EQ(closure->oci.layers.size(), 2u);
    EXPECT_EQ(closure->manifest.spec, farm.manifest.spec);
  }
  EXPECT_TRUE(checkFixtures(store, "default", fixtures));
}

TEST_F(ClosureTest, ABlobIsReadUpToItsLimit) {
  const Digest blob = farm.put("twelve bytes");
  EXPECT_EQ(loadBlob(store, "default", blob, 13, "it").value(), "twelve bytes");
  EXPECT_EQ(loadBlob(store, "default", blob, 12, "it").value(), "twelve bytes");
  expectRefused(loadBlob(store, "default", blob, 11, "it"), "it: 12 bytes, at most 11");
}

TEST_F(ClosureTest, NoMoreIsKeptThanWasAskedFor) {
  EagerStore eager;
  expectRefused(loadBlob(eager, "default", digestOf("piecepiece"), 100, "it"), "longer");
  EXPECT_EQ(eager.taken, 2u) << "the third piece is one too many";
}

TEST_F(ClosureTest, WhateverTheStoreSaysItIsHashedAgain) {
  for (const auto lie : {Lie::kFlip, Lie::kTruncate, Lie::kExtend, Lie::kOther}) {
    store.lie = lie;
    store.about = manifest;
    expectRefused(loadBlob(store, "default", manifest, 1 << 20, "it"), "it: ");
    expectRefused(checkBlob(store, "default", manifest, "it"), "it: ");
    expectRefused(loadManifests(store, "default", farm.artifact), "manifest.json: ");
    store.about = farm.artifact;
    expectRefused(loadManifests(store, "default", farm.artifact), "artifact manifest: ");
    store.about = farm.manifest.program.digest;
    EXPECT_TRUE(loadManifests(store, "default", farm.artifact)) << "without the files";
    expectRefused(loadClosure(store, "default", farm.artifact), "program.so: ");
    store.about = farm.manifest.weights[0].digest;
    expectRefused(loadClosure(store, "default", farm.artifact), "weights/0000.bin: ");
    store.about = fixtures;
    expectRefused(checkFixtures(store, "default", fixtures), "fixtures.json: ");
    store.about = digestOf(farm.fixtures.at("default/input_0.npy"));
    expectRefused(checkFixtures(store, "default", fixtures), "fixture default/input_0.npy: ");
  }
}

// Whether the farm has to put something right or has to ask again.
TEST_F(ClosureTest, AStoreThatFailsIsNotTheFarmsFault) {
  store.lie = Lie::kFail;
  store.about = manifest;
  for (const Code code : {Code::kNotFound, Code::kDataLoss, Code::kOutOfRange, Code::kInvalidArgument}) {
    store.failure = code;
    expectRefused(checkBlob(store, "default", manifest, "it"), "it: connection reset");
    expectRefused(loadClosure(store, "default", farm.artifact), "manifest.json: connection reset");
  }
  for (const Code code : {Code::kUnavailable, Code::kInternal, Code::kResourceExhausted}) {
    store.failure = code;
    EXPECT_EQ(checkBlob(store, "default", manifest, "it").error().code, code);
    EXPECT_EQ(loadBlob(store, "default", manifest, 1 << 20, "it").error().code, code);
    EXPECT_EQ(loadClosure(store, "default", farm.artifact).error().code, code);
  }
}

TEST_F(ClosureTest, DocumentsAreWhatTheyAreTakenFor) {
  for (const char* text : {"text", "{}", "[]"}) {
    expectRefused(loadManifests(store, "default", farm.put(text)), "artifact manifest: ");
    const Digest other = farm.put(makeOciManifest(farm.manifest, farm.put(text)).value());
    expectRefused(loadManifests(store, "default", other), "manifest.json: ");
    expectRefused(checkFixtures(store, "default", farm.put(text)), "fixtures.json: ");
  }
  const Digest spaced = farm.put(farm.manifestText + "\n");
  expectRefused(loadManifests(store, "default", farm.put(makeOciManifest(farm.manifest, spaced).value())),
                "canonical");
  Manifest other = farm.manifest;
  other.program.digest = farm.put("another program");
  expectRefused(loadManifests(store, "default", farm.put(makeOciManifest(other, manifest).value())),
                "artifact manifest: ");
}

}  // namespace
}  // namespace kiln::signing
