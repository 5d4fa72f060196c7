// From a bundle to the rows by which its statement is found; and the statements that were stored without
// them.
#pragma once

#include <string_view>
#include <thread>

#include "coordinator/farm/stores.h"
#include "manifest/base/mutex.h"
#include "storage/index/rows/records.h"

namespace kiln::service {

// Fills in who signed and what is mentioned. kInvalidArgument or kDataLoss if the bundle is not the one of
// the record's payload. The signature is not looked at: the index claims nothing.
Status readMentions(std::string_view bundle, index::BundleRecord& record);

// Puts a bundle into the CAS, and its digest and what it mentions into the record of its payload. Errors as
// above.
Status keepBundle(storage::BlobStore& blobs, const std::string& instance, const std::string& bundle,
                  index::BundleRecord& record);
// The same of several, each with the record at its place, in one go of the store.
Status keepBundles(storage::BlobStore& blobs, const std::string& instance,
                   std::span<const std::string> bundles, std::span<index::BundleRecord* const> records);

// Reads what an earlier release stored, or what was stored in haste, from the CAS. Thread safe; any number of
// coordinators may read at once.
class StatementReader {
 public:
  explicit StatementReader(const Stores& stores) : stores_(stores) {}
  ~StatementReader();

  // Every statement and every lock that is unread; the number that were read. One whose blob cannot be read
  // stays unread, with a warning: `kiln audit` names it.
  Result<std::size_t> readAll();

  // readAll() at once and then every minute, until stop().
  void start();
  void stop();  // idempotent

 private:
  Result<std::size_t> readStatements(bool provenance);
  Result<std::size_t> readLocks();
  void readForEver();

  const Stores& stores_;
  Mutex mutex_;
  Condition stopped_;
  bool stopping_ KILN_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace kiln::service
