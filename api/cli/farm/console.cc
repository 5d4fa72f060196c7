// kiln console: the web console of the farm on this machine, for its own user, in their browser.
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "api/cli/base/print.h"
#include "api/cli/farm/commands.h"
#include "api/console/files.h"
#include "api/relay/relay.h"
#include "manifest/base/digest.h"
#include "manifest/base/printable.h"
#include "signing/keys/files.h"
#include "storage/serving/endpoint.h"

namespace kiln::cli {
namespace {

constexpr std::size_t kMaxDocumentBytes = 14 << 20;

struct Options {
  std::string socket, portFile;
  std::uint16_t port = 0;
};

// A file that the visitor names on this command line, as the page takes it.
Status addFile(Json& told, const char* name, const std::string& path) {
  if (path.empty()) return {};
  KILN_ASSIGN(const std::string text,
              signing::readTextFile(path, kMaxDocumentBytes).map_error([&](const Error& error) {
                return error.in(std::string("--") + (std::string_view(name) == "root" ? "trust-root" : name));
              }));
  told[name] = {{"name", path.substr(path.rfind('/') + 1)}, {"bytes", toBase64(asBytes(text))}};
  return {};
}

Result<std::string> socketOf(const Options& options) {
  const char* named = std::getenv("KILN_HTTP_SOCKET");
  const std::string path = !options.socket.empty() ? options.socket : named != nullptr ? named : "";
  if (path.empty())
    return fail(Code::kInvalidArgument,
                "no farm is named: . .kiln/kiln.env names the one of infra/up, and --socket another "
                "one's --http-socket");
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0 || !S_ISSOCK(found.st_mode))
    return fail(Code::kUnavailable,
                inQuotes(path) + " is no socket of a farm that runs; start it with infra/up");
  return path;
}

// What a session is told beside its token.
Result<std::string> toldOf(const Context& context) {
  Json told = {{"instance", context.instance.empty() ? "default" : context.instance}};
  KILN_TRY(addFile(told, "root", context.trustRoot));
  if (!context.trustRoot.empty()) {
    KILN_TRY(addFile(told, "policy", context.policy));
    KILN_TRY(addFile(told, "recalls", context.recalls));
  }
  const std::string object = told.dump();
  return "," + object.substr(1, object.size() - 2);
}

Status run(const Context& context, const Options& options) {
  relay::Settings settings;
  KILN_ASSIGN(settings.socket, socketOf(options));
  KILN_ASSIGN(settings.told, toldOf(context));
  settings.port = options.port;
  settings.page = console::findFile;
  const bool json = context.json;
  settings.onLink = [json, first = true](const std::string& url) mutable {
    if (!json)
      note(first ? "kiln console: open this link; it opens once, and Ctrl-C ends the console"
                 : "kiln console: the link was opened; if it was not by you, end this. The next one:");
    first = false;
    if (json)
      printJson({{"url", url}});
    else
      printLine(url);
    std::fflush(stdout);  // whoever reads a pipe waits for it
  };
  KILN_ASSIGN(const auto relay, relay::Relay::start(std::move(settings)));
  KILN_TRY(serving::writePortFile("--port-file", options.portFile, relay->port()));
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));  // a signal ends it
}

}  // namespace

void addConsole(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command = addCommand(
      app, context, "console",
      "Show this machine's farm in a browser: lend its private socket to this user's browser over a port of "
      "loopback, for reading, behind a link that opens once",
      "kiln console", [&context, options] { return run(context, *options); });
  command.add_option("--port", options->port, "Port of 127.0.0.1 (default: one that is free)");
  command.add_option("--port-file", options->portFile, "Write the port there");
  command.add_option("--socket", options->socket,
                     "The farm's private HTTP socket (default: $KILN_HTTP_SOCKET)");
  command.add_option("--instance", context.instance,
                     "The tenant that is shown first (default: $KILN_INSTANCE or \"default\")");
  addTrustOptions(command, context);
}

}  // namespace kiln::cli
