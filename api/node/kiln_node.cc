#include "api/node/kiln_node.h"

#include <cstdlib>
#include <cstring>

#include "api/node/load.h"

struct kiln_node {
  kiln::node::LoadedArtifact loaded;
  std::string digest;
};

namespace {

kiln::Result<kiln::node::LoadedArtifact> open(const char* directory, const char* digest,
                                              const char* trustRoot, const char* policy) {
  using namespace kiln;
  if (directory == nullptr) return fail(Code::kInvalidArgument, "no artifact directory is given");
  Digest wanted{};
  if (digest != nullptr) {
    KILN_ASSIGN(wanted, Digest::parse(digest, 0));
  }
  KILN_ASSIGN(const auto trust, node::Trust::load(trustRoot ? trustRoot : "", policy ? policy : ""));
  KILN_ASSIGN(auto verified, node::openArtifact(directory, wanted, trust, SystemClock()));
  return node::load(std::move(verified));
}

}  // namespace

extern "C" {

int kiln_node_open(const char* directory, const char* digest, const char* trust_root, const char* policy,
                   kiln_node** node, char** message) {
  auto loaded = open(directory, digest, trust_root, policy);
  if (!loaded) {
    if (message != nullptr) *message = ::strdup(loaded.error().message.c_str());
    return static_cast<int>(loaded.error().code);
  }
  auto text = loaded->verified.verdict.artifact.text();
  *node = new kiln_node{std::move(*loaded), std::move(text)};
  return 0;
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
