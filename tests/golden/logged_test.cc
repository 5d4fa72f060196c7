// Signed documents with their log: bundles whose entries a tile log holds, that log, the root that names it.
// Stock verifiers judge the same files (tests/interop).
#include <gtest/gtest.h>

#include <filesystem>

#include "manifest/statement/vsa.h"
#include "signing/log/checkpoint.h"
#include "signing/log/leaf.h"
#include "signing/log/log_proof.h"
#include "signing/log/tiles.h"
#include "signing/trust/sigstore_root.h"
#include "tests/support/golden.h"

namespace kiln {
namespace {

using namespace signing;
using testing_support::readGolden;
using testing_support::writeGolden;

constexpr char kBuilder[] = "urn:kiln:builder:test";
constexpr std::uint64_t kOthers = 256;  // entries of others come first: a full tile, and one more level

std::string at(const std::string& name) {
  return std::string(KILN_GOLDEN_DIR) + "/v1/" + name;
}
std::string logged(const std::string& name) {
  return at("logged/" + name);
}

class CommittedTiles final : public TileReader {
 public:
  Result<std::string> read(const TilePath& path) override { return readGolden(logged("log/" + path.text())); }
};

class NoTiles final : public TileReader {
 public:
  Result<std::string> read(const TilePath& path) override { return fail(Code::kNotFound, path.text()); }
};

std::string summaryOfTheArtifact() {
  const TimePoint now = parseRfc3339("2026-11-20T06:00:05Z").value();
  return verificationStatement({.verifierId = kBuilder,
                                .verifierVersion = "0.1.0",
                                .timeVerified = now,
                                .artifact = digestOf(readGolden(at("artifact.json"))),
                                .policyUri = "urn:kiln:policy:golden",
                                .policy = digestOf(readGolden(at("policy.json"))),
                                .from = {digestOf(readGolden(at("provenance.json")))},
                                .buildLevel = 2,
                                .builders = {"w1 (acme)", "w2 (other)"},
                                .operators = {"acme", "other"}})
      .value();
}

// Keys and signatures are random: made anew, all of it is.
void makeAll() {
  const PrivateKey key = PrivateKey::create().value();
  const Ed25519PrivateKey logKey = Ed25519PrivateKey::create().value();
  const Ed25519PrivateKey witnessKey = Ed25519PrivateKey::create().value();
  const TimePoint now = parseRfc3339("2026-11-20T06:00:00Z").value();
  const VerifierKey log{"log.kiln.example", NoteKeyKind::kEd25519, logKey.publicKey()};

  std::vector<Envelope> envelopes;
  std::vector<std::string> leaves;
  const auto add = [&](const std::string& payload) {
    envelopes.push_back(signEnvelope(kInTotoPayload, payload, key).value());
    leaves.push_back(leafOf(envelopes.back(), key.publicKey())->text());
  };
  for (std::uint64_t i = 0; i < kOthers; ++i) add("{\"n\":" + std::to_string(i) + "}");
  add(readGolden(at("provenance.json")));
  add(summaryOfTheArtifact());

  NoTiles none;
  const TileMap tiles = grow(none, 0, leaves).value();
  OverlaidTiles reader(tiles, none);
  TileTree tree(reader, leaves.size());
  const Checkpoint checkpoint{log.name, leaves.size(), treeRoot(tree, leaves.size()).value()};
  Note note = signCheckpoint(checkpoint, logKey).value();
  note.signatures.push_back(cosign(note, "witness.kiln.example", witnessKey, now).value());

  for (const auto& [path, bytes] : tiles) {
    const std::string file = logged("log/" + path.text());
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    writeGolden(file, bytes);
  }
  writeGolden(logged("log/checkpoint"), note.toString());
  writeGolden(logged("log/log.vkey"), log.text() + "\n");
  const auto write = [&](const std::string& name, std::uint64_t index) {
    const LogEntry entry{log.id(),
                         index,
                         leaves.size(),
                         checkpoint.root,
                         inclusionProof(tree, index, leaves.size()).value(),
                         note.toString(),
                         leaves[index]};
    writeGolden(logged(name), makeBundle(envelopes[index], key.publicKey(), entry).value());
  };
  write("bundle.sigstore.json", kOthers);
  write("vsa.sigstore.json", kOthers + 1);

  TrustRoot root = developmentRoot(key.publicKey(), kBuilder, now);
  root.logs = {{log.name, log.key.der(), now, root.expires}};
  root.witnesses = {{"witness.kiln.example", witnessKey.publicKey().der()}};
  writeGolden(logged("root.json"), toCanonicalJson(root.toJson()).value());
  writeGolden(logged("trusted_root.json"), toCanonicalJson(sigstoreTrustedRoot(root).value()).value());
}

class GoldenLogged : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (testing_support::acceptsGolden()) makeAll();
  }

