#include "signing/x509/chain.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temp_directory.h"
#include "tests/support/test_authority.h"

namespace kiln::signing {
namespace {

using testing_support::at;
using testing_support::authorityOrder;
using testing_support::CertificateOrder;
using testing_support::signerOrder;
using testing_support::TestCertificate;

const TimePoint kNow = at("2026-06-01T00:00:00Z");

class CertificateChain : public ::testing::Test {
 protected:
  // "" if the chain holds.
  std::string wrong(const std::vector<TestCertificate>& chain, TimePoint now = kNow) {
    return wrong(chain, CertificateRoots::of({root_.certificate()}).value(), now);
  }
  static std::string wrong(const std::vector<TestCertificate>& chain, const CertificateRoots& roots,
                           TimePoint now = kNow) {
    std::vector<X509Certificate> certificates;
    for (const TestCertificate& one : chain) certificates.push_back(one.certificate());
    const auto built = checkChain(certificates, roots, now);
    if (built) return {};
    EXPECT_EQ(built.error().code, Code::kDataLoss);
    return built.error().message;
  }
  // A signer's order with another value of one extension; "" leaves it out.
  static CertificateOrder changed(const std::string& extension, const std::string& value) {
    CertificateOrder order = signerOrder("email:who@example.org");
    std::erase_if(order.extensions, [&](const auto& one) { return one.first == extension; });
    if (!value.empty()) order.extensions.emplace_back(extension, value);
    return order;
  }

