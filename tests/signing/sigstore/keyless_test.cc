#include "signing/sigstore/keyless.h"

#include <gtest/gtest.h>

#include <functional>

#include "manifest/base/file.h"
#include "tests/signing/sigstore/small_sigstore.h"

namespace kiln::signing {
namespace {

using testing_support::at;
using testing_support::base64;
using testing_support::CertificateOrder;
using testing_support::SmallSigstore;
using testing_support::TestCertificate;
using testing_support::TestLog;

class Keyless : public ::testing::Test {
 protected:
  KeylessRule rule(const Json& root, std::string who = SmallSigstore::kWho,
                   std::string issuer = SmallSigstore::kIssuer) {
    return {parseTrustedRoots(root.dump()).value(), {std::move(who)}, {std::move(issuer)}};
  }
  Json entry(const Envelope& envelope, const TestCertificate& leaf, const std::string& kind = "dsse",
             const std::string& version = "0.0.1") {
    return here_.entry(kind, version, SmallSigstore::body(kind, version, envelope, leaf));
  }
  static Json logged(const Json& entry) { return {{"tlogEntries", Json::array({entry})}}; }
  static Json timed(const std::vector<std::string>& answers) {
    Json list = Json::array();
    for (const std::string& one : answers) list.push_back({{"signedTimestamp", base64(one)}});
    return {{"timestampVerificationData", {{"rfc3161Timestamps", list}}}};
  }
  static Json both(Json one, const Json& other) {
    one.update(other);
    return one;
  }
  std::string timestamp(TimePoint time) {
    return SmallSigstore::timestamp(here_.timeSigner, envelope_.signatures[0], time);
  }
  // Why it is refused; "" if it holds.
  std::string wrong(const Json& material) { return wrong(material, rule(here_.trustedRoot())); }
  std::string wrong(const Json& material, const KeylessRule& rule) {
    return wrong(material, leaf_, envelope_, rule);
  }
  static std::string wrong(const Json& material, const TestCertificate& leaf, const Envelope& envelope,
                           const KeylessRule& rule) {
    const auto got = checkKeyless(material, leaf.certificate(), envelope, rule);
    return got ? std::string() : got.error().message;
  }
  std::string changed(const std::function<void(Json&)>& change) {
    Json one = entry(envelope_, leaf_);
    change(one);
    return wrong(logged(one));
  }
  // With a certificate of this order.
  std::string of(const TestCertificate& leaf) {
    const Envelope envelope = SmallSigstore::sign(leaf, "payload");
    return wrong(logged(entry(envelope, leaf)), leaf, envelope, rule(here_.trustedRoot()));
  }

