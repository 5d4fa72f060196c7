#include "api/cli/postgres_tools.h"

#include <unistd.h>

#include <filesystem>
#include <vector>

#include "api/cli/run_program.h"
#include "manifest/base/printable.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

// A database of any size is waited for.
constexpr std::chrono::hours kPatience{24};

// The newest of Debian's versions, which reads all older servers; else what PATH has.
std::string programNamed(const std::string& name) {
  std::string newest;
  int highest = 0;
  std::error_code error;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", error)) {
    const fs::path program = version.path() / "bin" / name;
    const int number = std::atoi(version.path().filename().c_str());
    if (number < highest || ::access(program.c_str(), X_OK) != 0) continue;
    highest = number;
    newest = program.string();
  }
  return newest.empty() ? name : newest;
}

Status run(const std::string& name, const std::vector<std::string>& arguments) {
  // The shell looks in PATH and adds what the program complains about to its output.
  std::vector<std::string> command{"/bin/sh", "-c", "exec \"$0\" \"$@\" 2>&1", programNamed(name)};
  command.insert(command.end(), arguments.begin(), arguments.end());
  KILN_ASSIGN(const ProgramOutput output, runProgram(command, kPatience));
  if (output.exitCode == 0) return {};
  return fail(Code::kUnavailable, name + " ended with " + std::to_string(output.exitCode) + ": " +
                                      printable(output.text.substr(0, output.text.find('\n')), 500));
}

}  // namespace

Status dumpDatabase(const std::string& conninfo, const std::string& path) {
  return run("pg_dump", {"--format=custom", "--no-owner", "--no-privileges", "--no-password",
                         "--file=" + path, "--dbname=" + conninfo});
}

Status loadDatabase(const std::string& conninfo, const std::string& path) {
  return run("pg_restore", {"--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges",
                            "--no-password", "--dbname=" + conninfo, path});
}

}  // namespace kiln::cli
