// Bytes of an upload, counted for its instance (usage.h) until they are given back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "coordinator/quota/quota_rules.h"
#include "coordinator/quota/usage.h"
#include "manifest/base/clock.h"
#include "storage/postgres/pool.h"

namespace kiln::quota {

// What uploads are counted in. All of it outlives whoever has it, and is thread safe.
struct Books {
  postgres::Pool& database;
  const Clock& clock;
  const Quotas& quotas;

  // An instance whose quota names no bytes is not counted.
  bool count(const std::string& instance) const;
};

// Whose uploads are limited. What a worker brings is the result of work that was let in already: it counts as
// stored, is no upload of a client, and is never refused.
enum class Uploader { kClient, kWorker };

// Not thread safe. What is neither kept nor given back goes back with it.
class TakenBytes {
 public:
  // kResourceExhausted beyond the quota; errors of the database.
  static Result<std::unique_ptr<TakenBytes>> take(const Books& books, Uploader uploader,
                                                  const std::string& instance, std::int64_t bytes);
  TakenBytes(const TakenBytes&) = delete;
  TakenBytes& operator=(const TakenBytes&) = delete;
  // Where the database does not take it, the next collection of garbage finds out what is stored.
  ~TakenBytes() { giveBack(bytes_); }

  void keep() { bytes_ = 0; }
  void giveBack(std::int64_t bytes);

 private:
  TakenBytes(const Books& books, Uploader uploader, const std::string& instance)
      : books_(books), uploader_(uploader), instance_(instance), at_(books.clock.now()) {}

  Status change(const std::function<Status(postgres::Connection&, Resource)>& of) const;

  const Books books_;
  const Uploader uploader_;
  const std::string instance_;
  const TimePoint at_;
  std::int64_t bytes_ = 0;
};

}  // namespace kiln::quota