  const SmallSigstore here_;
  const TestCertificate leaf_ = here_.leaf();
  const Envelope envelope_ = SmallSigstore::sign(leaf_, "payload");
};

TEST_F(Keyless, HoldsByEveryKindOfEntryThatIsServed) {
  for (const auto& [kind, version] : std::vector<std::pair<std::string, std::string>>{
           {"dsse", "0.0.1"}, {"intoto", "0.0.2"}, {"dsse", "0.0.2"}, {"hashedrekord", "0.0.2"}}) {
    const Json material = logged(entry(envelope_, leaf_, kind, version));
    const auto got = checkKeyless(material, leaf_.certificate(), envelope_, rule(here_.trustedRoot()));
    ASSERT_TRUE(got) << kind << version << ": " << got.error().message;
    EXPECT_EQ(got->identity, SmallSigstore::kWho);
    EXPECT_EQ(got->issuer, SmallSigstore::kIssuer);
    EXPECT_EQ(got->at, here_.now + std::chrono::seconds(60));
    EXPECT_EQ(got->chain.size(), 3u);
    // The same entry of another envelope or certificate is about neither.
    const Envelope other = SmallSigstore::sign(leaf_, "other payload");
    EXPECT_NE(wrong(logged(entry(other, leaf_, kind, version))).find("about another"), std::string::npos)
        << kind;
    EXPECT_NE(wrong(logged(entry(envelope_, here_.leaf(), kind, version))).find("another certificate"),
              std::string::npos);
    Envelope again = envelope_;
    again.signatures[0] = SmallSigstore::sign(leaf_, "payload").signatures[0];
    EXPECT_NE(wrong(logged(entry(again, leaf_, kind, version))).find("another signature"), std::string::npos);
  }
  const auto unknown = checkKeyless(logged(entry(envelope_, leaf_, "hashedrekord", "0.0.1")),
                                    leaf_.certificate(), envelope_, rule(here_.trustedRoot()));
  EXPECT_EQ(unknown.error().code, Code::kUnimplemented);
}

TEST_F(Keyless, IsOfWhoeverIsNamedInFull) {
  const Json good = logged(entry(envelope_, leaf_));
  const Json root = here_.trustedRoot();
  EXPECT_EQ(wrong(good), "");
  EXPECT_NE(wrong(good, rule(root, "https://forge.test/acme/models/.ci/release.yml")), "");
  EXPECT_NE(wrong(good, rule(root, std::string(SmallSigstore::kWho) + "/")), "");
  EXPECT_NE(wrong(good, rule(root, SmallSigstore::kWho, "https://token.forge.tes")).find("issuer"),
            std::string::npos);
  EXPECT_NE(wrong(good, rule(root, SmallSigstore::kWho, "")), "");
  CertificateOrder order = here_.leafOrder();
  order.extensions.pop_back();
  EXPECT_NE(of(here_.issue(order, &here_.certificateLog)), "") << "no issuer is stated";
}

TEST_F(Keyless, ALogsWordIsChecked) {
  EXPECT_EQ(changed([](Json&) {}), "");
  EXPECT_EQ(changed([](Json& one) { one.erase("inclusionProof"); }), "") << "a promise alone";
  EXPECT_EQ(changed([](Json& one) { one["inclusionProof"] = nullptr; }), "");
  EXPECT_NE(changed([](Json& one) { one.erase("inclusionPromise"); }).find("when it was signed"),
            std::string::npos)
      << "a proof has no time";
  EXPECT_NE(changed([](Json& one) {
              one.erase("inclusionPromise");
              one.erase("inclusionProof");
            }),
            "");
  EXPECT_NE(changed([](Json& one) { one["integratedTime"] = "1780272061"; }), "") << "a second later";
  EXPECT_NE(changed([](Json& one) { one["logIndex"] = "1002"; }), "");
  EXPECT_NE(changed([](Json& one) { one["inclusionProof"]["logIndex"] = "0"; }), "");
  EXPECT_NE(changed([](Json& one) { one["inclusionProof"]["treeSize"] = "3"; }), "");
  EXPECT_NE(changed([](Json& one) { one["inclusionProof"]["hashes"] = Json::array(); }), "");
  EXPECT_NE(changed([](Json& one) { one["inclusionProof"]["rootHash"] = base64(std::string(32, 'x')); }), "");
  EXPECT_NE(changed([](Json& one) {
              std::string note = one["inclusionProof"]["checkpoint"]["envelope"];
              note.replace(note.find("4711"), 4, "4712");
              one["inclusionProof"]["checkpoint"]["envelope"] = note;
            }).find("did not sign the checkpoint"),
            std::string::npos);
  EXPECT_NE(changed([](Json& one) { one["inclusionPromise"]["signedEntryTimestamp"] = "AAAA"; }), "");
  EXPECT_NE(changed([](Json& one) { one["logId"]["keyId"] = base64(std::string(32, 'x')); }).find("no log"),
            std::string::npos);
  EXPECT_NE(changed([](Json& one) { one["kindVersion"]["version"] = "0.0.2"; }), "")
      << "a body of another version";
}

TEST_F(Keyless, MalformedMaterialNamesTheMember) {
  const auto code = [&](const Json& material) {
    return checkKeyless(material, leaf_.certificate(), envelope_, rule(here_.trustedRoot())).error().code;
  };
  const Json good = entry(envelope_, leaf_);
  for (const char* member : {"logId", "kindVersion", "canonicalizedBody"}) {
    Json bad = good;
    bad.erase(member);
    EXPECT_EQ(code(logged(bad)), Code::kInvalidArgument) << member;
    bad[member] = 7;
    EXPECT_EQ(code(logged(bad)), Code::kInvalidArgument) << member;
  }
  for (const char* number : {"-1", "x", "99999999999999999999", "9007199254740993"}) {
    Json bad = good;
    bad["integratedTime"] = number;
    EXPECT_EQ(code(logged(bad)), Code::kInvalidArgument) << number;
  }
  Json many = good;
  many["inclusionProof"]["hashes"] = std::vector<std::string>(65, base64(std::string(32, 'x')));
  EXPECT_EQ(code(logged(many)), Code::kInvalidArgument);
  EXPECT_EQ(code({{"tlogEntries", std::vector<Json>(9, good)}}), Code::kInvalidArgument);
  EXPECT_EQ(code(timed(std::vector<std::string>(9, "x"))), Code::kInvalidArgument);
  EXPECT_EQ(code(timed({"garbage"})), Code::kDataLoss);
  EXPECT_EQ(code({{"tlogEntries", "x"}}), Code::kInvalidArgument);
  EXPECT_EQ(code(Json::array()), Code::kInvalidArgument);
}

TEST_F(Keyless, ATimeMustLieWithinTheCertificateAndTheLogsKey) {
  CertificateOrder order = here_.leafOrder();
  order.to = here_.now + std::chrono::seconds(30);
  EXPECT_NE(of(here_.issue(order, &here_.certificateLog)).find("expired"), std::string::npos);
  Json root = here_.trustedRoot();
  root["tlogs"][0]["publicKey"]["validFor"]["end"] = "2026-05-01T00:00:00Z";
  EXPECT_NE(wrong(logged(entry(envelope_, leaf_)), rule(root)).find("not in use"), std::string::npos);
  root = here_.trustedRoot();
  root["certificateAuthorities"][0]["validFor"]["end"] = "2026-05-01T00:00:00Z";
  EXPECT_NE(wrong(logged(entry(envelope_, leaf_)), rule(root)).find("at work"), std::string::npos);
  root = here_.trustedRoot();
  root["ctlogs"][0]["publicKey"]["validFor"]["end"] = "2026-05-01T00:00:00Z";
  EXPECT_NE(wrong(logged(entry(envelope_, leaf_)), rule(root)), "");
}

TEST_F(Keyless, ACertificateWasShownToALog) {
  const TestLog stranger;
  const CertificateOrder order = here_.leafOrder();
  EXPECT_EQ(of(here_.issue(order, &here_.certificateLog)), "");
  EXPECT_NE(of(here_.issue(order, nullptr)).find("no timestamp of a log"), std::string::npos);
  EXPECT_NE(of(here_.issue(order, &stranger)).find("was shown it"), std::string::npos);
  EXPECT_NE(of(here_.issue(order, &here_.certificateLog, &here_.root)), "") << "for another issuer's key";
  EXPECT_NE(of(here_.issue(order, &here_.certificateLog, nullptr, std::chrono::hours(24 * 365))), "");
  TestCertificate garbage = here_.middle.issue(order);
  garbage.addRaw("1.3.6.1.4.1.11129.2.4.2", "garbage", here_.middle);
  EXPECT_NE(of(garbage), "");
  // A root with a log whose key nobody can read does not do without.
  Json root = here_.trustedRoot();
  root["ctlogs"][0]["publicKey"]["rawBytes"] = "AAAA";
  EXPECT_NE(wrong(logged(entry(envelope_, leaf_)), rule(root)), "");
  root["ctlogs"] = Json::array();
  const TestCertificate unseen = here_.issue(order, nullptr);
  const Envelope envelope = SmallSigstore::sign(unseen, "payload");
  EXPECT_EQ(wrong(logged(entry(envelope, unseen)), unseen, envelope, rule(root)), "")
      << "an operator without such logs, as GitHub for private repositories";
}

TEST_F(Keyless, TimestampsCountByAnAuthorityThatIsNamed) {
  const TimePoint then = here_.now + std::chrono::minutes(2);
  Json proof = entry(envelope_, leaf_, "dsse", "0.0.2");  // as the second Rekor, which states no time
  proof.erase("inclusionPromise");
  proof.erase("integratedTime");
  EXPECT_EQ(wrong(both(logged(proof), timed({timestamp(then)}))), "");
  EXPECT_NE(wrong(logged(proof)).find("when it was signed"), std::string::npos);
  EXPECT_NE(wrong(timed({timestamp(then)})).find("none of the logs"), std::string::npos);
  EXPECT_NE(wrong(both(logged(proof), timed({timestamp(here_.now + std::chrono::hours(1))}))).find("expired"),
            std::string::npos);
  EXPECT_NE(
      wrong(both(logged(proof), timed({timestamp(then), timestamp(here_.now + std::chrono::hours(1))}))), "")
      << "each time must fit";
  EXPECT_NE(wrong(both(logged(proof), timed({SmallSigstore::timestamp(here_.timeSigner, "other", then)}))),
            "");
  EXPECT_NE(wrong(both(logged(proof), timed({timestamp(then) + "x"}))), "");
  // Another certificate of the same root is not the authority.
  const TestCertificate other = here_.timeRoot.issue(
      {"other", {{"keyUsage", "critical,digitalSignature"}, {"extendedKeyUsage", "critical,timeStamping"}}});
  EXPECT_NE(
      wrong(both(logged(proof), timed({SmallSigstore::timestamp(other, envelope_.signatures[0], then)}))),
      "");
  Json root = here_.trustedRoot();
  root["timestampAuthorities"][0]["validFor"]["end"] = "2026-05-01T00:00:00Z";
  EXPECT_NE(wrong(both(logged(proof), timed({timestamp(then)})), rule(root)), "");
  root["timestampAuthorities"] = Json::array();
  EXPECT_NE(wrong(both(logged(proof), timed({timestamp(then)})), rule(root)), "");
  // GitHub's own Sigstore has no log, and times alone.
  root = here_.trustedRoot();
  root["tlogs"] = Json::array();
  EXPECT_EQ(wrong(timed({timestamp(then)}), rule(root)), "");
}

TEST_F(Keyless, OneRootVouchesForAllOfIt) {
  const SmallSigstore other;
  const Json good = logged(entry(envelope_, leaf_));
  const std::string lines = other.trustedRoot().dump() + "\n" + here_.trustedRoot().dump() + "\n";
  const auto roots = parseTrustedRoots(lines);
  ASSERT_TRUE(roots) << roots.error().message;
  EXPECT_EQ(wrong(good, {*roots, {SmallSigstore::kWho}, {SmallSigstore::kIssuer}}), "");
  EXPECT_NE(wrong(good, rule(other.trustedRoot())), "");
  // One root's authority with the other's log.
  Json mixed = other.trustedRoot();
  mixed["tlogs"] = here_.trustedRoot()["tlogs"];
  Json rest = here_.trustedRoot();
  rest["tlogs"] = other.trustedRoot()["tlogs"];
  const auto apart = parseTrustedRoots(mixed.dump() + "\n" + rest.dump()).value();
  EXPECT_NE(wrong(good, {apart, {SmallSigstore::kWho}, {SmallSigstore::kIssuer}}), "");
  EXPECT_NE(wrong(good, {{}, {SmallSigstore::kWho}, {SmallSigstore::kIssuer}}), "");
}

TEST_F(Keyless, WhatThePublicSigstoreMadeHolds) {
  const std::string folder = std::string(KILN_SOURCE_DIR) + "/tests/signing/sigstore/published/";
  const Json bundle = Json::parse(readRegular(folder + "npm.sigstore.json", 1 << 20).value());
  const Json& material = bundle["verificationMaterial"];
  const std::string der = fromBase64(material["certificate"]["rawBytes"].get<std::string>()).value();
  const auto leaf = X509Certificate::fromDer(der).value();
  const Envelope envelope = readEnvelope(bundle["dsseEnvelope"], kInTotoPayload).value();
  KeylessRule rule{parseTrustedRoots(readRegular(folder + "trusted_root.json", 1 << 20).value()).value(),
                   {"https://github.com/sigstore/sigstore-js/.github/workflows/release.yml@refs/heads/main"},
                   {"https://token.actions.githubusercontent.com"}};
  const auto got = checkKeyless(material, leaf, envelope, rule);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(rfc3339(got->at), "2023-08-18T16:05:35Z");
  rule.identities = {"https://github.com/sigstore/sigstore-js/.github/workflows/release.yml@refs/heads/mai"};
  EXPECT_FALSE(checkKeyless(material, leaf, envelope, rule));
}

TEST_F(Keyless, TrustedRootsOfOtherFormsAreRefused) {
  const auto refused = [&](const std::function<void(Json&)>& change) {
    Json root = here_.trustedRoot();
    change(root);
    return !parseTrustedRoots(root.dump(2));
  };
  EXPECT_FALSE(refused([](Json&) {}));
  EXPECT_FALSE(refused([](Json& root) { root["more"] = 1; }));
  EXPECT_TRUE(refused([](Json& root) { root["mediaType"] = "x"; }));
  EXPECT_TRUE(refused([](Json& root) { root.erase("certificateAuthorities"); }));
  EXPECT_TRUE(refused([](Json& root) { root["certificateAuthorities"][0].erase("validFor"); }));
  EXPECT_TRUE(refused([](Json& root) { root["certificateAuthorities"][0]["validFor"]["start"] = "soon"; }));
  EXPECT_TRUE(refused([](Json& root) {
    root["certificateAuthorities"][0]["certChain"]["certificates"].erase(1);
  })) << "no root";
  EXPECT_TRUE(refused([](Json& root) {
    root["timestampAuthorities"][0]["certChain"]["certificates"].erase(0);
  })) << "no root after the signer";
  EXPECT_TRUE(refused([](Json& root) { root["tlogs"][0]["logId"]["keyId"] = "AAAA"; }));
  EXPECT_TRUE(refused([](Json& root) { root["tlogs"][0].erase("publicKey"); }));
  EXPECT_TRUE(refused([](Json& root) { root["tlogs"] = std::vector<Json>(65, root["tlogs"][0]); }));
  const std::string line = here_.trustedRoot().dump();
  std::string many;
  for (int i = 0; i < 17; ++i) many += line + "\n";
  EXPECT_FALSE(parseTrustedRoots(many));
  EXPECT_FALSE(parseTrustedRoots(line + "\nx"));
  EXPECT_FALSE(parseTrustedRoots(""));
}

}  // namespace
}  // namespace kiln::signing
