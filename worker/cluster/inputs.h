// An action of the farm as a cluster gets it, and the blobs that it needs there.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "manifest/base/clock.h"
#include "storage/blob/blob_store.h"
#include "storage/tree/digest_proto.h"
#include "worker/sandbox/cancel.h"

namespace kiln::cluster {

// One store's blobs as an instance sees them.
struct Store {
  storage::BlobStore& blobs;
  std::string instance;
};

inline constexpr std::uint64_t kSmallBytes = 256 << 10;  // blobs up to this size travel together

// Small blobs on their way into a store, a few megabytes with one call. Not thread safe.
class SmallBlobs {
 public:
  explicit SmallBlobs(const Store& to) : to_(to) {}
  // Errors of the store, also of blobs that were added before.
  Status add(const Digest& digest, std::string bytes);
  Status flush();

 private:
  const Store& to_;
  std::vector<std::pair<Digest, std::string>> texts_;
  std::uint64_t bytes_ = 0;
};

// What a cluster's copy of an action has beside the farm's.
struct Copied {
  std::map<std::string, std::string> platform;
  Duration timeLimit{};
  std::string salt;  // no other execution's: then no cache and no other client's run can answer
};

struct ClusterAction {
  Digest action;                       // of the copy
  std::string output;                  // its one output path
  Duration timeLimit{};                // the shorter of the action's own and the one given
  std::map<Digest, std::string> made;  // the copy's own blobs: action and command
  std::vector<Digest> inputs;          // in the farm's store: all files and Directories of the input root
};

// Reads the action from the farm and makes the cluster's copy: the same command and the same input root, with
// the platform in both places that releases of the protocol know, the outputs in both forms, the time limit,
// the salt, and do_not_cache. kInvalidArgument for an action with another working directory than the root or
// with other than one output path; the store's errors, and those of storage::walkTree.
Result<ClusterAction> copyForCluster(const Store& farm, const Digest& action, const Copied& copied);

// Brings to the cluster what it lacks: by its own word, and whatever of `forced` belongs to the action.
// Nothing else of the farm ever leaves. Streams, a few megabytes at a time. Errors of the farm's store as
// they are, of the cluster's as ofCluster(), kCancelled.
Status uploadInputs(const Store& farm, const Store& cluster, const ClusterAction& action,
                    const std::vector<Digest>& forced, const sandbox::Cancel* cancel);

// One blob from store to store, hashed on its way. Errors of `to` as ofCluster() if `toCluster`, those of
// `from` if not.
struct Transfer {
  const Store& from;
  const Store& to;
  bool toCluster = true;
  const sandbox::Cancel* cancel = nullptr;
};
Status copyBlob(const Transfer& transfer, const Digest& digest);

}  // namespace kiln::cluster
