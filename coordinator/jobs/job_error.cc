#include "coordinator/jobs/job_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

#include "manifest/base/printable.h"
#include "manifest/json/json.h"

namespace kiln::jobs {
namespace {

constexpr std::size_t kMaxMessage = 4000;
constexpr std::size_t kMaxDetails = 256 << 10;

std::string_view lastLine(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  std::size_t start = text.rfind('\n');
  return start == std::string_view::npos ? text : text.substr(start + 1);
}

Code codeByName(std::string_view name) {
  for (int number = 1; number <= 16; ++number)
    if (codeName(static_cast<Code>(number)) == name) return static_cast<Code>(number);
  return Code::kInternal;
}

Code codeForToolExit(int exitCode) {
  switch (exitCode) {
    case kExitUsage:
    case kExitInvalidModel:
      return Code::kInvalidArgument;
    case kExitUnsupported:
      return Code::kUnimplemented;
    default:
      return Code::kInternal;
  }
}

// A tool chooses among the classes that a compile can end with; anything else counts as its internal error.
int servedExit(int exitCode) {
  // All that a request names lies beside the model: what is not there is what the model wants besides.
  if (exitCode == kExitNotFound) return kExitInvalidModel;
  static constexpr std::array kServed{kExitUsage, kExitInvalidModel, kExitUnsupported};
  return std::find(kServed.begin(), kServed.end(), exitCode) == kServed.end() ? kExitInternal : exitCode;
}

std::string memberText(const Json& object, const char* name) {
  auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Only the kernel's own kill tells of the worker's limits; any other signal is a fault of what ran.
std::string killedBy(std::string_view tool, int signal) {
  if (signal == SIGKILL)
    return fmt::format("{} was killed by signal {}; the usual reason is the memory limit of the worker", tool,
                       signal);
  const char* const description = ::sigdescr_np(signal);
  return fmt::format(
      "{} was killed by signal {} ({}): a fault of it or of the program that it ran; see kiln logs", tool,
      signal, description != nullptr ? description : "unknown");
}

}  // namespace

index::JobErrorRecord jobError(Code code, std::string message, int exitCode, std::string details) {
  return {static_cast<int>(code), std::move(message), exitCode, std::move(details)};
}

index::JobErrorRecord jobError(const Error& error) {
  int exit = exitCodeOf(error.code);
  if (auto details = parseJson(error.details); details && details->is_object())
    if (auto stated = details->find("exitCode"); stated != details->end() && stated->is_number_integer())
      exit = stated->get<int>();
  return jobError(error.code, error.message, exit, error.details);
}

index::JobErrorRecord toolError(std::string_view tool, int exitCode, std::string_view stderrTail) {
  std::string_view line = lastLine(stderrTail);
  int exit = servedExit(exitCode);
  if (auto json = parseJson(line); json && json->is_object()) {
    auto error = json->find("error");
    if (error != json->end() && error->is_object()) {
      std::string message = printable(memberText(*error, "message"), kMaxMessage);
      auto details = error->find("details");
      std::string text;
      if (details != error->end() && details->is_object()) text = details->dump();
      if (text.size() > kMaxDetails) text.clear();
      if (!message.empty()) return jobError(codeByName(memberText(*error, "code")), message, exit, text);
    }
  }
  if (exitCode > 128 && exitCode <= 128 + 64)
    return jobError(Code::kInternal, killedBy(tool, exitCode - 128), kExitInternal);
  return jobError(codeForToolExit(exitCode),
                  fmt::format("{} ended with exit code {} and no error record; its last line was \"{}\"",
                              tool, exitCode, printable(line, 500)),
                  exit);
}

index::JobErrorRecord fetchError(std::string_view tool, int exitCode, std::string_view stderrTail) {
  static constexpr std::array kOfSources{kExitVerification, kExitNotFound, kExitDenied};
  index::JobErrorRecord error = toolError(tool, exitCode, stderrTail);
  if (std::ranges::find(kOfSources, exitCode) != kOfSources.end()) error.exitCode = exitCode;
  return error;
}

}  // namespace kiln::jobs
