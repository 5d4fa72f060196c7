#include "api/node/kiln_node.h"

#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <optional>

#include "api/node/load.h"

struct kiln_node {
  kiln::node::LoadedArtifact loaded;
  std::string digest;
};

namespace {

using kiln::Code;
using kiln::fail;

std::optional<std::string> textOf(const char* text) {
  return text != nullptr ? std::optional<std::string>(text) : std::nullopt;
}

struct Argument {
  const char *name, *value;
};

// NULL leaves an argument out. An empty text names nothing: whoever gives it forgot to fill it in.
kiln::Status checkFilledIn(std::initializer_list<Argument> arguments) {
  for (const auto& [name, value] : arguments)
    if (value != nullptr && *value == '\0')
      return fail(Code::kInvalidArgument, std::string(name) + " is \"\"; give it a value, or NULL for none");
  return {};
}

kiln::Result<kiln::node::Trust> loadTrust(const char* trustRoot, const char* policy, const char* recalls) {
  KILN_TRY(checkFilledIn({{"trust_root", trustRoot}, {"policy", policy}, {"recalls", recalls}}));
  return kiln::node::Trust::load(textOf(trustRoot).value_or(""), textOf(policy), textOf(recalls));
}

kiln::Result<kiln::node::LoadedArtifact> open(const char* directory, const char* digest,
                                              const char* trustRoot, const char* policy,
                                              const char* recalls) {
  using namespace kiln;
  if (directory == nullptr) return fail(Code::kInvalidArgument, "no artifact directory is given");
  KILN_TRY(checkFilledIn({{"directory", directory}, {"digest", digest}}));
  std::optional<Digest> wanted;
  if (digest != nullptr) {
    auto parsed = Digest::parse(digest, 0);
    if (!parsed) return fail(parsed.error().in("digest"));
    wanted = *parsed;
  }
  KILN_ASSIGN(const auto trust, loadTrust(trustRoot, policy, recalls));
  KILN_ASSIGN(auto verified, node::openArtifact(directory, wanted, trust, SystemClock()));
  return node::load(std::move(verified));
}

kiln::Status recheck(const kiln_node& node, const char* trustRoot, const char* policy, const char* recalls) {
  KILN_ASSIGN(const auto trust, loadTrust(trustRoot, policy, recalls));
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
  if (node == nullptr) return reportError({Code::kInvalidArgument, "node is NULL"}, message);
  auto loaded = open(directory, digest, trust_root, policy, recalls);
  if (!loaded) return reportError(loaded.error(), message);
  auto text = loaded->verified.verdict.artifact.text();
  *node = new kiln_node{std::move(*loaded), std::move(text)};
  return 0;
}
int kiln_node_recheck(kiln_node* node, const char* trust_root, const char* policy, const char* recalls,
                      char** message) {
  if (node == nullptr) return reportError({Code::kInvalidArgument, "node is NULL"}, message);
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
