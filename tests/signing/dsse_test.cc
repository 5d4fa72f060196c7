#include "signing/dsse/dsse.h"

#include <gtest/gtest.h>

#include <vector>

namespace kiln::signing {
namespace {

const PrivateKey& keyA() {
  static const PrivateKey key = PrivateKey::create().value();
  return key;
}
const PrivateKey& keyB() {
  static const PrivateKey key = PrivateKey::create().value();
  return key;
}

TEST(Dsse, EncodesAsTheProtocolSays) {
  EXPECT_EQ(preAuthenticationEncoding("http://example.com/HelloWorld", "hello world"),
            "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
  EXPECT_EQ(preAuthenticationEncoding("", ""), "DSSEv1 0  0 ");
}

TEST(Dsse, SignsAndVerifies) {
  Envelope envelope = signEnvelope(kInTotoPayload, "{}", keyA()).value();
  std::string text = toCanonicalJson(envelope.toJson()).value();
  EXPECT_EQ(text.find("keyid"), std::string::npos);
  Envelope back = parseEnvelope(text, kInTotoPayload).value();
  EXPECT_EQ(back.payload, "{}");
  EXPECT_EQ(verifyEnvelope(back, std::vector{keyB().publicKey(), keyA().publicKey()}).value(),
            std::vector{keyA().publicKey().id()});
  EXPECT_EQ(verifyEnvelope(back, std::vector{keyB().publicKey()}).error().code, Code::kDataLoss);
  EXPECT_FALSE(verifyEnvelope(back, {}));
  EXPECT_FALSE(verifyEnvelope(back, {}, 0));
}

TEST(AttackCases, Case07APayloadTypeIsPartOfWhatIsSigned) {
  Envelope envelope = signEnvelope(kReceiptPayload, "{}", keyA()).value();
  EXPECT_FALSE(parseEnvelope(toCanonicalJson(envelope.toJson()).value(), kInTotoPayload));
  envelope.payloadType = kInTotoPayload;
  Envelope relabelled = parseEnvelope(toCanonicalJson(envelope.toJson()).value(), kInTotoPayload).value();
  EXPECT_FALSE(verifyEnvelope(relabelled, std::vector{keyA().publicKey()}));
}

TEST(AttackCases, Case07OneKeyCountsOnceTowardsAThreshold) {
  Envelope envelope = signEnvelope(kInTotoPayload, "{}", keyA()).value();
  envelope.signatures.push_back(envelope.signatures[0]);
  envelope.signatures.push_back(signEnvelope(kInTotoPayload, "{}", keyA())->signatures[0]);
  std::vector<PublicKey> keys{keyA().publicKey(), PublicKey::fromDer(keyA().publicKey().der()).value(),
                              keyB().publicKey()};
  EXPECT_TRUE(verifyEnvelope(envelope, keys, 1));
  EXPECT_FALSE(verifyEnvelope(envelope, keys, 2));
  envelope.signatures.push_back(signEnvelope(kInTotoPayload, "{}", keyB())->signatures[0]);
  EXPECT_EQ(verifyEnvelope(envelope, keys, 2)->size(), 2u);
}

TEST(Dsse, RefusesMalformedEnvelopes) {
  for (
      const char* text :
      {R"({})", R"({"payloadType":"application/vnd.in-toto+json","payload":"e30=","signatures":[]})",
       R"({"payloadType":"application/vnd.in-toto+json","payload":"e30","signatures":[{"sig":"AA=="}]})",
       R"({"payloadType":"application/vnd.in-toto+json","payload":"e30=\n","signatures":[{"sig":"AA=="}]})",
       R"({"payloadType":"application/vnd.in-toto+json","payload":"e31=","signatures":[{"sig":"AA=="}],"x":1})",
       R"({"payloadType":"application/vnd.in-toto+json","payload":"e30=","payload":"e30=","signatures":[{"sig":"AA=="}]})",
       R"({"payloadType":"application/vnd.in-toto+json","payload":"e30=","signatures":[{"sig":"AB=="}]})"})
    EXPECT_EQ(parseEnvelope(text, kInTotoPayload).error().code, Code::kInvalidArgument) << text;
}

TEST(Dsse, EveryFlippedBitIsRefused) {
  const Envelope envelope = signEnvelope(kInTotoPayload, R"({"a":"b"})", keyA()).value();
  const std::string text = toCanonicalJson(envelope.toJson()).value();
  std::vector<PublicKey> keys{keyA().publicKey()};
  for (std::size_t i = 0; i < text.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = text;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      auto parsed = parseEnvelope(bad, kInTotoPayload);
      EXPECT_FALSE(parsed && verifyEnvelope(*parsed, keys)) << i << " " << bit;
    }
}

}  // namespace
}  // namespace kiln::signing
