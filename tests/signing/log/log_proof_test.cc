#include "signing/log/log_proof.h"

#include <gtest/gtest.h>

#include "signing/log/checkpoint.h"
#include "signing/log/leaf.h"
#include "signing/log/tiles.h"
#include "tests/signing/log/memory_tiles.h"

namespace kiln::signing {
namespace {

// A log of four signatures, and bundles that prove each of them.
class LogProofTest : public testing::Test {
 protected:
  LogProofTest() {
    for (int i = 0; i < 4; ++i) {
      envelopes_.push_back(
          signEnvelope(kInTotoPayload, "{\"n\":" + std::to_string(i) + "}", artifactKey_).value());
      leaves_.push_back(leafOf(envelopes_.back(), artifactKey_.publicKey())->text());
    }
    tiles_.put(grow(tiles_, 0, leaves_).value());
    TileTree tree(tiles_, leaves_.size());
    const TreeHash root = treeRoot(tree, leaves_.size()).value();
    Note note = signCheckpoint({log_.name, leaves_.size(), root}, logKey_).value();
    note.signatures.push_back(
        cosign(note, witness_.name, witnessKey_, TimePoint(std::chrono::seconds(1'800'000'000))).value());
    for (std::size_t i = 0; i < leaves_.size(); ++i)
      entries_.push_back({log_.id(), i, leaves_.size(), root, inclusionProof(tree, i, leaves_.size()).value(),
                          note.toString(), leaves_[i]});
  }

  Bundle bundle(std::size_t envelope, const LogEntry& entry) const {
    return parseBundle(makeBundle(envelopes_[envelope], artifactKey_.publicKey(), entry).value()).value();
  }
  Result<LogProof> check(const Bundle& bundle) const {
    return checkLogEntry(bundle, artifactKey_.publicKey(), std::vector{log_}, std::vector{witness_});
  }
  Code codeOf(const LogEntry& entry) const {
    auto proof = check(bundle(2, entry));
    return proof ? Code::kUnknown : proof.error().code;
  }

  const PrivateKey artifactKey_ = PrivateKey::create().value();
  const Ed25519PrivateKey logKey_ = Ed25519PrivateKey::create().value();
  const Ed25519PrivateKey witnessKey_ = Ed25519PrivateKey::create().value();
  const VerifierKey log_{"log.example", NoteKeyKind::kEd25519, logKey_.publicKey()};
  const VerifierKey witness_{"witness.example", NoteKeyKind::kCosignature, witnessKey_.publicKey()};
  testing_support::MemoryTiles tiles_;
  std::vector<Envelope> envelopes_;
  std::vector<std::string> leaves_;
  std::vector<LogEntry> entries_;
};

using AttackCases = LogProofTest;

TEST_F(LogProofTest, EveryEntryIsProven) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const LogProof proof = check(bundle(i, entries_[i])).value();
    EXPECT_EQ(proof.origin, "log.example");
    EXPECT_EQ(proof.index, i);
    EXPECT_EQ(proof.treeSize, 4u);
    ASSERT_EQ(proof.cosigned.size(), 1u);
    EXPECT_EQ(proof.cosigned[0].witness, "witness.example");
  }
}

TEST_F(LogProofTest, TheLeafIsTheOneThatSigstoreKnows) {
  const Leaf leaf = Leaf::parse(leaves_[0]).value();
  EXPECT_EQ(leaves_[0],
            "{\"apiVersion\":\"0.0.2\",\"kind\":\"hashedrekord\",\"spec\":{\"hashedRekordV002\":{\"data\":{"
            "\"algorithm\":\"SHA2_256\",\"digest\":\"" +
                toBase64(digestOf(preAuthenticationEncoding(kInTotoPayload, "{\"n\":0}")).hash) +
                "\"},\"signature\":{\"content\":\"" + toBase64(asBytes(envelopes_[0].signatures[0])) +
                "\",\"verifier\":{\"keyDetails\":\"PKIX_ECDSA_P256_SHA_256\",\"publicKey\":{\"rawBytes\":\"" +
                toBase64(asBytes(artifactKey_.publicKey().der())) + "\"}}}}}}");
  EXPECT_EQ(leaf.signature, envelopes_[0].signatures[0]);
  EXPECT_FALSE(Leaf::parse(leaves_[0] + " "));
  EXPECT_FALSE(Leaf::parse("{}"));
}

TEST_F(AttackCases, Case16AProofForAnotherEntryIsRefused) {
  EXPECT_EQ(codeOf(entries_[2]), Code::kUnknown);
  EXPECT_EQ(codeOf(entries_[1]), Code::kDataLoss);  // a valid proof, of another signature
  LogEntry entry = entries_[1];
  entry.leaf = entries_[2].leaf;  // our leaf, the other's place
  EXPECT_EQ(codeOf(entry), Code::kDataLoss);
  // The same payload signed again is another leaf: what is in the log is one signature.
  const Envelope again = signEnvelope(kInTotoPayload, envelopes_[2].payload, artifactKey_).value();
  const Bundle other = parseBundle(makeBundle(again, artifactKey_.publicKey(), entries_[2]).value()).value();
  EXPECT_EQ(check(other).error().code, Code::kDataLoss);
}

TEST_F(LogProofTest, WhatIsTamperedWithIsRefused) {
  LogEntry entry = entries_[2];
  entry.proof[0][0] ^= 1;
  EXPECT_EQ(codeOf(entry), Code::kDataLoss);
  entry = entries_[2];
  entry.proof.pop_back();
  EXPECT_EQ(codeOf(entry), Code::kDataLoss);
  entry = entries_[2];
  entry.index = 1;
  EXPECT_EQ(codeOf(entry), Code::kDataLoss);
  entry = entries_[2];
  entry.treeSize = 5;
  EXPECT_EQ(codeOf(entry), Code::kDataLoss);
  entry = entries_[2];
  entry.root[0] ^= 1;
  EXPECT_EQ(codeOf(entry), Code::kDataLoss);
  entry = entries_[2];
  entry.logId[0] = static_cast<char>(entry.logId[0] ^ 1);
  EXPECT_EQ(codeOf(entry), Code::kPermissionDenied);
  entry = entries_[2];
  entry.checkpoint = "no note";
  EXPECT_EQ(codeOf(entry), Code::kInvalidArgument);
  // A checkpoint that another key signed under the log's name.
  entry = entries_[2];
  entry.checkpoint =
      signCheckpoint({log_.name, 4, entry.root}, Ed25519PrivateKey::create().value())->toString();
  EXPECT_EQ(codeOf(entry), Code::kDataLoss);
}

TEST_F(LogProofTest, OnlyTrustedLogsAndWitnessesCount) {
  const Bundle good = bundle(2, entries_[2]);
  const PublicKey key = artifactKey_.publicKey();
  EXPECT_EQ(checkLogEntry(good, key, {}, {}).error().code, Code::kPermissionDenied);
  EXPECT_TRUE(checkLogEntry(good, key, std::vector{log_}, {})->cosigned.empty());
  // A log's key is no witness's, and the other way round.
  EXPECT_FALSE(checkLogEntry(good, key, std::vector{witness_}, {}));
  EXPECT_TRUE(checkLogEntry(good, key, std::vector{log_}, std::vector{log_})->cosigned.empty());
  Bundle none = good;
  none.logEntry.reset();
  EXPECT_EQ(check(none).error().code, Code::kNotFound);
}

TEST_F(LogProofTest, BundlesAreReadStrictly) {
  const std::string text = makeBundle(envelopes_[2], artifactKey_.publicKey(), entries_[2]).value();
  const Json good = parseStrictJson(text).value();
  EXPECT_TRUE(parseBundle(text));
  const auto refused = [&](auto change) {
    Json json = good;
    change(json["verificationMaterial"]["tlogEntries"]);
    return !parseBundle(json.dump());
  };
  EXPECT_TRUE(refused([](Json& entries) { entries.push_back(Json(entries[0])); }));
  EXPECT_TRUE(refused([](Json& entries) { entries[0]["integratedTime"] = "1"; }));
  EXPECT_TRUE(refused([](Json& entries) { entries[0]["logIndex"] = "1"; }));
  EXPECT_TRUE(refused([](Json& entries) { entries[0]["logIndex"] = 2; }));
  EXPECT_TRUE(refused([](Json& entries) { entries[0]["kindVersion"]["version"] = "0.0.1"; }));
  EXPECT_TRUE(refused([](Json& entries) { entries[0]["logId"]["keyId"] = "AAAA"; }));
  EXPECT_TRUE(refused([](Json& entries) { entries[0]["inclusionProof"]["rootHash"] = "AAAA"; }));
  EXPECT_TRUE(refused([](Json& entries) { entries[0]["inclusionProof"]["treeSize"] = "-1"; }));
  EXPECT_TRUE(refused([](Json& entries) {
    for (int i = 0; i < 64; ++i) entries[0]["inclusionProof"]["hashes"].push_back(toBase64(TreeHash{}));
  }));
  EXPECT_TRUE(refused([](Json& entries) { entries[0].erase("canonicalizedBody"); }));
  EXPECT_TRUE(refused([](Json& entries) { entries[0]["inclusionProof"].erase("checkpoint"); }));
}

}  // namespace
}  // namespace kiln::signing
