#include <gtest/gtest.h>

#include "manifest/statement/statement.h"
#include "signing/model/input_statement.h"
#include "signing/model/model_manifest.h"
#include "signing/model/model_signature.h"
#include "tests/signing/sigstore/small_sigstore.h"
#include "tests/support/sample_spec.h"

namespace kiln::signing {
namespace {

using testing_support::base64;
using testing_support::SmallSigstore;
using testing_support::TestCertificate;

// As `gh attestation download` leaves a bundle, one on its line.
class KeylessBundle : public ::testing::Test {
 protected:
  std::string bundle(const std::string& payload) { return bundle(payload, here_.leaf()); }
  std::string bundle(const std::string& payload, const TestCertificate& leaf) {
    const Envelope envelope = SmallSigstore::sign(leaf, payload);
    const Json entry = here_.entry("dsse", "0.0.1", SmallSigstore::body("dsse", "0.0.1", envelope, leaf));
    return Json{{"mediaType", "application/vnd.dev.sigstore.bundle.v0.3+json"},
                {"verificationMaterial",
                 {{"certificate", {{"rawBytes", base64(leaf.der())}}},
                  {"tlogEntries", {entry}},
                  {"timestampVerificationData", nullptr}}},
                {"dsseEnvelope", envelope.toJson()}}
               .dump() +
           "\n";
  }
  AcceptedSigners accepted(const std::string& who = SmallSigstore::kWho,
                           const std::string& issuer = SmallSigstore::kIssuer) {
    AcceptedSigners out;
    out.keyless = {parseTrustedRoots(here_.trustedRoot().dump()).value(), {who}, {issuer}};
    return out;
  }
  static std::string provenance(const std::string& bytes) {
    return Json{{"_type", kStatementType},
                {"subject", {{{"name", "any"}, {"digest", {{"sha256", digestOf(bytes).hex()}}}}}},
                {"predicateType", "https://slsa.dev/provenance/v1"},
                {"predicate", {{"buildDefinition", {{"score", 0.5}}}}}}
        .dump();
  }
  Result<Json> read(const std::string& text, const AcceptedSigners& signers) {
    return inputStatement(text, signers, testing_support::sampleSpec());
  }

  const SmallSigstore here_;
};

TEST_F(KeylessBundle, OfAForgesAttestationIsEvidenceByItsIdentity) {
  const auto said = read(bundle(provenance("model")), accepted());
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ((*said)["identity"], SmallSigstore::kWho);
  EXPECT_EQ((*said)["issuer"], SmallSigstore::kIssuer);
  EXPECT_EQ((*said)["time"], "2026-06-01T00:01:00Z");
  EXPECT_EQ((*said)["root"], digestOf(here_.root.der()).text());
  EXPECT_EQ((*said)["predicateType"], "https://slsa.dev/provenance/v1");
  const auto written = toCanonicalJson(*said);
  ASSERT_TRUE(written) << written.error().message;
  // It can be seen again by what is inside.
  const Json again{{"mediaType", "application/vnd.dev.sigstore.bundle.v0.3+json"},
                   {"verificationMaterial", (*said)["verificationMaterial"]},
                   {"dsseEnvelope", (*said)["envelope"]}};
  EXPECT_EQ(read(again.dump(), accepted()).value(), *said);
}

TEST_F(KeylessBundle, OfNobodyElseAndAboutNothingElse) {
  const std::string good = bundle(provenance("model"));
  EXPECT_EQ(read(good, accepted("https://forge.test/acme")).error().code, Code::kDataLoss);
  EXPECT_EQ(read(good, accepted(SmallSigstore::kWho, "https://token.forge.tes")).error().code,
            Code::kDataLoss);
  EXPECT_EQ(read(good, {}).error().code, Code::kDataLoss);
  EXPECT_EQ(read(bundle(provenance("another model")), accepted()).error().code, Code::kDataLoss);
  // Of a private authority it is long over, and no root of a Sigstore reads it.
  AcceptedSigners authority;
  authority.certificates = {
      CertificateRoots::of({here_.middle.certificate(), here_.root.certificate()}).value(),
      {SmallSigstore::kWho},
      testing_support::at("2026-07-01T00:00:00Z")};
  EXPECT_EQ(read(good, authority).error().code, Code::kDataLoss);
  // A signature that the certificate's key did not make, though the log has it.
  Json forged = Json::parse(good);
  const Json other = Json::parse(bundle(provenance("model")));
  forged["verificationMaterial"]["certificate"] = other["verificationMaterial"]["certificate"];
  EXPECT_NE(read(forged.dump(), accepted()).error().message.find("not signed by the key"), std::string::npos);
  EXPECT_NE(read(good + good, accepted()).error().message.find("one bundle"), std::string::npos);
}

TEST_F(KeylessBundle, SignsAModelToo) {
  ModelManifest manifest{"resnet", {{"weights.bin", {digestOf("weights").hash, 0}}}, false, {}};
  const auto opened = openModelSignature(bundle(manifest.statement().value()), accepted());
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->signer.identity, SmallSigstore::kWho);
  EXPECT_NE(opened->signer.text().find(SmallSigstore::kIssuer), std::string::npos);
  EXPECT_EQ(opened->signer.toJson()["issuer"], SmallSigstore::kIssuer);
}

}  // namespace
}  // namespace kiln::signing
