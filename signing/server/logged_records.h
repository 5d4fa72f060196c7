// Records that are the log's intake at the same time: one row of the table `signatures` is both.
#pragma once

#include "manifest/base/clock.h"
#include "signing/server/legacy_records.h"
#include "signing/server/records.h"
#include "storage/postgres/pool.h"

namespace kiln::signing {

// What `earlier` holds by the current key is taken into the log when it is asked for as a payload. What is
// passed by reference must outlive it.
class LoggedRecords final : public Records {
 public:
  LoggedRecords(postgres::Pool& database, LegacyRecords earlier, PublicKey key, const Clock& clock)
      : database_(database), legacy_(std::move(earlier)), key_(std::move(key)), clock_(clock) {}

  Result<std::optional<std::string>> find(std::string_view payload) override;
  Result<std::optional<std::string>> find(const Digest& payload) override;
  Result<std::string> add(const std::string& instance, const Envelope& envelope, const PublicKey& key,
                          const std::string& trace) override;

 private:
  postgres::Pool& database_;
  const LegacyRecords legacy_;
  const PublicKey key_;
  const Clock& clock_;
};

}  // namespace kiln::signing
