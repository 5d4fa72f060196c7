#include "api/cli/build/local_commit.h"

#include <fmt/format.h>

#include <csignal>
#include <filesystem>

#include "api/cli/base/exit_code.h"
#include "api/cli/base/program_directory.h"
#include "manifest/base/run_program.h"
#include "manifest/json/error_line.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

// For a file system that does not answer: kiln-fetcher bounds its own processor time.
constexpr std::chrono::minutes kLongest(30);

Error overLimit(const std::string& directory, std::string_view limit) {
  return withExit(
      kExitUnsupported, Code::kResourceExhausted,
      fmt::format("{}: reading the repository took more than {}; nothing was sent", directory, limit));
}

// No links and nothing else that leads out of it.
Status checkPlain(const std::string& directory) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const fs::file_type type = at->symlink_status(error).type();
    if (type != fs::file_type::regular && type != fs::file_type::directory)
      return fail(Code::kDataLoss, "kiln-fetcher left something that is no file");
  }
  if (error) return fail(errnoError(error.value(), directory));
  return {};
}

}  // namespace

Error errorOfReader(const ProgramRun& ended, const std::string& directory) {
  switch (ended.signal) {
    case SIGPROF:
    case SIGXCPU:
      return overLimit(directory, "the processor time that a file is given");
    case SIGKILL:
      return overLimit(directory, "the memory or time that it is given");
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGSEGV:
      return {
          Code::kDataLoss,
          fmt::format("{}: no well-formed git repository: signal {} ended the process that read it; nothing "
                      "was sent",
                      directory, ended.signal),
          {}};
    default:
      break;
  }
  if (auto error = readErrorLine(ended.err)) return withExit(ended.exitCode, error->code, error->message);
  return {Code::kInternal,
          fmt::format("{}: kiln-fetcher ended with exit code {} and said nothing", directory, ended.exitCode),
          {}};
}

Result<ScratchDirectory> readLocalCommit(const std::string& directory,
                                         const source::GitReference& reference) {
  KILN_ASSIGN(auto scratch, ScratchDirectory::makeTemporary("kiln-commit-"));
  const std::string program = programDirectory() + "/kiln-fetcher";
  const auto ended = runProgram({program, "--repository=" + directory, "--commit=" + reference.commit,
                                 "--path=" + reference.path, "--out=" + scratch.path()},
                                {.limit = kLongest, .standardError = StandardError::kKept});
  if (!ended && ended.error().code == Code::kDeadlineExceeded)
    return fail(overLimit(directory, fmt::format("{} minutes", kLongest.count())));
  if (!ended)
    return fail(
        withExit(kExitUnavailable, ended.error().code,
                 ended.error().message + ": the program that reads repositories; install it beside kiln"));
  if (ended->exitCode != 0) return fail(errorOfReader(*ended, directory));
  KILN_TRY(checkPlain(scratch.path()));
  return scratch;
}

}  // namespace kiln::cli
