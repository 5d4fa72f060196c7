// The issuers of the access file whose keys are found by discovery.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "coordinator/access/followed_issuer.h"

namespace kiln::access {

// Thread safe.
class DiscoveredKeys final : public KeySource {
 public:
  // `clock` as for FollowedIssuer.
  explicit DiscoveredKeys(const Clock& clock, FetchDocument fetch = fetchDocument,
                          const FollowTimes& times = {});

  // From now on these issuers, as far as they have discovery. One that stays as it was keeps its keys.
  void follow(std::span<const TokenIssuer> issuers);

  KeySet known(const std::string& issuer) const override;
  KeySet refreshed(const std::string& issuer) override;
  std::vector<FollowedState> states() const;

 private:
  // Shared, so that a call may wait for an issuer that is dropped meanwhile.
  using Followed = std::shared_ptr<FollowedIssuer>;
  Followed find(const std::string& issuer) const;

  const Clock& clock_;
  const FetchDocument fetch_;
  const FollowTimes times_;
  mutable Mutex mutex_;
  std::vector<Followed> issuers_ KILN_GUARDED_BY(mutex_);
};

}  // namespace kiln::access
