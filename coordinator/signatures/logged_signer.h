// A signer whose bundles are released only once the log holds them.
#pragma once

#include "coordinator/signatures/log_growth.h"
#include "coordinator/signatures/log_intake.h"
#include "manifest/base/mutex.h"
#include "signing/client/signer_client.h"
#include "signing/log/verifier_key.h"

namespace kiln::service {

// Thread safe. What is passed by reference must outlive it.
class LoggedSigner final : public signing::Signer, public LogIntake {
 public:
  // `logs`: the keys that the log has or had. `timeout`: how long a call waits for a checkpoint.
  LoggedSigner(signing::Signer& signer, postgres::Pool& database, LogGrowth& growth,
               std::vector<signing::VerifierKey> logs,
               std::chrono::milliseconds timeout = std::chrono::seconds(20))
      : signer_(signer), database_(database), growth_(growth), logs_(std::move(logs)), timeout_(timeout) {}

  // Has it signed, waits until a checkpoint covers it, and returns the bundle with the proof, which it has
  // checked. Further errors: kUnavailable if no checkpoint came in time (the signature is taken in: the same
  // statement again waits on), kDataLoss if the database's proof does not hold.
  Result<std::string> sign(const signing::SignRequest& request) override;
  // Takes all of them in before it waits, so that one checkpoint can cover them.
  Result<std::vector<std::string>> signAll(std::span<const signing::SignRequest> requests) override;
  Result<std::string> takeIn(const std::string& instance, const signing::Envelope& envelope,
                             const signing::PublicKey& key) override;
  // As it was at most a second ago.
  Result<std::string> publicKeyPem() override;

 private:
  Result<std::optional<std::string>> released(const std::string& statement);
  Result<std::string> await(const std::string& statement);

  signing::Signer& signer_;
  postgres::Pool& database_;
  LogGrowth& growth_;
  const std::vector<signing::VerifierKey> logs_;
  const std::chrono::milliseconds timeout_;
  Mutex mutex_;
  std::string key_ KILN_GUARDED_BY(mutex_);  // "" before it was asked for
  std::chrono::steady_clock::time_point keyAsked_ KILN_GUARDED_BY(mutex_);
};

}  // namespace kiln::service