  const TestCertificate root_{authorityOrder("root")};
  const TestCertificate middle_ = root_.issue(authorityOrder("middle"));
  const TestCertificate leaf_ = middle_.issue(signerOrder("email:who@example.org"));
};

TEST_F(CertificateChain, HoldsUpToARootThatIsNamed) {
  EXPECT_EQ(wrong({leaf_, middle_}), "");
  EXPECT_EQ(wrong({leaf_, root_, middle_}), "") << "in any order, the root among them";
  EXPECT_EQ(wrong({root_.issue(signerOrder("DNS:example.org"))}), "");
  const auto built = checkChain(std::vector{leaf_.certificate(), middle_.certificate()},
                                CertificateRoots::of({root_.certificate()}).value(), kNow);
  ASSERT_EQ(built->size(), 3u);
  EXPECT_EQ(built->back().der(), root_.der());
  EXPECT_NE(wrong({leaf_}), "") << "nothing says who issued it";
  EXPECT_NE(wrong({}), "");
  EXPECT_NE(wrong(std::vector<TestCertificate>(17, leaf_)), "");
}

TEST_F(CertificateChain, AFileOfRootsMayHoldIntermediatesAndThoseAreNotBelieved) {
  const auto both = CertificateRoots::fromPem(middle_.pem() + root_.pem());
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(both->anchors.size(), 1u);
  EXPECT_EQ(wrong({leaf_}, *both), "");
  EXPECT_EQ(CertificateRoots::fromPem(middle_.pem()).error().code, Code::kInvalidArgument);
  CertificateRoots alone;
  alone.intermediates.push_back(middle_.certificate());
  EXPECT_NE(wrong({leaf_, middle_}, alone), "");
}

TEST_F(CertificateChain, ARootThatTheChainBringsIsBelievedByNobody) {
  const TestCertificate stranger(authorityOrder("root"));
  EXPECT_NE(wrong({stranger.issue(signerOrder("DNS:example.org")), stranger}), "");
  const TestCertificate self(signerOrder("DNS:example.org"));
  EXPECT_NE(wrong({self}), "");
}

TEST_F(CertificateChain, ALeafIsNoRootNotEvenItsOwn) {
  const TestCertificate self(signerOrder("DNS:example.org"));
  EXPECT_EQ(CertificateRoots::fromPem(self.pem()).error().code, Code::kInvalidArgument);
  CertificateRoots forced;
  forced.anchors.push_back(self.certificate());
  EXPECT_NE(wrong({self.issue(signerOrder("DNS:example.org"))}, forced), "") << "it issues nothing";
  EXPECT_NE(wrong({root_}), "") << "a root signs no models";
  EXPECT_NE(wrong({middle_}), "");
}

TEST_F(CertificateChain, EveryCertificateInItMustBeValidAtTheTime) {
  EXPECT_NE(wrong({leaf_, middle_}, at("2027-06-01T00:00:00Z")).find("at 2027-06-01T00:00:00Z"),
            std::string::npos);
  EXPECT_NE(wrong({leaf_, middle_}, at("2025-06-01T00:00:00Z")), "");
  CertificateOrder shorter = authorityOrder("short");
  shorter.to = at("2026-02-01T00:00:00Z");
  const TestCertificate ended = root_.issue(shorter);
  const TestCertificate leaf = ended.issue(signerOrder("DNS:example.org"));
  EXPECT_NE(wrong({leaf, ended}).find("short"), std::string::npos) << wrong({leaf, ended});
  EXPECT_EQ(wrong({leaf, ended}, at("2026-01-15T00:00:00Z")), "");
}

TEST_F(CertificateChain, ASignerSignsCodeAndStatesIt) {
  const auto of = [&](const CertificateOrder& order) { return wrong({root_.issue(order)}); };
  EXPECT_NE(of(changed("keyUsage", "")).find("digitalSignature"), std::string::npos);
  EXPECT_NE(of(changed("keyUsage", "critical,keyEncipherment")).find("digitalSignature"), std::string::npos);
  EXPECT_NE(of(changed("extendedKeyUsage", "")).find("codeSigning"), std::string::npos);
  EXPECT_NE(of(changed("extendedKeyUsage", "serverAuth")).find("codeSigning"), std::string::npos);
  EXPECT_NE(of(changed("extendedKeyUsage", "anyExtendedKeyUsage")).find("codeSigning"), std::string::npos);
  EXPECT_EQ(of(changed("extendedKeyUsage", "serverAuth,codeSigning")), "");
  EXPECT_NE(of(changed("basicConstraints", "critical,CA:TRUE")).find("authority"), std::string::npos);
  EXPECT_EQ(of(changed("basicConstraints", "critical,CA:FALSE")), "");
  EXPECT_NE(of(changed("1.2.3.4.5", "critical,ASN1:NULL")).find("critical"), std::string::npos);
  EXPECT_EQ(of(changed("1.2.3.4.5", "ASN1:NULL")), "");
}

TEST_F(CertificateChain, WhoIssuesIsAnAuthorityForThatUse) {
  const auto through = [&](const CertificateOrder& order) {
    const TestCertificate issuer = root_.issue(order);
    return wrong({issuer.issue(signerOrder("DNS:example.org")), issuer});
  };
  EXPECT_EQ(through(authorityOrder("a")), "");
  EXPECT_NE(through(signerOrder("DNS:example.org")), "") << "a signer's certificate issues none";
  EXPECT_NE(through({"a", {{"keyUsage", "critical,keyCertSign"}}}), "") << "no basic constraints";
  EXPECT_NE(through({"a", {{"basicConstraints", "critical,CA:TRUE"}, {"keyUsage", "critical,cRLSign"}}}), "");
  CertificateOrder other = authorityOrder("a");
  other.extensions.emplace_back("extendedKeyUsage", "serverAuth");
  EXPECT_NE(through(other).find("other uses"), std::string::npos);
  other.extensions.back().second = "codeSigning";
  EXPECT_EQ(through(other), "");
  CertificateOrder named = authorityOrder("a");
  named.extensions.emplace_back("nameConstraints", "critical,permitted;DNS:example.com");
  EXPECT_NE(through(named), "") << "names that it may not give";
}

TEST_F(CertificateChain, HasAtMostFourAuthoritiesBetween) {
  std::vector<TestCertificate> authorities{root_};
  const auto through = [&](std::size_t count) {
    while (authorities.size() <= count)
      authorities.push_back(
          authorities.back().issue(authorityOrder("a" + std::to_string(authorities.size()))));
    std::vector<TestCertificate> chain{authorities.back().issue(signerOrder("DNS:example.org"))};
    chain.insert(chain.end(), authorities.begin() + 1, authorities.end());
    return wrong(chain);
  };
  EXPECT_EQ(through(4), "");
  EXPECT_NE(through(5), "");
}

TEST_F(CertificateChain, WhatAnAuthorityHasTakenBackVouchesForNobody) {
  const auto with = [&](RevocationLists lists, TimePoint now = kNow) {
    CertificateRoots roots = CertificateRoots::of({root_.certificate()}).value();
    roots.revocations = std::move(lists);
    return wrong({leaf_, middle_}, roots, now);
  };
  EXPECT_EQ(with({root_.takesBack({}), middle_.takesBack({})}), "");
  EXPECT_EQ(with({root_.takesBack({leaf_}), middle_.takesBack({middle_})}), "")
      << "serial numbers of another's";
  EXPECT_NE(with({root_.takesBack({}), middle_.takesBack({leaf_})}).find("revoked"), std::string::npos);
  EXPECT_NE(with({root_.takesBack({middle_}), middle_.takesBack({})}).find("revoked"), std::string::npos);
  // A list that is not there, too old, too new or somebody else's says nothing.
  EXPECT_NE(with({root_.takesBack({})}).find("of its authority no list was given"), std::string::npos);
  EXPECT_NE(with({middle_.takesBack({})}), "");
  const TimePoint begin = at("2026-01-01T00:00:00Z"), early = at("2026-02-01T00:00:00Z");
  EXPECT_NE(with({root_.takesBack({}), middle_.takesBack({}, begin, early)}).find("expired at 2026-06-01"),
            std::string::npos);
  EXPECT_EQ(with({root_.takesBack({}), middle_.takesBack({}, begin, early)}, at("2026-01-15T00:00:00Z")), "");
  EXPECT_NE(with({root_.takesBack({}), middle_.takesBack({}, kNow + std::chrono::hours(1))}), "");
  const TestCertificate posed(authorityOrder("middle"));
  EXPECT_NE(with({root_.takesBack({}), posed.takesBack({})}), "") << "by another key";
}

TEST_F(CertificateChain, RevocationListsAreReadFromPlainPem) {
  const testing_support::TempDirectory folder;
  const auto read = [&](const std::string& text) {
    std::ofstream(folder / "crl.pem") << text;
    return loadRevocationLists(folder / "crl.pem");
  };
  const auto pemOf = [](const std::shared_ptr<X509_CRL>& list) {
    const auto bio = writer();
    PEM_write_bio_X509_CRL(bio.get(), list.get());
    return textOf(bio.get());
  };
  const std::string one = pemOf(root_.takesBack({middle_}));
  EXPECT_EQ(read(one + pemOf(middle_.takesBack({})))->size(), 2u);
  std::string many;
  for (int i = 0; i < 17; ++i) many += one;
  for (const std::string& bad :
       {std::string(), std::string("x"), "text\n" + one, one + "text", root_.pem(), one + root_.pem(), many})
    EXPECT_EQ(read(bad).error().code, Code::kInvalidArgument) << bad;
}

TEST(Certificate, NamesUsersAsFulcioDoes) {
  const TestCertificate root{authorityOrder("root")};
  const auto named = [&](const std::string& names) { return root.issue(signerOrder(names)).certificate(); };
  const X509Certificate one = named("otherName:1.3.6.1.4.1.57264.1.7;UTF8:ci!example.org");
  EXPECT_TRUE(one.names("ci!example.org"));
  for (const char* name : {"ci", "example.org", "ci!example.or", "CI!example.org", "ci@example.org"})
    EXPECT_FALSE(one.names(name)) << name;
  EXPECT_EQ(one.alternativeNames(), std::vector<std::string>{"ci!example.org"});
  // Other kinds of the same text, and what Fulcio does not write.
  for (const char* posed :
       {"DNS:ci!example.org", "otherName:1.3.6.1.4.1.57264.1.8;UTF8:ci!example.org",
        "otherName:1.3.6.1.4.1.57264.1.7;IA5STRING:ci!example.org", "otherName:1.3.6.1.4.1.57264.1.7;NULL:"})
    EXPECT_FALSE(named(posed).names("ci!example.org")) << posed;
  const X509Certificate mail = named("otherName:1.3.6.1.4.1.57264.1.7;UTF8:who@example.org");
  EXPECT_FALSE(mail.names("who@example.org")) << "that is no e-mail address";
}

TEST(Certificate, NamesOnlyInFullAndByKind) {
  const TestCertificate root{authorityOrder("root")};
  CertificateOrder order =
      signerOrder("URI:https://example.org/repo,email:who@example.org,DNS:sign.example.org,IP:10.0.0.1");
  order.name = "common@example.org";
  const X509Certificate one = root.issue(order).certificate();
  for (const char* name : {"https://example.org/repo", "who@example.org", "sign.example.org"})
    EXPECT_TRUE(one.names(name)) << name;
  for (const char* name :
       {"", "https://example.org/rep", "https://example.org/repo/", "ho@example.org", "WHO@example.org",
        "example.org", "*.example.org", "common@example.org", "10.0.0.1", "*"})
    EXPECT_FALSE(one.names(name)) << name;
  EXPECT_EQ(one.alternativeNames().size(), 3u);
  // A name of another kind, which the authority's constraints would not see.
  const X509Certificate posed =
      root.issue(signerOrder("DNS:https://example.org/repo,DNS:who@example.org,URI:sign.example.org"))
          .certificate();
  for (const char* name : {"https://example.org/repo", "who@example.org", "sign.example.org"})
    EXPECT_FALSE(posed.names(name)) << name;
  CertificateOrder none = signerOrder("DNS:x");
  none.name = "who@example.org";
  none.extensions.pop_back();
  EXPECT_FALSE(root.issue(none).certificate().names("who@example.org")) << "the common name is none";
}

TEST(Certificate, StatesItsOpenIdIssuerInEitherForm) {
  const TestCertificate root{authorityOrder("root")};
  CertificateOrder order = signerOrder("URI:https://example.org/w");
  EXPECT_EQ(root.issue(order).certificate().oidcIssuer(), "");
  order.extensions.emplace_back("1.3.6.1.4.1.57264.1.1", "DER:68747470733a2f2f6f6c64");  // https://old
  EXPECT_EQ(root.issue(order).certificate().oidcIssuer(), "https://old");
  order.extensions.emplace_back("1.3.6.1.4.1.57264.1.8", "ASN1:UTF8String:https://new");
  EXPECT_EQ(root.issue(order).certificate().oidcIssuer(), "https://new");
  order.extensions.back().second = "DER:68747470733a2f2f6f6c64";  // no UTF8String
  EXPECT_EQ(root.issue(order).certificate().oidcIssuer(), "");
}

TEST(Certificate, IsReadInOneFormAndWithEachExtensionOnce) {
  const TestCertificate root{authorityOrder("root")};
  const std::string der = root.der();
  EXPECT_TRUE(X509Certificate::fromDer(der));
  for (const std::string& bad :
       {std::string(), der + "x", der.substr(1), der.substr(0, der.size() - 1), std::string(70000, '0')})
    EXPECT_EQ(X509Certificate::fromDer(bad).error().code, Code::kInvalidArgument);
  CertificateOrder twice = signerOrder("email:who@example.org");
  twice.extensions.emplace_back("subjectAltName", "email:other@example.org");
  const auto refused = X509Certificate::fromDer(root.issue(twice).der());
  EXPECT_NE(refused.error().message.find("2.5.29.17 twice"), std::string::npos);
  CertificateOrder damaged = signerOrder("email:who@example.org");
  damaged.extensions[0] = {"keyUsage", "DER:0400"};
  EXPECT_FALSE(X509Certificate::fromDer(root.issue(damaged).der()));
}

TEST(Certificate, PemIsPlain) {
  const TestCertificate root{authorityOrder("root")};
  EXPECT_EQ(certificatesFromPem(root.pem())->size(), 1u);
  EXPECT_EQ(certificatesFromPem(root.pem() + root.pem())->size(), 2u);
  std::string many;
  for (int i = 0; i < 17; ++i) many += root.pem();
  for (const std::string& bad : {std::string(), std::string("x"), "text\n" + root.pem(), root.pem() + "text",
                                 root.pem() + "\n" + root.pem(), root.keyPem(), many})
    EXPECT_EQ(certificatesFromPem(bad).error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace kiln::signing
