#include "api/cli/trust_settings.h"

#include "api/client/artifact_ref.h"
#include "api/node/fetch.h"
#include "api/node/private_copy.h"

namespace kiln::cli {

Result<node::Trust> loadTrust(const Context& context) {
  return node::Trust::load(context.trustRoot, context.policy, context.recalls);
}

Result<std::optional<node::Trust>> namedTrust(const Context& context) {
  if (context.trustRoot.empty() && context.recalls.empty()) return std::optional<node::Trust>();
  KILN_ASSIGN(auto trust, node::Trust::load(context.trustRoot, "", context.recalls));
  return std::optional(std::move(trust));
}

Result<node::VerifiedArtifact> openArtifact(const Context& context, const std::string& artifact) {
  KILN_ASSIGN(const auto trust, loadTrust(context));
  const SystemClock clock;
  if (!artifact.starts_with("sha256:")) return node::openArtifact(artifact, Digest{}, trust, clock);
  KILN_ASSIGN(const auto client, context.connect());
  KILN_ASSIGN(const auto ref, client::findArtifact(*client, artifact));
  node::VerifiedArtifact opened;
  KILN_ASSIGN(opened.copy, node::PrivateCopy::create());
  opened.directory = opened.copy->path() + "/artifact";
  KILN_ASSIGN(opened.verdict, node::fetchArtifact(client->blobs(), ref, opened.directory, trust, clock));
  return opened;
}

}  // namespace kiln::cli