  TrustRoot root_ = TrustRoot::load(logged("root.json")).value();
  VerifierKey log_{root_.logs.at(0).origin, NoteKeyKind::kEd25519,
                   Ed25519PublicKey::fromDer(root_.logs.at(0).spki).value()};
  VerifierKey witness_{root_.witnesses.at(0).name, NoteKeyKind::kCosignature,
                       Ed25519PublicKey::fromDer(root_.witnesses.at(0).spki).value()};
};

TEST_F(GoldenLogged, BundlesAreInTheLog) {
  for (const auto& [name, payload] :
       {std::pair<std::string, std::string>{"bundle.sigstore.json", readGolden(at("provenance.json"))},
        {"vsa.sigstore.json", summaryOfTheArtifact()}}) {
    const Bundle bundle = parseBundle(readGolden(logged(name))).value();
    const PublicKey* key = root_.findKey(bundle.keyId);
    ASSERT_NE(key, nullptr);
    EXPECT_TRUE(verifyEnvelope(bundle.envelope, std::array{*key}));
    EXPECT_EQ(bundle.envelope.payload, payload);
    const auto proof = checkLogEntry(bundle, *key, std::array{log_}, std::array{witness_});
    ASSERT_TRUE(proof) << proof.error().message;
    EXPECT_GE(proof->index, kOthers);
    EXPECT_EQ(proof->cosigned.size(), 1u);
    EXPECT_EQ(makeBundle(bundle.envelope, *key, bundle.logEntry).value(), readGolden(logged(name)));
  }
}

TEST_F(GoldenLogged, TilesHoldWhatTheCheckpointSays) {
  EXPECT_EQ(VerifierKey::parse(readGolden(logged("log/log.vkey")).substr(0, log_.text().size()))->text(),
            log_.text());
  const Note note = parseNote(readGolden(logged("log/checkpoint"))).value();
  const Checkpoint checkpoint = openCheckpoint(note, log_).value();
  EXPECT_EQ(note.toString(), readGolden(logged("log/checkpoint")));
  ASSERT_EQ(checkpoint.size, kOthers + 2);
  CommittedTiles tiles;
  TileTree tree(tiles, checkpoint.size);
  EXPECT_EQ(treeRoot(tree, checkpoint.size).value(), checkpoint.root);
  const auto leaves = readEntries(tiles, checkpoint.size, 0, checkpoint.size).value();
  for (std::uint64_t i = 0; i < leaves.size(); ++i) {
    EXPECT_EQ(Leaf::parse(leaves[i])->text(), leaves[i]);
    EXPECT_EQ(tree.hash(0, i).value(), leafHash(leaves[i]));
  }
  NoTiles none;
  const TileMap made = grow(none, 0, leaves).value();
  for (const auto& [path, bytes] : made)
    EXPECT_TRUE(readGolden(logged("log/" + path.text())) == bytes) << path.text();
}

TEST_F(GoldenLogged, StockVerifiersAreToldOfTheLog) {
  EXPECT_EQ(toCanonicalJson(sigstoreTrustedRoot(root_).value()).value(),
            readGolden(logged("trusted_root.json")));
  for (const std::string origin : {"log.example/path", "Log.example", "a b", ".", ""}) {
    root_.logs[0].origin = origin;
    EXPECT_FALSE(sigstoreTrustedRoot(root_)) << origin << ": a URL would read back another host name";
  }
  root_.logs[0] = {"log.example", root_.keys[0].key.der(), {}, {}};
  EXPECT_FALSE(sigstoreTrustedRoot(root_)) << "not an Ed25519 key";
}

}  // namespace
}  // namespace kiln
