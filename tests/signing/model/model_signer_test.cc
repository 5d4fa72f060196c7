#include "signing/model/model_signer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "signing/keys/files.h"
#include "signing/model/input_statement.h"
#include "signing/model/model_signature.h"
#include "tests/support/sample_spec.h"
#include "tests/support/temp_directory.h"
#include "tests/support/test_authority.h"

namespace kiln::signing {
namespace {

using testing_support::at;
using testing_support::authorityOrder;
using testing_support::CertificateOrder;
using testing_support::signerOrder;
using testing_support::TempDirectory;
using testing_support::TestCertificate;

constexpr char kWho[] = "releases@vendor.example";
const TimePoint kNow = at("2026-06-01T00:00:00Z");

class CertifiedModel : public ::testing::Test {
 protected:
  CertifiedModel() {
    std::filesystem::create_directories(model_);
    std::ofstream(model_ + "/weights.bin") << "weights";
  }
  ModelSigner signer(const TestCertificate& of) {
    const std::string path = home_ / ("key" + std::to_string(++keys_));
    EXPECT_TRUE(writeSecretFile(path, of.keyPem()));
    return ModelSigner::load(path).value();
  }
  // By `leaf` and with these certificates in the bundle.
  std::string text(const TestCertificate& leaf, const std::vector<TestCertificate>& more = {}) {
    std::vector<X509Certificate> certificates{leaf.certificate()};
    for (const TestCertificate& one : more) certificates.push_back(one.certificate());
    return signModel(model_, signer(leaf).with(std::move(certificates)).value()).value();
  }
  AcceptedSigners accepted(std::vector<std::string> identities = {kWho}, TimePoint now = kNow) {
    AcceptedSigners out;
    out.certificates = {CertificateRoots::of({root_.certificate()}).value(), std::move(identities), now};
    return out;
  }
  // Why it is refused; "" if it is not.
  std::string wrong(const std::string& text, const AcceptedSigners& signers) {
    const auto opened = openModelSignature(text, signers);
    if (opened) return {};
    EXPECT_EQ(opened.error().code, Code::kDataLoss);
    return opened.error().message;
  }
  std::string wrong(const std::string& text) { return wrong(text, accepted()); }
  // The bundle with other verification material.
  static std::string with(const std::string& text, const Json& material) {
    Json bundle = Json::parse(text);
    bundle["verificationMaterial"] = material;
    return bundle.dump();
  }
  static Json chainOf(const std::vector<std::string>& ders) {
    Json list = Json::array();
    for (const std::string& der : ders) list.push_back({{"rawBytes", toBase64(asBytes(der))}});
    return {{"x509CertificateChain", {{"certificates", list}}}};
  }

