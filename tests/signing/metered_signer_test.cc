#include "signing/server/metered_signer.h"

#include <gtest/gtest.h>

#include "manifest/base/steady_clock.h"
#include "tests/signing/farm_fixture.h"
#include "tests/support/metrics.h"

namespace kiln::signing {
namespace {

using testing_support::metric;

TEST(MeteredSigner, CountsByTypeAndOutcome) {
  Farm farm;
  prometheus::Registry registry;
  const SteadyClock clock;
  MeteredSigner signer(farm.signer, registry, clock);
  EXPECT_EQ(signer.sign(farm.request()).value(), farm.sign());
  EXPECT_EQ(metric(registry, "kiln_signer_requests_total", {{"type", "provenance"}, {"code", "OK"}}), 1);
  EXPECT_EQ(metric(registry, "kiln_signer_seconds", {{"type", "provenance"}}), 1);

  SignRequest bad = farm.request();
  bad.statement = "{}";
  ASSERT_FALSE(signer.sign(bad));
  EXPECT_EQ(metric(registry, "kiln_signer_requests_total", {{"type", "other"}, {"code", "INVALID_ARGUMENT"}}),
            1);

  bad = farm.request();
  bad.statement = provenanceStatement(digestOf("another"), farm.provenance).value();
  ASSERT_FALSE(signer.sign(bad));
  EXPECT_EQ(metric(registry, "kiln_signer_requests_total",
                   {{"type", "provenance"}, {"code", "FAILED_PRECONDITION"}}),
            1);
  EXPECT_EQ(metric(registry, "kiln_signer_seconds", {{"type", "provenance"}}), 2);
  EXPECT_EQ(signer.publicKeyPem().value(), farm.key.publicKey().pem());
}

}  // namespace
}  // namespace kiln::signing
