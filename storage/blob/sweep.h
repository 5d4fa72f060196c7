// Sweeping a store: blobs that nothing needs any more go, once they are old enough.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::storage {

// The hashes that each instance needs. One that is absent needs nothing.
class NeededBlobs {
 public:
  using Hash = std::array<std::uint8_t, 32>;
  struct HashOf {
    std::size_t operator()(const Hash& hash) const;
  };
  using Hashes = std::unordered_set<Hash, HashOf>;

  // True if it is new.
  bool add(const std::string& instance, const Hash& hash) {
    return byInstance_[instance].insert(hash).second;
  }
  const std::map<std::string, Hashes>& byInstance() const { return byInstance_; }
  std::size_t size() const;

 private:
  std::map<std::string, Hashes> byInstance_;
};

struct SweepOptions {
  Duration grace{};  // nothing goes within this time of its last upload or of being said to be there
  bool dryRun = false;
  // Told the name of each point between two durable states. Fault tests stop the program there.
  std::function<void(std::string_view)> reached = [](std::string_view) {};
};
inline constexpr std::string_view kPointReferenceRemoved = "gc-reference-removed";
inline constexpr std::string_view kPointBlobRemoved = "gc-blob-removed";

// With dryRun, what would have been.
struct SweepReport {
  std::uint64_t neededReferences = 0;   // of an instance that needs the blob
  std::uint64_t youngReferences = 0;    // not needed, but within the grace period
  std::uint64_t removedReferences = 0;  // neither
  std::uint64_t keptBlobs = 0, keptBytes = 0;
  std::uint64_t removedBlobs = 0, removedBytes = 0;
  // Of stores that read what they keep in turn, a part with each sweep.
  std::uint64_t scrubbedBlobs = 0, scrubbedBytes = 0;
  std::vector<Digest> corrupt;  // of these; missing from now on
  // Of each instance that refers to a blob, or did before, what it refers to afterwards.
  std::map<std::string, std::uint64_t> referredBytes;
};

// Thread safe, and safe beside other processes that read, write and sweep the same store.
class BlobSweeper {
 public:
  virtual ~BlobSweeper() = default;
  // Takes away each instance's reference to what it does not need, and the bytes that no instance refers to.
  // `needed` may be as old as the grace period: what was uploaded or found present since then stays anyway.
  // Ending it anywhere loses nothing that is needed.
  virtual Result<SweepReport> sweep(const NeededBlobs& needed, const SweepOptions& options) = 0;
};

}  // namespace kiln::storage
