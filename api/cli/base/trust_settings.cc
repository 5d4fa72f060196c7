#include "api/cli/base/trust_settings.h"

#include "api/cli/base/exit_code.h"
#include "api/client/artifact_ref.h"
#include "api/node/fetch.h"
#include "api/node/private_copy.h"

namespace kiln::cli {
namespace {

// An option that was left out; a value that is empty does not get so far.
std::optional<std::string> given(const std::string& option) {
  return option.empty() ? std::nullopt : std::optional(option);
}

}  // namespace

Result<node::Trust> loadTrust(const Context& context) {
  return node::Trust::load(context.trustRoot, given(context.policy), given(context.recalls));
}

Result<node::Trust> loadTrustWithoutPolicy(const Context& context) {
  return node::Trust::load(context.trustRoot, std::nullopt, given(context.recalls));
}

Result<std::optional<node::Trust>> namedTrust(const Context& context) {
  if (context.trustRoot.empty() && context.recalls.empty()) return std::optional<node::Trust>();
  KILN_ASSIGN(auto trust, loadTrustWithoutPolicy(context));
  return std::optional(std::move(trust));
}

namespace {

Result<node::VerifiedArtifact> openUnder(const node::Trust& trust, const Context& context,
                                         const std::string& artifact) {
  const SystemClock clock;
  if (!artifact.starts_with("sha256:")) return node::openArtifact(artifact, std::nullopt, trust, clock);
  KILN_ASSIGN(const auto client, context.connect());
  KILN_ASSIGN(const auto ref, client::findArtifact(*client, artifact));
  node::VerifiedArtifact opened;
  KILN_ASSIGN(opened.copy, node::PrivateCopy::create());
  opened.directory = opened.copy->path() + "/artifact";
  KILN_ASSIGN(opened.verdict, node::fetchArtifact(client->blobs(), ref, opened.directory, trust, clock));
  return opened;
}

// The same root and policy, as if nothing had ever been recalled.
node::Trust withoutRecalls(node::Trust trust) {
  trust.recalls.reset();
  trust.root.recallKeys.reset();
  trust.policy.maxRecallAgeSeconds.reset();
  trust.store.reset();
  return trust;
}

}  // namespace

Result<node::VerifiedArtifact> openArtifact(const Context& context, const std::string& artifact) {
  KILN_ASSIGN(const auto trust, loadTrust(context));
  return openUnder(trust, context, artifact);
}

Result<OpenedArtifact> openThoughRecalled(const Context& context, const std::string& artifact) {
  KILN_ASSIGN(const auto trust, loadTrust(context));
  auto opened = openUnder(trust, context, artifact);
  if (opened) return OpenedArtifact{std::move(*opened), {}};
  if (exitCodeOf(opened.error()) != kExitVerification) return fail(std::move(opened).error());
  auto anyway = openUnder(withoutRecalls(trust), context, artifact);
  if (!anyway) return fail(std::move(opened).error());
  return OpenedArtifact{std::move(*anyway), std::move(opened).error()};
}

}  // namespace kiln::cli
