// ActionPlan: what is carried out for an action, decided from its messages alone. A compiler's action and a
// foreign one differ in nothing but their plans.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "manifest/base/clock.h"
#include "storage/tree/digest_proto.h"

namespace kiln::executor {

enum class Profile {
  kCompiler,  // Kiln's own programs: a read-only input tree and one plain output directory mounted on it
  kForeign,   // any REAPI Command: an input tree of its own to write in, outputs anywhere in it
};

// Where the input root appears.
inline constexpr const char* kWork = "/work";

struct PlannedOutput {
  enum class Wanted { kAnything, kFile, kDirectory };  // the last two: the forms of REAPI 2.0

  std::string path;    // as the result names it: relative to the working directory; "" for it itself
  std::string inRoot;  // relative to the input root
  Wanted wanted = Wanted::kAnything;
};

struct ActionPlan {
  Profile profile = Profile::kCompiler;
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string workingDirectory;  // relative to the input root; "" for it itself
  Digest inputRoot;
  std::string cached;  // a directory of the input root that comes from the cache of trees; "" for none
  std::optional<Digest> root;          // the tree whose entries stand at /
  std::vector<PlannedOutput> outputs;  // kCompiler: one, a directory; kForeign: each path once
  reapi::Command::OutputDirectoryFormat directories = reapi::Command::TREE_ONLY;
  Duration timeout{};  // the Action's own; zero: none
};

// The plan of `command` as `action` wants it run. `root` is the tree that the lease names, which a foreign
// action's platform property "kiln-root" may name too ("sha256:HEX/SIZE"). kInvalidArgument says what is
// malformed or not served.
Result<ActionPlan> planAction(const reapi::Action& action, const reapi::Command& command, Profile profile,
                              const std::optional<Digest>& root);

}  // namespace kiln::executor
