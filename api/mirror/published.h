// What a mirror has to serve at one moment, by hash.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/gateway/gateway.h"
#include "api/mirror/records.h"
#include "storage/blob/sweep.h"

namespace kiln::mirror {

// Immutable once made. Thread safe.
class Published {
 public:
  Published() = default;
  // What `before` knows of a record that did not change is taken from there. `recalls` is of recalls.json.
  // kResourceExhausted if the manifest of what refers to an artifact would be too large.
  static Result<std::shared_ptr<const Published>> make(std::vector<ArtifactRecord> records,
                                                       std::optional<Digest> recalls,
                                                       const Published& before);

  std::size_t artifacts() const { return artifacts_.size(); }
  const std::optional<Digest>& recalls() const { return recalls_; }
  // Null for what is not there. By the hash alone, here and below.
  const ArtifactRecord* artifact(const Digest& hash) const;
  std::optional<Digest> blob(const Digest& hash) const;
  // At most 64.
  std::vector<Digest> artifactsOf(const Digest& blob) const;
  // The one that has this hash as its manifest, its config, one of its layers, or as the OCI manifest by
  // which its bundle refers to it. Null if there is none.
  const gateway::PublishedImage* image(const Digest& hash) const;
  // All that refers to an artifact: bundles, fixtures, IR, recalls.
  gateway::PublishedArtifact referrersOf(const ArtifactRecord& record) const;
  // The one that an OCI manifest of this hash stands for.
  std::optional<gateway::PublishedArtifact> referrer(const Digest& hash) const;

 private:
  using Hash = storage::NeededBlobs::Hash;
  template <class Value>
  using ByHash = std::unordered_map<Hash, Value, storage::NeededBlobs::HashOf>;

  struct Entry {
    ArtifactRecord record;
    std::vector<Hash> referrers;  // of each bundle's manifest, the fixtures' and the IR's
    Hash recalls{};               // of the manifest that offers the recalls with it
    std::vector<std::pair<Hash, std::size_t>> images;  // a hash that leads to an image, and its place
  };
  struct Named {
    Digest blob;
    std::vector<const Entry*> by;
  };
  static Result<std::shared_ptr<const Entry>> entryOf(ArtifactRecord record,
                                                      const std::optional<Digest>& recalls);
  void add(std::shared_ptr<const Entry> entry);
  void name(const Digest& blob, const Entry& by);

  std::optional<Digest> recalls_;
  ByHash<std::shared_ptr<const Entry>> artifacts_;
  ByHash<Named> blobs_;
  ByHash<std::pair<const Entry*, std::size_t>> referrers_;  // place among bundles, fixtures, IR, recalls
  ByHash<const gateway::PublishedImage*> images_;
};

}  // namespace kiln::mirror
