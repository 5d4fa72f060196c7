#include "api/cli/postgres_tools.h"

#include <unistd.h>

#include <filesystem>
#include <vector>

#include "api/cli/run_program.h"
#include "manifest/base/digest.h"
#include "manifest/base/file.h"
#include "manifest/base/printable.h"
#include "signing/log/checkpoint.h"
#include "signing/log/note.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

// A database of any size is waited for.
constexpr std::chrono::hours kPatience{24};
constexpr std::size_t kMaxCheckpointBytes = 64 << 10;

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

Result<std::string> run(const std::string& name, const std::vector<std::string>& arguments) {
  // The shell looks in PATH and adds what the program complains about to its output.
  std::vector<std::string> command{"/bin/sh", "-c", "exec \"$0\" \"$@\" 2>&1", programNamed(name)};
  command.insert(command.end(), arguments.begin(), arguments.end());
  KILN_ASSIGN(const ProgramOutput output, runProgram(command, kPatience));
  if (output.exitCode == 0) return output.text;
  return fail(Code::kUnavailable, name + " ended with " + std::to_string(output.exitCode) + ": " +
                                      printable(output.text.substr(0, output.text.find('\n')), 500));
}

}  // namespace

Status dumpDatabase(const std::string& conninfo, const std::string& path) {
  KILN_TRY(run("pg_dump", {"--format=custom", "--no-owner", "--no-privileges", "--no-password",
                           "--file=" + path, "--dbname=" + conninfo}));
  return {};
}

Status loadDatabase(const std::string& conninfo, const std::string& path) {
  KILN_TRY(run("pg_restore", {"--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges",
                              "--no-password", "--dbname=" + conninfo, path}));
  return {};
}

Status checkFarmDatabase(const std::string& conninfo, const std::string& farm) {
  const auto ask = [&](const std::string& sql) {
    return run("psql", {"--no-psqlrc", "--no-password", "--no-align", "--tuples-only", "--quiet",
                        "--dbname=" + conninfo, "--command=" + sql});
  };
  KILN_ASSIGN(const std::string there, ask("SELECT to_regclass('log_checkpoints') IS NOT NULL"));
  if (!there.starts_with("t"))
    return fail(
        Code::kInvalidArgument,
        "--database: holds no farm; name the farm's own, as infra/up has it in " + printable(farm) + "/pg");
  const std::string path = farm + "/log/checkpoint";
  if (::access(path.c_str(), F_OK) != 0) return {};  // its log lies elsewhere, or has published nothing yet
  KILN_ASSIGN(const std::string text, readRegular(path, kMaxCheckpointBytes));
  auto note = signing::parseNote(text);
  if (!note) return fail(note.error().in(path));
  auto published = signing::Checkpoint::parse(note->text);
  if (!published) return fail(published.error().in(path));
  KILN_ASSIGN(const std::string root, ask("SELECT encode(root, 'hex') FROM log_checkpoints WHERE size = " +
                                          std::to_string(published->size)));
  if (root.starts_with(toHex(published->root))) return {};
  return fail(Code::kInvalidArgument, "--database: does not hold what the farm's log has published (" +
                                          printable(path) + "); it is another farm's, or an older one");
}

}  // namespace kiln::cli
