#include "signing/keys/certificate.h"

#include <gtest/gtest.h>

namespace kiln::signing {
namespace {

const TimePoint kNow = parseRfc3339("2026-11-20T06:00:00Z").value();

struct CertificateTest : ::testing::Test {
  Authority authority = Authority::create(kNow).value();
  PrivateKey key = PrivateKey::create().value();
  Certificate worker = authority.issue("w1", "acme", key.publicKey(), kNow).value();
};

TEST_F(CertificateTest, NamesWorkerAndOperator) {
  Certificate back = Certificate::fromPem(worker.pem()).value();
  EXPECT_EQ(back.commonName(), "w1");
  EXPECT_EQ(back.organisation(), "acme");
  EXPECT_EQ(back.publicKey().id(), key.publicKey().id());
  EXPECT_TRUE(back.checkIssuedBy(authority.certificate(), kNow));
}

TEST_F(CertificateTest, AnotherAuthorityIsRefused) {
  Authority other = Authority::create(kNow).value();  // same subject name, another key
  EXPECT_EQ(worker.checkIssuedBy(other.certificate(), kNow).error().code, Code::kPermissionDenied);
  EXPECT_FALSE(worker.checkIssuedBy(worker, kNow));
  EXPECT_FALSE(authority.certificate().checkIssuedBy(authority.certificate(), kNow));  // a CA is no worker
}

TEST_F(CertificateTest, ValidityIsChecked) {
  auto late = worker.checkIssuedBy(authority.certificate(), kNow + std::chrono::hours(24 * 400));
  EXPECT_NE(late.error().message.find("valid from"), std::string::npos);
  EXPECT_FALSE(worker.checkIssuedBy(authority.certificate(), kNow - std::chrono::hours(2)));
}

TEST_F(CertificateTest, AWorkerCannotIssue) {
  Authority rogue(key, worker);
  PrivateKey forged = PrivateKey::create().value();
  Certificate below = rogue.issue("w2", "acme", forged.publicKey(), kNow).value();
  EXPECT_FALSE(below.checkIssuedBy(worker, kNow));
  EXPECT_FALSE(below.checkIssuedBy(authority.certificate(), kNow));
}

TEST_F(CertificateTest, BadTextAndNames) {
  EXPECT_FALSE(Certificate::fromPem(""));
  EXPECT_FALSE(Certificate::fromPem(worker.pem() + worker.pem()));
  EXPECT_FALSE(Certificate::fromPem(worker.pem().substr(0, 200)));
  for (const char* name : {"", "a b", "a/CN=b", "ä"})
    EXPECT_FALSE(authority.issue(name, "acme", key.publicKey(), kNow)) << name;
}

}  // namespace
}  // namespace kiln::signing
