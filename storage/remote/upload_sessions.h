// Uploads that broke off, kept for a while so that their clients can go on where they were.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/base/mutex.h"
#include "storage/blob/blob_store.h"
#include "storage/remote/resource_name.h"

namespace kiln::storage {

struct UploadLimits {
  std::size_t kept = 256;  // that broke off, in all
  std::size_t ofInstance = 64;
  std::uint64_t bytesOfInstance = 32ull << 30;  // that they declared: their store holds as much room
  std::uint64_t smallest = 1 << 20;             // fewer received bytes are sent again
  Duration age = std::chrono::minutes(10);
};

// Thread safe. Must outlive its uploads; stores must outlive it, since it keeps their writers. An upload is
// known by its instance, UUID and digest, to this process alone: elsewhere it begins again. Beyond a limit
// the oldest that broke off is given up.
class UploadSessions {
 public:
  // `clock` must outlive it.
  explicit UploadSessions(const Clock& clock, UploadLimits limits = {}) : clock_(clock), limits_(limits) {}

  // One upload that goes on. Not thread safe. Kept if it is destroyed before commit() or a failure.
  class Upload {
   public:
    ~Upload();
    Upload(const Upload&) = delete;
    Upload& operator=(const Upload&) = delete;

    std::uint64_t received() const { return received_; }
    // Errors of the writer, after which nothing more is taken.
    Status write(Bytes bytes);
    Status commit();

   private:
    friend class UploadSessions;
    struct Key {
      std::string instance, upload;
      Digest digest;
      auto operator<=>(const Key&) const = default;
    };
    Upload(UploadSessions& sessions, Key key, std::unique_ptr<BlobWriter> writer, std::uint64_t received)
        : sessions_(sessions), key_(std::move(key)), writer_(std::move(writer)), received_(received) {}

    UploadSessions& sessions_;
    const Key key_;
    std::unique_ptr<BlobWriter> writer_;
    std::uint64_t received_;
    std::uint64_t number_ = 0;
  };

  // From 0 an upload begins, whatever was there of it. From elsewhere it goes on: kInvalidArgument unless
  // exactly so many bytes were received, kUnavailable while another stream of it goes on. Errors of
  // beginWrite(); where the store is full, what broke off makes room first.
  Result<std::unique_ptr<Upload>> open(BlobStore& store, const ResourceName& name, std::int64_t offset);

  // Bytes that were received of it; 0 where nothing is known.
  std::uint64_t received(const ResourceName& name);

  // Gives up, now, what broke off too long ago.
  void dropOld();
  // Does so every now and then until this is destroyed.
  void start();

 private:
  using Key = Upload::Key;
  struct Entry {
    std::uint64_t number = 0, received = 0;
    std::unique_ptr<BlobWriter> writer;  // null while a stream has it
    TimePoint since{};
  };
  using Entries = std::map<Key, Entry>;
  // Destroyed without the lock: to give a writer up may take a disk or a network.
  using Dropped = std::vector<std::unique_ptr<BlobWriter>>;

  Result<std::unique_ptr<Upload>> begin(BlobStore& store, Key key);
  Result<std::unique_ptr<Upload>> goOn(Key key, std::uint64_t offset);
  void note(const Upload& upload);
  void ended(Upload& upload, bool keep);
  bool drop(const std::string& instance);
  Entries::iterator oldest(const std::string* instance) KILN_REQUIRES(mutex_);
  bool isBeyond(const std::string& instance) KILN_REQUIRES(mutex_);
  void take(Entries::iterator entry, Dropped& dropped) KILN_REQUIRES(mutex_);

  const Clock& clock_;
  const UploadLimits limits_;
  Mutex mutex_;
  Condition never_;
  std::uint64_t last_ KILN_GUARDED_BY(mutex_) = 0;
  Entries entries_ KILN_GUARDED_BY(mutex_);
  std::jthread thread_;  // the last, so that it ends first
};

}  // namespace kiln::storage
