#include <cstdlib>

#include "api/cli/artifact/commands.h"
#include "api/cli/base/print.h"
#include "api/client/artifact_ref.h"
#include "manifest/base/printable.h"
#include "manifest/base/run_program.h"
#include "manifest/base/short_digest.h"

namespace kiln::cli {
namespace {

constexpr std::size_t kMaxJobBytes = 64;
constexpr std::size_t kJobDigits = 44;  // of a job's id: so many alone are no artifact's

struct Options {
  std::string what;
  bool browser = false;
};

// The farm's side that serves the console, without a slash at its end.
Result<std::string> consoleOf(const Context& context) {
  std::string http = context.http;
  while (http.ends_with('/')) http.pop_back();
  const bool isUrl = http.starts_with("http://") || http.starts_with("https://");
  if (!http.empty() && isUrl && kiln::printable(http, std::string_view::npos) == http &&
      http.find_first_of(" \"'<>#") == std::string::npos)
    return http;
  if (!http.empty())
    return fail(Code::kInvalidArgument, "--http " + inQuotes(http) + ": is no http:// or https:// URL");
  return fail(Code::kInvalidArgument,
              "where the farm's console is is not named; give --http URL, set KILN_HTTP or name a farm with "
              "kiln config add NAME --http URL");
}

// The view of the console, as the page itself names them. What fewer digits mean the farm says.
Result<std::string> viewOf(const Context& context, const std::string& given) {
  const bool bare = isBareDigest(given) && given.size() != kJobDigits;
  const std::string what = bare ? "sha256:" + given : given;
  if (what.starts_with("sha256:")) {
    if (const auto whole = Digest::parse(what, 0)) return "artifacts/" + whole->text();
    KILN_ASSIGN(const auto client, context.connect());
    KILN_ASSIGN(const auto entry, client::indexEntry(*client, what));
    return "artifacts/sha256:" + entry.manifest().hash();
  }
  constexpr std::string_view kFit = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
  if (what.size() > kMaxJobBytes || what.find_first_not_of(kFit) != std::string::npos)
    return fail(Code::kInvalidArgument,
                inQuotes(what) + " is no job and no artifact; give a job's id or sha256:<hex>");
  return "jobs/" + what;
}

// As xdg-open does it, or the program of $BROWSER.
Status openBrowser(const std::string& url) {
  const char* named = std::getenv("BROWSER");
  const std::string program = named != nullptr && *named != 0 ? named : "xdg-open";
  const auto ended = runProgram({"/usr/bin/env", program, url}, {});
  if (!ended) return fail(ended.error());
  if (ended->exitCode == 0) return {};
  return fail(Code::kUnavailable, inQuotes(program) + " opened no browser (exit code " +
                                      std::to_string(ended->exitCode) +
                                      "); open the printed URL, or name a program in BROWSER");
}

Status run(const Context& context, const Options& options) {
  KILN_ASSIGN(const std::string console, consoleOf(context));
  KILN_ASSIGN(const std::string view, viewOf(context, options.what));
  const std::string url = console + "/#/" + view;
  if (context.json)
    printJson({{"url", url}});
  else
    printLine(url);
  return options.browser ? openBrowser(url) : Status();
}

}  // namespace

void addOpen(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command =
      addCommand(app, context, "open", "Print where the farm's console shows an artifact or a job",
                 "kiln open sha256:<hex> --browser", [&context, options] { return run(context, *options); });
  command.add_option("ARTIFACT|JOB", options->what, "sha256:<hex>, 12 digits or more, or a job's id")
      ->required();
  command.add_flag("--browser", options->browser, "And open it: by $BROWSER, or by xdg-open");
  command.add_option("--http", context.http, "URL of the farm's HTTP side (default: $KILN_HTTP)");
  addFarmOptions(command, context);
}

}  // namespace kiln::cli
