#include "coordinator/jobs/foreign_action.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "manifest/base/glob.h"
#include "manifest/base/printable.h"
#include "manifest/spec/path.h"

namespace kiln::jobs {
namespace {

constexpr std::string_view kSalt = "kiln execute/1\n";
constexpr int kMaxPaths = 10'000;

tl::unexpected<Error> invalid(const std::string& why) {
  return fail(Code::kInvalidArgument, why);
}

bool hasNul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

Result<std::uint32_t> timeLimitOf(const reapi::Action& action) {
  const auto& timeout = action.timeout();
  if (timeout.seconds() < 0 || timeout.nanos() < 0 || timeout.nanos() > 999'999'999)
    return invalid("action.timeout is no duration from now on");
  if (timeout.seconds() == 0 && timeout.nanos() == 0) return kForeignSeconds;
  if (timeout.seconds() > kMaxForeignSeconds ||
      (timeout.seconds() == kMaxForeignSeconds && timeout.nanos() > 0))
    return invalid(fmt::format("action.timeout is more than {} seconds, the most that an action may take",
                               kMaxForeignSeconds));
  return static_cast<std::uint32_t>(timeout.seconds() + (timeout.nanos() > 0 ? 1 : 0));
}

template <class Paths>
Status checkPaths(const Paths& paths, const char* field) {
  if (paths.size() > kMaxPaths) return invalid(fmt::format("command.{} has more than {}", field, kMaxPaths));
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    const std::string place = fmt::format("command.{} {}", field, inQuotes(path));
    if (Status safe = checkRelativePath(path); !safe) return fail(safe.error().in(place));
    if (!seen.insert(path).second) return invalid(place + " stands there twice");
  }
  return {};
}

// What is below another output would be left twice.
Status checkNesting(const std::set<std::string>& outputs) {
  for (const std::string& path : outputs)
    for (std::size_t slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1))
      if (outputs.contains(path.substr(0, slash)))
        return invalid("command: the output " + inQuotes(path) + " is below another output");
  return {};
}

Status checkEnvironment(const reapi::Command& command) {
  std::string previous;
  for (const auto& variable : command.environment_variables()) {
    const std::string& name = variable.name();
    if (name.empty() || name.find('=') != name.npos || hasNul(name) || hasNul(variable.value()))
      return invalid("command.environment_variables has one that is none: " + inQuotes(name));
    if (!previous.empty() && previous >= name)
      return invalid("command.environment_variables are not sorted by name, or name one twice: " +
                     inQuotes(name));
    previous = name;
  }
  return {};
}

// "sha256:HEX/SIZE", else a label.
Result<ForeignRoot> rootOf(const std::string& value) {
  constexpr std::string_view kPrefix = "sha256:";
  if (value.empty() || value.size() > 200 || printable(value) != value)
    return invalid("platform kiln-root: must be the label of a toolchain or sha256:TREE/SIZE");
  if (!value.starts_with(kPrefix)) return ForeignRoot{value, {}};
  const std::size_t slash = value.find('/');
  std::uint64_t size = 0;
  const char* const end = value.data() + value.size();
  if (slash != value.npos) {
    const auto [read, error] = std::from_chars(value.data() + slash + 1, end, size);
    if (error == std::errc() && read == end && slash == kPrefix.size() + 64) {
      const auto digest = Digest::parse(value.substr(kPrefix.size(), 64), size);
      if (digest && size > 0) return ForeignRoot{"", *digest};
    }
  }
  return invalid("platform kiln-root: " + inQuotes(value) +
                 " is no tree; it is written sha256:TREE/SIZE, the digest of its root Directory");
}

