// Takes artifacts in: each is verified whole, by all that kiln verify and kiln fetch look at, while its blobs
// come.
#pragma once

#include "api/mirror/farm.h"
#include "api/mirror/mirror_directory.h"
#include "api/node/trust.h"
#include "storage/blob/local_blob_store.h"

namespace kiln::mirror {

enum class Taken { kNew, kChanged, kSame, kGone };

// Not thread safe; all must outlive it.
class Intake {
 public:
  Intake(const MirrorDirectory& directory, storage::LocalBlobStore& blobs, Farm& farm, node::Trust& trust,
         const Clock& clock)
      : directory_(directory), blobs_(blobs), farm_(farm), trust_(trust), clock_(clock) {}

  // Brings one artifact up to what the farm has of it, durably. What is here already with the same bundles is
  // left alone unless `again`, which looks at every blob of it. kGone: the farm has no such artifact (any
  // more); what is here stays. Errors with isRefusal(): the artifact is not taken, and what is here of it
  // stays; others are of the farm being asked, or the disk.
  Result<Taken> take(const Digest& artifact, bool again);

  // Which artifact a logged statement is about; nothing for one about something else.
  Result<std::optional<Digest>> subjectOf(const LoggedStatement& logged);

 private:
  Result<ArtifactRecord> verified(const node::ArtifactRef& ref);

  const MirrorDirectory& directory_;
  storage::LocalBlobStore& blobs_;
  Farm& farm_;
  node::Trust& trust_;
  const Clock& clock_;
};

// Whether an error says that something does not verify under root, policy and recalls.
bool isRefusal(const Error& error);

}  // namespace kiln::mirror
