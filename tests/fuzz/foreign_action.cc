// libFuzzer: what clients want executed. The input is an Action, a zero byte pair and a Command as they are
// on the wire; or, after '#', lines that say members of both, so that mutations reach paths and properties.
#include "coordinator/jobs/foreign_action.h"

#include <google/protobuf/stubs/logging.h>

#include <cstdlib>

#include "manifest/spec/path.h"

namespace {

namespace jobs = kiln::jobs;
namespace reapi = kiln::reapi;

void require(bool holds) {
  if (!holds) std::abort();
}

void addProperty(std::string_view text, reapi::Platform& platform) {
  const std::size_t at = std::min(text.find('='), text.size());
  auto& property = *platform.add_properties();
  property.set_name(std::string(text.substr(0, at)));
  property.set_value(std::string(text.substr(std::min(at + 1, text.size()))));
}

void addLine(std::string_view line, reapi::Action& action, reapi::Command& command) {
  const std::string text(line.substr(1));
  switch (line.front()) {
    case 'a':
      command.add_arguments(text);
      break;
    case 'o':
      command.add_output_paths(text);
      break;
    case 'f':
      command.add_output_files(text);
      break;
    case 'd':
      command.add_output_directories(text);
      break;
    case 'w':
      command.set_working_directory(text);
      break;
    case 'e':
      command.add_environment_variables()->set_name(text);
      break;
    case 'p':
      addProperty(text, *command.mutable_platform());
      break;
    case 'P':
      addProperty(text, *action.mutable_platform());
      break;
    case 's':
      action.set_salt(text);
      break;
    case 't':
      action.mutable_timeout()->set_seconds(std::strtoll(text.c_str(), nullptr, 10));
      break;
    case 'n':
      action.mutable_timeout()->set_nanos(static_cast<int>(std::strtoll(text.c_str(), nullptr, 10)));
      break;
    default:
      break;
  }
}

void checkAction(std::string_view bytes) {
  const auto read = jobs::readForeignAction(bytes);
  if (!read) return;
  require(read->timeLimitSeconds > 0 && read->timeLimitSeconds <= jobs::kMaxForeignSeconds);
  const std::string salted = jobs::saltedAction(read->message);
  require(salted != bytes);
  const auto again = jobs::readForeignAction(salted);
  require(again.has_value());
  require(again->command == read->command && again->inputRoot == read->inputRoot);
  require(!again->message.salt().empty() && again->message.salt() != read->message.salt());
}

void checkCommand(std::string_view bytes, const reapi::Action& action) {
  const auto read = jobs::readForeignCommand(bytes, action);
  if (!read) return;
  require(!read->message.arguments().empty() && !read->message.arguments(0).empty());
  const auto outputs = jobs::declaredOutputs(read->message);
  for (const std::string& path : outputs) {
    require(kiln::checkRelativePath(path).has_value());
    for (const std::string& other : outputs) require(!path.starts_with(other + "/"));
  }
  if (!read->message.working_directory().empty())
    require(kiln::checkRelativePath(read->message.working_directory()).has_value());
  if (read->root) require(read->root->label.empty() == read->root->tree.has_value());
  if (read->root && read->root->tree) require(read->root->tree->size > 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static google::protobuf::LogSilencer quiet;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  reapi::Action action;
  if (!bytes.starts_with('#')) {
    const std::size_t at = bytes.find(std::string_view("\0\0", 2));
    checkAction(bytes.substr(0, at));
    if (at != bytes.npos) checkCommand(bytes.substr(at + 2), action);
    return 0;
  }
  reapi::Command command;
  for (std::size_t at = 1; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    if (end > at) addLine(bytes.substr(at, end - at), action, command);
    at = end + 1;
  }
  *action.mutable_command_digest() = kiln::toProto(kiln::digestOf(bytes));
  *action.mutable_input_root_digest() = action.command_digest();
  checkAction(action.SerializeAsString());
  checkCommand(command.SerializeAsString(), action);
  return 0;
}