// A property that changes nothing, as long as it asks for what every worker is.
struct FixedProperty {
  std::string_view name;
  std::array<std::string_view, 3> values;  // in lower case
  std::string_view has;                    // for a person
};
constexpr FixedProperty kFixed[] = {
    {"OSFamily", {"linux", "linux", "linux"}, "linux"},
    {"Arch", {"x86-64", "x86_64", "amd64"}, "x86-64"},
    {"ISA", {"x86-64", "x86_64", "amd64"}, "x86-64"},
    {"container-image", {"none", "none", "none"}, "none; name the tree at / by kiln-root"},
};

Result<std::optional<ForeignRoot>> readPlatform(const reapi::Platform& platform) {
  std::optional<ForeignRoot> root;
  for (const auto& property : platform.properties()) {
    if (property.name() == "kiln-root") {
      if (root) return invalid("platform: kiln-root stands there twice");
      KILN_ASSIGN(root, rootOf(property.value()));
      continue;
    }
    const auto* const fixed = std::ranges::find(kFixed, property.name(), &FixedProperty::name);
    if (fixed == std::end(kFixed))
      return invalid("platform: the property " + inQuotes(property.name()) +
                     " is not known here; known are kiln-root, OSFamily, Arch, ISA and container-image");
    if (std::ranges::find(fixed->values, lower(property.value())) == fixed->values.end())
      return fail(Code::kFailedPrecondition,
                  fmt::format("platform: no worker here has {}={}; {} is {}", fixed->name,
                              printable(property.value()), fixed->name, fixed->has));
  }
  return root;
}

}  // namespace

Result<ForeignAction> readForeignAction(std::string_view bytes) {
  ForeignAction out;
  if (!out.message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return invalid("action_digest names no Action");
  const auto command = fromProto(out.message.command_digest());
  if (!command) return fail(command.error().in("action.command_digest"));
  const auto root = fromProto(out.message.input_root_digest());
  if (!root) return fail(root.error().in("action.input_root_digest"));
  out.command = *command;
  out.inputRoot = *root;
  KILN_ASSIGN(out.timeLimitSeconds, timeLimitOf(out.message));
  return out;
}

std::string saltedAction(const reapi::Action& action) {
  reapi::Action salted = action;
  salted.set_salt(std::string(kSalt) + action.salt());
  return salted.SerializeAsString();
}

Result<ForeignCommand> readForeignCommand(std::string_view bytes, const reapi::Action& action) {
  ForeignCommand out;
  reapi::Command& command = out.message;
  if (!command.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return invalid("action.command_digest names no Command");
  if (command.arguments().empty() || command.arguments(0).empty())
    return invalid("command.arguments names no program");
  if (std::ranges::any_of(command.arguments(), hasNul)) return invalid("command.arguments: one has a NUL");
  KILN_TRY(checkEnvironment(command));
  if (!command.working_directory().empty())
    if (Status safe = checkRelativePath(command.working_directory()); !safe)
      return fail(safe.error().in("command.working_directory"));
  if (!reapi::Command::OutputDirectoryFormat_IsValid(command.output_directory_format()))
    return invalid("command.output_directory_format is none that is known here");
  KILN_TRY(checkPaths(command.output_paths(), "output_paths"));
  KILN_TRY(checkPaths(command.output_files(), "output_files"));
  KILN_TRY(checkPaths(command.output_directories(), "output_directories"));
  KILN_TRY(checkNesting(declaredOutputs(command)));
  KILN_ASSIGN(out.root, readPlatform(action.has_platform() ? action.platform() : command.platform()));
  return out;
}

std::set<std::string> declaredOutputs(const reapi::Command& command) {
  std::set<std::string> out(command.output_paths().begin(), command.output_paths().end());
  if (!out.empty()) return out;  // then the older fields say the same or nothing
  out.insert(command.output_files().begin(), command.output_files().end());
  out.insert(command.output_directories().begin(), command.output_directories().end());
  return out;
}

int queuePriority(std::int32_t policy) {
  return -std::clamp<std::int32_t>(policy, -kMaxForeignPriority, kMaxForeignPriority);
}

}  // namespace kiln::jobs
