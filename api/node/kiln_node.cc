#include "api/node/kiln_node.h"

#include <cstdlib>
#include <cstring>

#include "api/node/load.h"

struct kiln_node {
  kiln::node::LoadedArtifact loaded;
  std::string digest;
};

namespace {

std::string textOf(const char* text) {
  return text != nullptr ? text : "";
}

kiln::Result<kiln::node::LoadedArtifact> open(const char* directory, const char* digest,
                                              const char* trustRoot, const char* policy,
                                              const char* recalls) {
  using namespace kiln;
  if (directory == nullptr) return fail(Code::kInvalidArgument, "no artifact directory is given");
  Digest wanted{};
  if (digest != nullptr) {
    KILN_ASSIGN(wanted, Digest::parse(digest, 0));
  }
  KILN_ASSIGN(const auto trust, node::Trust::load(textOf(trustRoot), textOf(policy), textOf(recalls)));
  KILN_ASSIGN(auto verified, node::openArtifact(directory, wanted, trust, SystemClock()));
  return node::load(std::move(verified));
}

kiln::Status recheck(const kiln_node& node, const char* trustRoot, const char* policy, const char* recalls) {
  KILN_ASSIGN(const auto trust, kiln::node::Trust::load(textOf(trustRoot), textOf(policy), textOf(recalls)));
  return kiln::node::recheckArtifact(node.loaded.verified, trust, kiln::SystemClock());
}

int reportError(const kiln::Error& error, char** message) {
  if (message != nullptr) *message = ::strdup(error.message.c_str());
  return static_cast<int>(error.code);
}

}  // namespace

extern "C" {

int kiln_node_open(const char* directory, const char* digest, const char* trust_root, const char* policy,
                   kiln_node** node, char** message) {
  return kiln_node_open_with_recalls(directory, digest, trust_root, policy, nullptr, node, message);
}
int kiln_node_open_with_recalls(const char* directory, const char* digest, const char* trust_root,
                                const char* policy, const char* recalls, kiln_node** node, char** message) {
  auto loaded = open(directory, digest, trust_root, policy, recalls);
  if (!loaded) return reportError(loaded.error(), message);
  auto text = loaded->verified.verdict.artifact.text();
  *node = new kiln_node{std::move(*loaded), std::move(text)};
  return 0;
}
int kiln_node_recheck(kiln_node* node, const char* trust_root, const char* policy, const char* recalls,
                      char** message) {
  const auto holds = recheck(*node, trust_root, policy, recalls);
  return holds ? 0 : reportError(holds.error(), message);
}

kiln_artifact* kiln_node_artifact(kiln_node* node) {
  return node->loaded.artifact.handle();
}
const char* kiln_node_digest(const kiln_node* node) {
  return node->digest.c_str();
}
void kiln_node_close(kiln_node* node) {
  delete node;
}
void kiln_node_free_message(char* message) {
  std::free(message);
}

}  // extern "C"