  TempDirectory home_;
  int keys_ = 0;
  const std::string model_ = home_ / "model";
  const TestCertificate root_{authorityOrder("vendor root")};
  const TestCertificate middle_ = root_.issue(authorityOrder("vendor middle"));
  const TestCertificate leaf_ = middle_.issue(signerOrder(std::string("email:") + kWho));
};

TEST_F(CertifiedModel, HoldsForANameAndSaysWhose) {
  const std::string signedText = text(leaf_, {middle_});
  const auto opened = openModelSignature(signedText, accepted({"other@vendor.example", kWho}));
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_TRUE(checkModel(model_, opened->manifest));
  EXPECT_EQ(opened->signer.identity, kWho);
  EXPECT_EQ(opened->signer.toJson()["root"], digestOf(root_.der()).text());
  EXPECT_NE(opened->signer.text().find("vendor root"), std::string::npos);
  EXPECT_FALSE(Json::parse(signedText)["verificationMaterial"].contains("publicKey"));
  // One certificate by itself, as keyless signers write it.
  const std::string one = text(root_.issue(signerOrder(std::string("email:") + kWho)));
  const Json chain = Json::parse(one)["verificationMaterial"]["x509CertificateChain"]["certificates"];
  EXPECT_EQ(wrong(with(one, {{"certificate", chain[0]}})), "");
}

TEST_F(CertifiedModel, HoldsForNobodyElse) {
  const std::string signedText = text(leaf_, {middle_});
  EXPECT_NE(wrong(signedText, accepted({"releases@vendor.exampl"})).find("names \"releases@vendor.example\""),
            std::string::npos);
  EXPECT_NE(wrong(signedText, accepted({"signer"})), "") << "the common name";
  EXPECT_NE(wrong(signedText, accepted({kWho}, at("2027-02-01T00:00:00Z"))).find("expired"),
            std::string::npos);
  EXPECT_NE(wrong(signedText, std::vector{signer(leaf_).publicKey()}).find("no authority is named"),
            std::string::npos)
      << "a key that is named does not stand for its certificate";
  const std::string byKey = signModel(model_, signer(leaf_)).value();
  EXPECT_NE(wrong(byKey).find("no key is named"), std::string::npos);
  EXPECT_EQ(wrong(byKey, std::vector{signer(leaf_).publicKey()}), "");
}

TEST_F(CertifiedModel, MaterialIsOneThingAndReadable) {
  const std::string good = text(leaf_, {middle_});
  const Json chain = Json::parse(good)["verificationMaterial"]["x509CertificateChain"];
  const Json certificate = chain["certificates"][0];
  EXPECT_NE(wrong(with(good, {{"x509CertificateChain", chain}, {"publicKey", {{"hint", "x"}}}})), "");
  EXPECT_NE(wrong(with(good, {{"x509CertificateChain", chain}, {"certificate", certificate}})), "");
  EXPECT_NE(wrong(with(good, Json::object())), "");
  EXPECT_NE(wrong(with(good, chainOf({}))), "");
  EXPECT_NE(wrong(with(good, chainOf(std::vector<std::string>(17, leaf_.der())))), "");
  EXPECT_NE(wrong(with(good, chainOf({"garbage"}))), "");
  EXPECT_NE(wrong(with(good, chainOf({leaf_.der(), "garbage"}))), "");
  EXPECT_NE(wrong(with(good, {{"x509CertificateChain", {{"certificates", "x"}}}})), "");
  EXPECT_NE(wrong(with(good, {{"certificate", {{"rawBytes", "!"}}}})), "");
  EXPECT_NE(wrong(with(good, {{"certificate", 7}})), "");
  // Another's certificate for the same name, over a signature that its key did not make.
  const TestCertificate other = middle_.issue(signerOrder(std::string("email:") + kWho));
  EXPECT_NE(wrong(with(good, chainOf({other.der(), middle_.der()}))).find("not signed by the key of its"),
            std::string::npos);
  // The signer's stands first.
  EXPECT_NE(wrong(with(good, chainOf({middle_.der(), leaf_.der()}))), "");
  EXPECT_EQ(wrong(good), "");
}

TEST_F(CertifiedModel, SignsOnEveryCurveOfTheSpecification) {
  for (const char* curve : {"P-256", "P-384", "P-521"}) {
    CertificateOrder order = signerOrder(std::string("email:") + kWho);
    order.curve = curve;
    const TestCertificate leaf = root_.issue(order);
    EXPECT_EQ(wrong(text(leaf)), "") << curve;
    const ModelSigner key = signer(leaf);
    EXPECT_EQ(wrong(signModel(model_, key).value(), std::vector{key.publicKey()}), "") << curve;
  }
  const std::string path = home_ / "other.key";
  const std::shared_ptr<EVP_PKEY> other(EVP_EC_gen("secp256k1"), EVP_PKEY_free);
  ASSERT_TRUE(savePrivateKey(other.get(), path));
  EXPECT_EQ(ModelSigner::load(path).error().code, Code::kInvalidArgument);
}

TEST_F(CertifiedModel, IsNotSignedWithACertificateThatNobodyWouldAccept) {
  const ModelSigner key = signer(leaf_);
  EXPECT_EQ(key.with({}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(key.with({middle_.certificate()}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(key.with({middle_.certificate(), leaf_.certificate()}).error().code, Code::kInvalidArgument);
  CertificateOrder order = signerOrder("DNS:example.org");
  order.extensions[1].second = "serverAuth";
  const TestCertificate server = root_.issue(order);
  EXPECT_EQ(signer(server).with({server.certificate()}).error().code, Code::kDataLoss);
}

TEST_F(CertifiedModel, AnInputStatementHoldsTheWholeChain) {
  const std::string statement = Json{
      {"_type", "https://in-toto.io/Statement/v1"},
      {"subject", {{{"name", "any"}, {"digest", {{"sha256", digestOf("model").hex()}}}}}},
      {"predicateType", "https://slsa.dev/provenance/v1"},
      {"predicate", Json::object()}}.dump();
  const std::string signature = leaf_.sign(preAuthenticationEncoding(kInTotoPayload, statement));
  Json bundle{{"mediaType", "application/vnd.dev.sigstore.bundle.v0.3+json"},
              {"verificationMaterial", chainOf({leaf_.der(), middle_.der()})},
              {"dsseEnvelope", Envelope{kInTotoPayload, statement, {signature}}.toJson()}};
  const auto said = inputStatement(bundle.dump(), accepted(), testing_support::sampleSpec());
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ((*said)["identity"], kWho);
  EXPECT_EQ((*said)["root"], digestOf(root_.der()).text());
  ASSERT_EQ((*said)["certificates"].size(), 3u);
  EXPECT_EQ((*said)["certificates"][0], toBase64(asBytes(leaf_.der())));
  EXPECT_FALSE(inputStatement(bundle.dump(), accepted({"x@vendor.example"}), testing_support::sampleSpec()));
}

}  // namespace
}  // namespace kiln::signing
