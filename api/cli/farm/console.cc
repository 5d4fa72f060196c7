// kiln console: a farm's web console in this user's browser, served by this program: of the farm on this
// machine, or of one that is reached within TLS.
#include <sys/stat.h>

#include <algorithm>
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

constexpr std::size_t kMaxDocumentBytes = 14 << 20, kMaxPemBytes = 1 << 20, kMaxTokenBytes = 16 << 10;
constexpr std::chrono::seconds kProbe{10};

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

// The token as the file has it now.
Result<std::string> tokenIn(const std::string& path) {
  KILN_ASSIGN(std::string token, signing::readSecretFile(path, kMaxTokenBytes));
  token.erase(token.find_last_not_of(" \r\n") + 1);
  const auto visible = [](char c) { return c > ' ' && c < 0x7f; };
  if (token.empty() || !std::ranges::all_of(token, visible))
    return fail(Code::kInvalidArgument, path + ": must hold one token and no more");
  return token;
}

Result<relay::FarmSide> httpsSideOf(const Context& context) {
  constexpr std::string_view kScheme = "https://";
  const std::string& url = context.http;
  if (!url.starts_with(kScheme))
    return fail(Code::kInvalidArgument,
                inQuotes(url) + ": kiln console reads a farm's --https: https://HOST:PORT");
  std::string place = url.substr(kScheme.size());
  while (place.ends_with('/')) place.pop_back();
  if (place.find(':') == std::string::npos) place += ":443";
  KILN_ASSIGN(serving::HostPort at, serving::parseHostPort(place).map_error(
                                        [&](const Error& error) { return error.in(inQuotes(url)); }));
  if (at.host.starts_with('[')) at.host = at.host.substr(1, at.host.size() - 2);
  relay::HttpsSide side{.host = at.host, .port = at.port};
  const storage::ClientCredentials& tls = context.tls;
  if (tls.ca.empty() || tls.certificate.empty() != tls.key.empty() ||
      (tls.certificate.empty() && tls.token.empty()))
    return fail(Code::kInvalidArgument,
                inQuotes(url) + " wants --tls-ca, and --tls-cert with --tls-key or --token-file");
  KILN_ASSIGN(side.authorities, signing::readTextFile(tls.ca, kMaxPemBytes));
  if (!tls.certificate.empty()) {
    KILN_ASSIGN(side.certificate, signing::readTextFile(tls.certificate, kMaxPemBytes));
    KILN_ASSIGN(side.key, signing::readSecretFile(tls.key, kMaxPemBytes));
  }
  if (!tls.token.empty()) side.token = [path = tls.token] { return tokenIn(path); };
  KILN_TRY(relay::probe(side, kProbe));
  return side;
}

Result<relay::FarmSide> socketSide(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0 || !S_ISSOCK(found.st_mode))
    return fail(Code::kUnavailable,
                inQuotes(path) + " is no socket of a farm that runs; start it with infra/up");
  return relay::SocketSide{path};
}

// A farm that this command line names comes before the one of the environment, and there the private socket
// before what everybody may reach.
Result<relay::FarmSide> farmOf(const Context& context, const Options& options) {
  if (!options.socket.empty()) return socketSide(options.socket);
  const auto origin = context.origins.find("http");
  const std::string from = origin == context.origins.end() ? "" : origin->second;
  if (from == "--http" || (from.starts_with("context ") && context.http.starts_with("https:")))
    return httpsSideOf(context);
  if (const char* path = std::getenv("KILN_HTTP_SOCKET"); path != nullptr && *path != '\0')
    return socketSide(path);
  if (!context.http.empty()) return httpsSideOf(context);
  return fail(
      Code::kInvalidArgument,
      "no farm is named: . .kiln/kiln.env names the one of infra/up, --http the https:// URL of another, "
      "and --socket another one's --http-socket");
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
  KILN_ASSIGN(settings.farm, farmOf(context, options));
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
  auto& command = addCommand(app, context, "console",
                             "Show a farm in a browser: lend this machine's farm, or what this client may "
                             "read of another, to this user's "
                             "browser over a port of loopback, for reading, behind a link that opens once",
                             "kiln console", [&context, options] { return run(context, *options); });
  command.add_option("--port", options->port, "Port of 127.0.0.1 (default: one that is free)");
  command.add_option("--port-file", options->portFile, "Write the port there");
  command.add_option("--socket", options->socket,
                     "The farm's private HTTP socket (default: $KILN_HTTP_SOCKET)");
  command.add_option("--instance", context.instance,
                     "The tenant that is shown first (default: $KILN_INSTANCE or \"default\")");
  command.add_option(
      "--http", context.http,
      "https:// URL of another farm, which the options of TLS let in (default: $KILN_HTTP where there "
      "is no socket)");
  addTlsOptions(command, context);
  addTrustOptions(command, context);
}

}  // namespace kiln::cli
