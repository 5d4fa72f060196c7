// kiln mirror serve: OCI pulls, the log and kiln fetch from a mirror.
#include "api/cli/mirror/mirror_serve.h"

#include <chrono>
#include <thread>

#include "api/cli/base/duration_option.h"
#include "api/cli/base/print.h"
#include "api/gateway/log_files.h"
#include "api/mirror/served.h"
#include "signing/keys/files.h"
#include "storage/serving/endpoint.h"
#include "storage/telemetry/host_metrics.h"
#include "storage/telemetry/metrics_server.h"

namespace kiln::cli {
namespace {

constexpr std::size_t kMaxPemBytes = 1 << 20;
constexpr std::chrono::seconds kLookEvery{5};  // at files that may have changed

struct Options {
  std::string directory, http, httpPortFile, https, httpsPortFile, staleAfter = "1h";
  std::string certificate, key, clientCa;
  bool everybody = false;
  telemetry::MetricsFlags metrics;
};

// Within TLS: whoever the handshake let in. Roles are the farm's; a mirror holds one instance, and knows
// nobody.
class Callers final : public gateway::RequestGate {
 public:
  explicit Callers(bool everybody) : everybody_(everybody) {}
  Status admit(const gateway::Caller& caller, gateway::RouteKind, const std::string&) override {
    if (everybody_ || !caller.certificate.empty()) return {};
    return fail(Code::kUnauthenticated, "this mirror wants a certificate of its clients' authority");
  }

