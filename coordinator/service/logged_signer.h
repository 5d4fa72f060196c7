// A signer whose bundles are released only once the log holds them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "signing/client/signer_client.h"
#include "signing/log/verifier_key.h"
#include "storage/postgres/pool.h"

namespace kiln::service {

// Thread safe. What is passed by reference must outlive it.
class LoggedSigner final : public signing::Signer {
 public:
  // `patience`: how long a call waits for a checkpoint.
  LoggedSigner(signing::Signer& signer, postgres::Pool& database, signing::VerifierKey log,
               std::chrono::milliseconds patience = std::chrono::seconds(20));
  ~LoggedSigner() override;

  // Has it signed, waits until a checkpoint covers it, and returns the bundle with the proof, which it has
  // checked. Further errors: kUnavailable if no checkpoint came in time (the signature is taken in: the same
  // statement again waits on), kDataLoss if the database's proof does not hold.
  Result<std::string> sign(const signing::SignRequest& request) override;
  // Takes all of them in before it waits, so that one checkpoint can cover them.
  Result<std::vector<std::string>> signAll(std::span<const signing::SignRequest> requests) override;
  // Ends present and future waits: kUnavailable. Idempotent.
  void stop();
  // As it was at most a second ago.
  Result<std::string> publicKeyPem() override;

 private:
  Result<std::optional<std::string>> released(const std::string& statement);
  Result<std::string> await(const std::string& statement);
  void follow();  // on thread_: counts the log's growth

  signing::Signer& signer_;
  postgres::Pool& database_;
  const signing::VerifierKey log_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t growths_ = 0;                       // guarded by mutex_
  bool stopping_ = false;                           // guarded by mutex_
  std::string key_;                                 // guarded by mutex_; "" before it was asked for
  std::chrono::steady_clock::time_point keyAsked_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace kiln::service
