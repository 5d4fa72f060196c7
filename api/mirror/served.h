// A mirror behind the gateway: what may be pulled from it, by what root, policy and recalls say today.
#pragma once

#include <prometheus/gauge.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "api/gateway/gateway.h"
#include "api/mirror/mirror_directory.h"
#include "api/mirror/published.h"
#include "api/node/trust.h"
#include "manifest/base/mutex.h"
#include "storage/blob/local_blob_store.h"

namespace kiln::mirror {

struct ServeOptions {
  std::string directory;
  std::string trustRoot;  // paths, as of node::Trust::load()
  std::optional<std::string> policy, recalls;
  Duration staleAfter = std::chrono::hours(1);  // since the farm was last asked, for health()
};

// Thread safe. Sees what an update of the same directory brings.
class Served final : public gateway::ArtifactLookup,
                     public gateway::ImageLookup,
                     public gateway::ReleaseGate {
 public:
  // kNotFound if there is no mirror; errors of the trust being loaded. What is passed by reference must
  // outlive it. Metrics:
  //   kiln_mirror_artifacts                  artifacts that it holds
  //   kiln_mirror_log_entries                of its copy of the log; those that are proven
  //   kiln_mirror_recalls_version            0 for none
  //   kiln_mirror_asked_timestamp_seconds    when the farm was last asked for all that is new; 0 for never
  static Result<std::shared_ptr<Served>> open(const ServeOptions& options, const Clock& clock,
                                              prometheus::Registry& metrics);

  const std::string& instance() const { return directory_.instance(); }
  std::string log() const { return directory_.log(); }
  const std::shared_ptr<storage::BlobStore>& blobs() const { return blobs_; }

  // Takes over what an update has brought since, and reads root and policy again. What cannot be read leaves
  // all as it was, and is what health() says.
  void refresh() KILN_EXCLUDES(mutex_);
  // kUnavailable, with the reason, if the farm was not asked for too long or something cannot be read.
  Status health() KILN_EXCLUDES(mutex_);

  Result<Digest> findManifest(const std::string& instance, const Digest& hash) override;
  Result<Digest> findBlob(const std::string& instance, const Digest& hash) override;
  Result<std::vector<Digest>> findArtifactsOf(const std::string& instance, const Digest& blob) override;
  Result<gateway::PublishedArtifact> findReferrers(const std::string& instance,
                                                   const Digest& artifact) override;
  Result<gateway::PublishedArtifact> findReferrer(const std::string& instance, const Digest& hash) override;

  Result<std::optional<gateway::PublishedImage>> findImage(const std::string& instance,
                                                           const Digest& hash) override;
  Result<std::vector<gateway::PublishedImage>> findImagesOf(const std::string& instance,
                                                            const Digest& artifact) override;

  // Bundles and Manifest are verified again under the root, the policy and the newest recalls: once a minute
  // for each artifact that is asked for. kPermissionDenied says what does not hold.
  Status check(const std::string& instance, const Digest& artifact) override KILN_EXCLUDES(mutex_);

 private:
  struct Now {
    std::shared_ptr<const Published> published = std::make_shared<const Published>();
    std::shared_ptr<const node::Trust> trust;
    State state;
  };
  struct Gauges {
    explicit Gauges(prometheus::Registry& metrics);
    prometheus::Gauge &artifacts, &entries, &recalls, &asked;
  };
  Served(const ServeOptions& options, MirrorDirectory directory, std::shared_ptr<storage::BlobStore> blobs,
         const Clock& clock, prometheus::Registry& metrics);

  Now now() KILN_EXCLUDES(mutex_);
  Status load() KILN_REQUIRES(mutex_);
  Result<std::shared_ptr<const Published>> in(const std::string& instance);

  const ServeOptions options_;
  const std::shared_ptr<storage::BlobStore> blobs_;
  const Clock& clock_;
  const Gauges gauges_;
  Mutex mutex_;
  MirrorDirectory directory_;
  Now now_ KILN_GUARDED_BY(mutex_);
  Status loaded_ KILN_GUARDED_BY(mutex_);
  struct Judged {
    std::string facts;
    Status status;
  };
  std::map<Digest, Judged> judged_ KILN_GUARDED_BY(mutex_);  // one for each artifact at most
};

}  // namespace kiln::mirror