 private:
  const bool everybody_;
};

Result<gateway::TlsSettings> readTls(const Options& options) {
  const auto of = [](const char* option) { return [=](const Error& error) { return error.in(option); }; };
  gateway::TlsSettings out;
  KILN_ASSIGN(out.certificate,
              signing::readTextFile(options.certificate, kMaxPemBytes).map_error(of("--tls-cert")));
  KILN_ASSIGN(out.key, signing::readSecretFile(options.key, kMaxPemBytes).map_error(of("--tls-key")));
  if (!options.clientCa.empty()) {
    KILN_ASSIGN(auto clients,
                signing::readTextFile(options.clientCa, kMaxPemBytes).map_error(of("--tls-client-ca")));
    out.clientAuthorities.push_back(std::move(clients));
  }
  out.certificateWanted = !options.everybody;
  return out;
}

Status checkOptions(const Options& options) {
  const bool files = !options.certificate.empty() && !options.key.empty();
  if (options.https.empty()) return {};
  if (!files) return fail(Code::kInvalidArgument, "--https needs --tls-cert and --tls-key");
  if (options.clientCa.empty() == options.everybody) return {};
  return fail(Code::kInvalidArgument,
              "--https needs --tls-client-ca, whose clients may pull, or --public, and not both");
}

// The side of one --http or --https.
Result<std::unique_ptr<gateway::Gateway>> listen(const char* option, const std::string& address,
                                                 const std::string& portFile,
                                                 std::shared_ptr<gateway::ServerTls> tls,
                                                 const gateway::GatewayBackend& backend) {
  const auto in = [&](const Error& error) { return error.in(option); };
  KILN_ASSIGN(const auto place, serving::parseHostPort(address).map_error(in));
  KILN_ASSIGN(auto side, gateway::Gateway::start(
                             {.address = place.host, .port = place.port, .tls = std::move(tls)}, backend)
                             .map_error(in));
  KILN_TRY(serving::writePortFile((std::string(option) + "-port-file").c_str(), portFile, side->port()));
  note(std::string("mirror: ") + (backend.gate ? "https" : "http") + "://" + place.host + ":" +
       std::to_string(side->port()));
  return side;
}

Result<std::shared_ptr<mirror::Served>> openServed(const Context& context, const Options& options,
                                                   const Clock& clock, prometheus::Registry& metrics) {
  mirror::ServeOptions wanted;
  wanted.directory = options.directory;
  wanted.trustRoot = context.trustRoot;
  if (!context.policy.empty()) wanted.policy = context.policy;
  if (!context.recalls.empty()) wanted.recalls = context.recalls;
  KILN_ASSIGN(wanted.staleAfter, parseDuration(options.staleAfter).map_error([](const Error& error) {
    return error.in("--stale-after");
  }));
  return mirror::Served::open(wanted, clock, metrics);
}

// Until a signal ends the process: takes over what updates bring, and certificates that were renewed.
[[noreturn]] void keepUp(mirror::Served& served, const Options& options, gateway::ServerTls* tls) {
  for (;; std::this_thread::sleep_for(kLookEvery)) {
    served.refresh();
    if (tls == nullptr) continue;
    const auto settings = readTls(options);
    const Status replaced = settings ? tls->replace(*settings) : fail(settings.error());
    if (!replaced) note("mirror: the certificates stay as they were: " + replaced.error().message);
  }
}

Status run(const Context& context, const Options& options) {
  KILN_TRY(checkOptions(options));
  static const SystemClock clock;
  const auto registry = std::make_shared<telemetry::Registry>();
  telemetry::addProcessMetrics(*registry);
  telemetry::addDiskMetrics(*registry, "mirror", options.directory);
  KILN_ASSIGN(const auto served, openServed(context, options, clock, *registry));
  const auto health = [served] { return served->health(); };
  gateway::GatewayBackend backend{.artifacts = served,
                                  .blobs = served->blobs(),
                                  .metrics = registry,
                                  .health = health,
                                  .log = std::make_shared<gateway::PublishedLogFiles>(served->log()),
                                  .release = served,
                                  .unhealthy = "the mirror is stale or damaged; its --metrics says more",
                                  .images = served};
  std::unique_ptr<gateway::Gateway> plain, secure;
  std::shared_ptr<gateway::ServerTls> tls;
  if (!options.http.empty() || options.https.empty()) {
    KILN_ASSIGN(plain, listen("--http", options.http.empty() ? "127.0.0.1:0" : options.http,
                              options.httpPortFile, nullptr, backend));
  }
  if (!options.https.empty()) {
    KILN_ASSIGN(const auto settings, readTls(options));
    KILN_ASSIGN(tls, gateway::ServerTls::create(settings));
    backend.gate = std::make_shared<Callers>(options.everybody);
    KILN_ASSIGN(secure, listen("--https", options.https, options.httpsPortFile, tls, backend));
  }
  KILN_ASSIGN(const auto metrics, telemetry::serveMetrics(options.metrics, registry, health));
  keepUp(*served, options, tls.get());
}

}  // namespace

void addMirrorServe(CLI::App& group, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& serve = addCommand(
      group, context, "serve",
      "Serve a mirror to kiln fetch --mirror and to OCI clients, until a signal ends it; what root, policy "
      "or "
      "recalls refuse is not handed out",
      "kiln mirror serve /srv/kiln-mirror --https 0.0.0.0:8443 --tls-cert m.pem --tls-key m.key --public",
      [&context, options] { return run(context, *options); });
  serve.add_option("DIR", options->directory, "Directory that kiln mirror update keeps")->required();
  serve.add_option("--http", options->http,
                   "loopback HOST:PORT in the clear (default without --https: 127.0.0.1 and any port)");
  serve.add_option("--http-port-file", options->httpPortFile, "file that receives its port");
  const auto https = serve.add_option("--https", options->https, "HOST:PORT within TLS");
  serve.add_option("--https-port-file", options->httpsPortFile, "file that receives its port")->needs(https);
  serve
      .add_option("--tls-cert", options->certificate,
                  "the mirror's certificate, PEM; read again as it changes")
      ->needs(https);
  serve.add_option("--tls-key", options->key, "its private key, PEM, mode 0600")->needs(https);
  serve.add_option("--tls-client-ca", options->clientCa, "authorities, PEM, whose certificates clients show")
      ->needs(https);
  serve.add_flag("--public", options->everybody, "whoever reaches --https may pull, without a certificate")
      ->needs(https);
  serve
      .add_option("--stale-after", options->staleAfter,
                  "/healthz is 503 when the farm was not asked for so long; what is there is served")
      ->capture_default_str();
  serve.add_option("--metrics", options->metrics.address, telemetry::kMetricsHelp);
  serve.add_option("--metrics-port-file", options->metrics.portFile, telemetry::kMetricsPortFileHelp);
  addTrustOptions(serve, context);
}

}  // namespace kiln::cli
