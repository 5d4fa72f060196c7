// A foreign action: what a client of the Remote Execution API wants executed, and what of that is served.
// Pure; everything here comes from outside, and is bounded. Errors name the field of the Action or the
// Command.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "storage/tree/digest_proto.h"

namespace kiln::jobs {

inline constexpr std::uint64_t kMaxForeignAction = 64 << 10;    // bytes of an Action
inline constexpr std::uint64_t kMaxForeignCommand = 512 << 10;  // bytes of a Command
inline constexpr std::uint32_t kForeignSeconds = 3600;          // where the action states no timeout
inline constexpr std::uint32_t kMaxForeignSeconds = 24 * 3600;  // a longer one is refused
inline constexpr int kMaxForeignPriority = 1000;                // of ExecutionPolicy, on either side of 0

struct ForeignAction {
  reapi::Action message;
  Digest command, inputRoot;
  std::uint32_t timeLimitSeconds = kForeignSeconds;
};
// kInvalidArgument for what is no Action, names no digests of SHA-256, or wants more time than is given.
Result<ForeignAction> readForeignAction(std::string_view bytes);

// The action that runs in place of the client's: the same with a salt in front of its own. REAPI has the salt
// for this, a name space of its own: no action that Kiln makes itself has one, so that nothing that is known
// of a build's action is known of this one, nor the other way round.
std::string saltedAction(const reapi::Action& action);

// Which tree stands at /.
struct ForeignRoot {
  std::string label;           // of a registered toolchain; "" where it is given by its digest
  std::optional<Digest> tree;  // a tree of the store
};

struct ForeignCommand {
  reapi::Command message;
  std::optional<ForeignRoot> root;  // nothing: the action sees its input root alone
};
// kInvalidArgument for what is no Command or has forms that REAPI does not allow, and for a property of the
// platform that is not known here; kFailedPrecondition for a known one with a value that no worker has. The
// platform is the Action's where it has one (API 2.2), else the Command's.
Result<ForeignCommand> readForeignCommand(std::string_view bytes, const reapi::Action& action);

// The paths at which the command may leave something, in either form of the API.
std::set<std::string> declaredOutputs(const reapi::Command& command);

// The priority in the queue, where higher goes first, of ExecutionPolicy's, where smaller does.
int queuePriority(std::int32_t policy);

}  // namespace kiln::jobs
