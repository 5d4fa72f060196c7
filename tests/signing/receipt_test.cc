#include "signing/receipt/receipt.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

#include "signing/dsse/dsse.h"
#include "signing/keys/files.h"
#include "signing/receipt/worker_identity.h"
#include "tests/support/temp_directory.h"

namespace kiln::signing {
namespace {

const TimePoint kNow = parseRfc3339("2026-11-20T06:00:00Z").value();

struct ReceiptTest : ::testing::Test {
  Authority authority = Authority::create(kNow).value();
  PrivateKey key = PrivateKey::create().value();
  Certificate certificate = authority.issue("w1", "acme", key.publicKey(), kNow).value();
  Receipt receipt{digestOf("action"),
                  "lease-1",
                  3,
                  "w1",
                  "acme",
                  0,
                  digestOf("policy"),
                  {{"output/manifest.json", digestOf("m")}, {"output/program.so", digestOf("p")}}};

  Result<Receipt> check(const std::string& envelope) {
    return verifyReceipt(envelope, certificate, authority.certificate(), kNow);
  }
};

TEST_F(ReceiptTest, RoundTripsWithIdentity) {
  std::string envelope = makeReceipt(receipt, key).value();
  EXPECT_EQ(check(envelope).value(), receipt);
  std::string document = receiptDocument(envelope, certificate).value();
  VerifiedReceipt verified = verifyReceiptDocument(document, authority.certificate(), kNow).value();
  EXPECT_EQ(verified.receipt, receipt);
  EXPECT_EQ(verified.keyId, key.publicKey().id());
}

TEST_F(ReceiptTest, AnotherWorkersNameIsRefused) {
  receipt.worker = "w2";
  EXPECT_EQ(check(makeReceipt(receipt, key).value()).error().code, Code::kPermissionDenied);
  receipt.worker = "w1";
  receipt.operatorName = "other";
  EXPECT_EQ(check(makeReceipt(receipt, key).value()).error().code, Code::kPermissionDenied);
}

TEST_F(ReceiptTest, AnotherKeyOrAuthorityIsRefused) {
  std::string envelope = makeReceipt(receipt, PrivateKey::create().value()).value();
  EXPECT_EQ(check(envelope).error().code, Code::kDataLoss);
  Authority rogue = Authority::create(kNow).value();
  EXPECT_EQ(
      verifyReceipt(makeReceipt(receipt, key).value(), certificate, rogue.certificate(), kNow).error().code,
      Code::kPermissionDenied);
}

TEST_F(ReceiptTest, AStatementIsNoReceipt) {
  Envelope wrong = signEnvelope(kInTotoPayload, "{}", key).value();
  EXPECT_FALSE(check(toCanonicalJson(wrong.toJson()).value()));
}

TEST_F(ReceiptTest, OutputsAreSortedAndSafe) {
  std::swap(receipt.outputs[0], receipt.outputs[1]);
  EXPECT_FALSE(makeReceipt(receipt, key));
  receipt.outputs = {{"../escape", digestOf("x")}};
  EXPECT_FALSE(makeReceipt(receipt, key));
}

TEST_F(ReceiptTest, TheSandboxPolicyIsSignedAndBounded) {
  std::string envelope = makeReceipt(receipt, key).value();
  EXPECT_EQ(readReceipt(envelope).value().sandboxPolicy, digestOf("policy"));
  Json payload = Json::parse(parseEnvelope(envelope, kReceiptPayload)->payload);
  auto codeOf = [&](const Json& changed) {
    auto signedAgain = signEnvelope(kReceiptPayload, toCanonicalJson(changed).value(), key).value();
    return check(toCanonicalJson(signedAgain.toJson()).value()).error().code;
  };
  Json without = payload;
  without.erase("sandboxPolicy");
  EXPECT_EQ(codeOf(without), Code::kInvalidArgument);
  Json more = payload;
  more["sandboxPolicy"]["name"] = "compile/1";
  EXPECT_EQ(codeOf(more), Code::kInvalidArgument);
  Json other = payload;
  other["sandboxPolicy"] = {{"sha256", digestOf("none").hex()}, {"size", "4"}};
  Envelope swapped = parseEnvelope(envelope, kReceiptPayload).value();
  swapped.payload = toCanonicalJson(other).value();
  EXPECT_EQ(check(toCanonicalJson(swapped.toJson()).value()).error().code, Code::kDataLoss);
  receipt.sandboxPolicy.size = kMaxSandboxPolicyBytes + 1;
  EXPECT_EQ(makeReceipt(receipt, key).error().code, Code::kInvalidArgument);
}

TEST_F(ReceiptTest, EachOutputStandsOnce) {
  for (const char* second : {"output/manifest.json", "output/a", "output/MANIFEST.json"}) {
    receipt.outputs[1].path = second;
    EXPECT_FALSE(makeReceipt(receipt, key)) << second;
  }
  receipt.outputs.clear();
  EXPECT_TRUE(makeReceipt(receipt, key)) << "a run may leave nothing";
}

TEST_F(ReceiptTest, ListsAtMost32768OutputsAndAPolicyOf64KiB) {
  receipt.outputs.clear();
  for (int i = 0; i < 32768; ++i)
    receipt.outputs.push_back({"output/" + std::to_string(100'000 + i), digestOf("x")});
  EXPECT_TRUE(makeReceipt(receipt, key));
  receipt.outputs.push_back({"output/z", digestOf("x")});
  EXPECT_EQ(makeReceipt(receipt, key).error().code, Code::kInvalidArgument);
  receipt.outputs.clear();
  receipt.sandboxPolicy.size = kMaxSandboxPolicyBytes;
  EXPECT_EQ(check(makeReceipt(receipt, key).value())->sandboxPolicy.size, kMaxSandboxPolicyBytes);
}

TEST_F(ReceiptTest, EveryExitCodeComesBack) {
  for (const int code : {INT32_MIN, -1, 1, 137, INT32_MAX}) {
    receipt.exitCode = code;
    EXPECT_EQ(check(makeReceipt(receipt, key).value())->exitCode, code);
  }
}

// Of its own worker's, but not of the form.
TEST_F(ReceiptTest, OnlyItsOwnFormIsRead) {
  const Json good = Json::parse(parseEnvelope(makeReceipt(receipt, key).value(), kReceiptPayload)->payload);
  const auto codeAfter = [&](const std::function<void(Json&)>& change) {
    Json json = good;
    change(json);
    const Envelope envelope = signEnvelope(kReceiptPayload, toCanonicalJson(json).value(), key).value();
    const auto read = check(toCanonicalJson(envelope.toJson()).value());
    return read ? Code::kUnknown : read.error().code;
  };
  EXPECT_EQ(codeAfter([](Json&) {}), Code::kUnknown) << "as it is";
  for (const auto& [name, value] : good.items())
    EXPECT_EQ(codeAfter([&](Json& json) { json.erase(name); }), Code::kInvalidArgument) << "without " << name;
  EXPECT_EQ(codeAfter([](Json& json) { json["exitCode"] = std::int64_t{INT32_MAX} + 1; }),
            Code::kInvalidArgument);
  for (const char* place : {"", "/action", "/sandboxPolicy", "/outputs/0", "/outputs/1"}) {
    const Json::json_pointer at(place);
    EXPECT_EQ(codeAfter([&](Json& json) { json[at]["more"] = "x"; }), Code::kInvalidArgument)
        << "with more at " << place;
    if (at.empty()) continue;
    for (const std::string& hash : {std::string(), std::string("ab"), std::string(63, 'a'),
                                    std::string(65, 'a'), std::string(64, 'A'), std::string(64, 'g')})
      EXPECT_EQ(codeAfter([&](Json& json) { json[at]["sha256"] = hash; }), Code::kInvalidArgument)
          << place << ": " << hash;
  }
}

TEST_F(ReceiptTest, TruncatedDocumentsAreRefused) {
  std::string document = receiptDocument(makeReceipt(receipt, key).value(), certificate).value();
  for (std::size_t i = 0; i < document.size(); i += 7)
    EXPECT_FALSE(verifyReceiptDocument(document.substr(0, i), authority.certificate(), kNow));
}

TEST_F(ReceiptTest, IdentityLoadsFromFiles) {
  testing_support::TempDirectory dir;
  ASSERT_TRUE(key.save(dir.path() + "/w1.key"));
  ASSERT_TRUE(writeTextFile(dir.path() + "/w1.pem", certificate.pem()));
  WorkerIdentity identity = WorkerIdentity::load(dir.path() + "/w1.pem", dir.path() + "/w1.key").value();
  EXPECT_EQ(identity.name(), "w1");
  EXPECT_EQ(identity.operatorName(), "acme");
  receipt.worker = receipt.operatorName = "";
  EXPECT_EQ(check(identity.sign(receipt).value())->worker, "w1");
  ASSERT_TRUE(PrivateKey::create()->save(dir.path() + "/other.key"));
  EXPECT_FALSE(WorkerIdentity::load(dir.path() + "/w1.pem", dir.path() + "/other.key"));
}

}  // namespace
}  // namespace kiln::signing
