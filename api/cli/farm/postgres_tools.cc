#include "api/cli/farm/postgres_tools.h"

#include <unistd.h>

#include <filesystem>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/base/file.h"
#include "manifest/base/printable.h"
#include "manifest/base/run_program.h"
#include "signing/log/checkpoint.h"
#include "signing/log/note.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

// A database of any size is waited for.
constexpr std::chrono::hours kTimeout{24};
constexpr int kNoProgram = 127;  // of a shell
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

// What stands in the way, of what libpq and the server say.
Code codeOf(const std::string& text) {
  const auto says = [&](const char* words) { return text.find(words) != text.npos; };
  if (says("connection info string") || says("invalid connection option") || says("invalid port number"))
    return Code::kInvalidArgument;
  if (says("could not translate host name")) return Code::kUnavailable;
  if (says("No space left on device")) return Code::kResourceExhausted;
  if (says("permission denied") || says("Permission denied") || says("authentication failed"))
    return Code::kPermissionDenied;
  if (!says("connection to server") && !says("server closed the connection"))
    return Code::kFailedPrecondition;
  return says("does not exist") ? Code::kNotFound : Code::kUnavailable;
}

Result<std::string> run(const std::string& name, const std::vector<std::string>& arguments) {
  // The shell looks in PATH and adds what the program complains about to its output, in English (codeOf).
  std::vector<std::string> command{"/bin/sh", "-c", "LC_ALL=C; export LC_ALL; exec \"$0\" \"$@\" 2>&1",
                                   programNamed(name)};
  command.insert(command.end(), arguments.begin(), arguments.end());
  KILN_ASSIGN(const ProgramRun output, runProgram(command, {.limit = kTimeout}));
  if (output.exitCode == 0) return output.out;
  if (output.exitCode == kNoProgram)
    return fail(Code::kUnavailable, name + " is not there; install PostgreSQL's client programs");
  const Code code = codeOf(output.out);
  const char* next =
      code == Code::kUnavailable ? "; infra/postgres start DIR starts a server, and status DIR names it" : "";
  return fail(code, name + " ended with " + std::to_string(output.exitCode) + ": " +
                        printable(output.out.substr(0, output.out.find('\n')), 500) + next);
}

Result<std::string> ask(const std::string& conninfo, const std::string& sql) {
  return run("psql", {"--no-psqlrc", "--no-password", "--no-align", "--tuples-only", "--quiet",
                      "--dbname=" + conninfo, "--command=" + sql});
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

Status extractTable(const std::string& dump, const std::string& table, const std::string& to) {
  const auto done = run("pg_restore", {"--data-only", "--table=" + table, "--file=" + to, dump});
  if (done) return {};
  Error why = done.error();
  if (why.code == Code::kFailedPrecondition) why.code = Code::kDataLoss;
  return fail(why.in(dump));
}

Status checkEmptyDatabase(const std::string& conninfo) {
  KILN_ASSIGN(const std::string used,
              ask(conninfo,
                  "SELECT count(*) > 0 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
                  "WHERE n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_'"));
  if (!used.starts_with("t")) return {};
  return fail(Code::kAlreadyExists,
              "--database: holds tables already; a restore needs an empty one, as infra/postgres start "
              "NEW/pg makes it");
}

Status checkFarmDatabase(const std::string& conninfo, const std::string& farm) {
  KILN_ASSIGN(const std::string there, ask(conninfo, "SELECT to_regclass('log_checkpoints') IS NOT NULL"));
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
  KILN_ASSIGN(const std::string root,
              ask(conninfo, "SELECT encode(root, 'hex') FROM log_checkpoints WHERE size = " +
                                std::to_string(published->size)));
  if (root.starts_with(toHex(published->root))) return {};
  return fail(Code::kInvalidArgument, "--database: does not hold what the farm's log has published (" +
                                          printable(path) + "); it is another farm's, or an older one");
}

}  // namespace kiln::cli
