#include "worker/executor/fetcher.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "manifest/base/printable.h"
#include "manifest/json/error_line.h"
#include "manifest/json/json.h"
#include "worker/executor/credentials.h"
#include "worker/executor/host_parts.h"
#include "worker/executor/output_upload.h"
#include "worker/executor/prepared_slot.h"
#include "worker/executor/termination.h"
#include "worker/sandbox/outputs.h"

namespace kiln::executor {
namespace {

// What a program needs to resolve names and check certificates.
constexpr const char* kHostParts[] = {
    "/etc/ssl",         "/etc/hosts",    "/etc/gai.conf",       "/etc/nsswitch.conf",
    "/etc/resolv.conf", "/etc/services", "/etc/ca-certificates"};
constexpr const char* kCredentials = "/credentials";
constexpr const char* kCaFile = "/ca.pem";
// Exit codes of kiln-fetcher.
constexpr int kUnavailableExit = 7;
constexpr int kOverBudgetExit = 4;

// The message in the error that kiln-fetcher writes as its last line.
std::string messageIn(const std::string& log) {
  const std::size_t end = log.find_last_not_of('\n');
  const std::size_t begin = end == std::string::npos ? std::string::npos : log.rfind('\n', end);
  const auto json = parseStrictJson(log.substr(begin == std::string::npos ? 0 : begin + 1));
  const auto member = [](const Json& object, const char* name) -> const Json* {
    const auto found = object.is_object() ? object.find(name) : object.end();
    return found == object.end() ? nullptr : &*found;
  };
  const Json* error = json ? member(*json, "error") : nullptr;
  const Json* message = error ? member(*error, "message") : nullptr;
  return message && message->is_string() ? message->get<std::string>() : "the source cannot be reached";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

}  // namespace

Result<std::unique_ptr<Fetcher>> Fetcher::make(storage::BlobStore& store, sandbox::Sandbox sandbox,
                                               std::string state, FetchOptions options) {
  if (access(options.program.c_str(), X_OK) != 0) {
    return fail(Code::kFailedPrecondition, "fetch: " + options.program + " is not an executable program");
  }
  KILN_TRY(sandbox::removeTree(state));
  if (mkdir(state.c_str(), 0700) != 0) return fail(errnoError(errno, "worker state " + state));
  return std::unique_ptr<Fetcher>(
      new Fetcher(store, std::move(sandbox), std::move(state), std::move(options)));
}

Result<Digest> Fetcher::storePolicy(const std::string& instance) {
  return uploadPolicy(store_, instance, sandbox_.policy());
}

Result<reapi::ActionResult> Fetcher::run(const FetchRequest& request) {
  const std::string slotDir = state_ + "/" + std::to_string(request.slot);
  KILN_ASSIGN(const auto slot, PreparedSlot::make(slotDir, sandbox_.host().actionUid(request.slot)));
  sandbox::Command command;
  command.arguments = {"/kiln-fetcher",        "--url",  request.url,   "--commit",
                       request.commit,         "--path", request.path,  "--hosts",
                       joined(options_.hosts), "--out",  "/work/output"};
  command.environment = {{"HOME", "/nonexistent"}, {"LC_ALL", "C"}, {"TZ", "UTC"}};
  command.workingDirectory = "/work/output";
  command.binds = hostBinds(kLibraryParts);
  for (sandbox::Bind& bind : hostBinds(kHostParts)) command.binds.push_back(std::move(bind));
  command.binds.push_back({options_.program, "/kiln-fetcher", false});
  if (!options_.credentials.empty()) {
    const std::string copy = slotDir + "/credentials";
    KILN_TRY(copyCredentials(options_.credentials, copy, sandbox_.host().actionUid(request.slot)));
    command.binds.push_back({copy, kCredentials, false});
    command.arguments.insert(command.arguments.end(), {"--credentials", std::string(kCredentials) + "/git"});
  }
  if (!options_.caFile.empty()) {
    command.binds.push_back({options_.caFile, kCaFile, false});
    command.arguments.insert(command.arguments.end(), {"--ca-file", kCaFile});
  }
  if (!options_.proxy.empty()) command.arguments.insert(command.arguments.end(), {"--proxy", options_.proxy});
  command.outputDirectory = PreparedSlot::outputOf(slotDir);
  command.binds.push_back({command.outputDirectory, "/work/output", true});

  sandbox::RunOptions options;
  options.slot = request.slot;
  options.timeLimit = request.timeLimit;
  options.cancel = request.cancel;
  KILN_ASSIGN(sandbox::RunResult finished, sandbox_.run(command, options));
  if (request.onSandboxEnd) request.onSandboxEnd(finished.wallTime);
  if (const auto limit = checkTermination(finished); !limit) {
    const Code code = limit.error().code;
    if (code != Code::kResourceExhausted && code != Code::kOutOfRange) return fail(limit.error());
    // The source asked for it, and would ask for it again.
    finished.exitCode = kOverBudgetExit;
    finished.err += "\n" + errorLine(Error(limit.error()).in(printable(request.url, 500))) + "\n";
  }
  // The network's trouble, not the source's: another try may help.
  if (finished.exitCode == kUnavailableExit)
    return fail(Code::kUnavailable, "fetch: " + printable(messageIn(finished.err), 500));
  reapi::ActionResult result;
  result.set_exit_code(finished.exitCode);
  if (finished.exitCode == 0) {
    KILN_TRY(uploadOutputs(store_, request.instance, command.outputDirectory, "output",
                           sandbox_.policy().limits, &result));
  }
  KILN_TRY(uploadLogs(store_, request.instance, std::move(finished.out), std::move(finished.err), &result));
  return result;
}

}  // namespace kiln::executor
