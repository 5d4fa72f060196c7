// Counts what a signer is asked for, for Prometheus.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "manifest/base/clock.h"
#include "signing/client/signer_client.h"

namespace kiln::signing {

// Thread safe. What it is given must outlive it. Metrics; `type` is one of the statements that are signed
// here, or "other":
//   kiln_signer_requests_total{type,code}   `code` as codeName() has it, OK for a signature
//   kiln_signer_seconds{type}               from the request to the answer
class MeteredSigner final : public Signer {
 public:
  // `clock` is for lengths of time alone.
  MeteredSigner(Signer& inner, prometheus::Registry& registry, const Clock& clock);

  Result<std::string> sign(const SignRequest& request) override;
  Result<std::string> publicKeyPem() override { return inner_.publicKeyPem(); }

 private:
  Signer& inner_;
  const Clock& clock_;
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Histogram>& seconds_;
};

}  // namespace kiln::signing
