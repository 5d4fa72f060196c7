#include "coordinator/server/web.h"

#include "api/console/files.h"
#include "api/gateway/log_files.h"
#include "coordinator/server/listen.h"
#include "coordinator/web/http_api.h"
#include "coordinator/web/http_gate.h"
#include "coordinator/web/openapi_document.h"
#include "coordinator/web/published_blobs.h"
#include "coordinator/web/published_images.h"
#include "coordinator/web/releases.h"

namespace kiln::server {
namespace {

gateway::GatewayBackend backendOf(const Options& options, FarmServices& services,
                                  postgres::DatabaseHealth& health) {
  std::shared_ptr<gateway::LogFiles> log;
  if (!options.logTiles.empty()) log = std::make_shared<gateway::PublishedLogFiles>(options.logTiles);
  return {.artifacts = std::make_shared<PublishedBlobs>(services.pool()),
          .blobs = services.inputs().blobs,
          .metrics = services.registry(),
          .health = [&health] { return health.check(); },
          .log = std::move(log),
          .release = std::make_shared<Releases>(services.judging(), services.inputs().policies),
          .page = console::findFile,
          .images = std::make_shared<PublishedImages>(services.pool())};
}

// An answer is as large as the services make it, and becomes JSON in memory.
std::shared_ptr<grpc::Channel> relayChannel(grpc::Server& relay) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(32 << 20);
  return relay.InProcessChannel(arguments);
}

}  // namespace

Result<Web> Web::start(const Options& options, const LiveTls* tls, FarmServices& services,
                       postgres::DatabaseHealth& health) {
  const auto of = [](const char* option) { return [=](const Error& error) { return error.in(option); }; };
  gateway::GatewayBackend backend = backendOf(options, services, health);
  Web web;
  web.relay_ = serveInProcess(services.guardedOverHttp(), services.calls());
  KILN_ASSIGN(backend.api, HttpApi::create(relayChannel(*web.relay_), services.gate(), services.clock(),
                                           openApiDocument()));
  KILN_ASSIGN(const HostPort http, parseHostPort(options.http));
  KILN_ASSIGN(
      web.plain_,
      gateway::Gateway::start({.address = http.host, .port = http.port}, backend).map_error(of("--http")));
  web.plainHost_ = http.host;
  KILN_TRY(serving::writePortFile("--http-port-file", options.httpPortFile, web.plain_->port()));
  KILN_ASSIGN(web.metrics_, telemetry::serveMetrics(options.metrics, services.registry(),
                                                    [&health] { return health.check(); }));
  if (!options.httpSocket.empty()) {
    KILN_ASSIGN(web.private_, gateway::Gateway::start({.socket = options.httpSocket,
                                                       .limits = {.answers = 64, .answersPerAddress = 64}},
                                                      backend)
                                  .map_error(of("--http-socket")));
  }
  if (options.https.empty()) return web;
  KILN_ASSIGN(const HostPort https, parseHostPort(options.https));
  backend.gate = std::make_shared<HttpGate>(services.gate(), options.publicLog);
  KILN_ASSIGN(web.secure_, gateway::Gateway::start(
                               {.address = https.host, .port = https.port, .tls = tls->https()}, backend)
                               .map_error(of("--https")));
  KILN_TRY(serving::writePortFile("--https-port-file", options.httpsPortFile, web.secure_->port()));
  return web;
}

void Web::release() {
  relay_->Shutdown(std::chrono::system_clock::now());
}

// The threads of the sides wait for what they have called.
void Web::stop() {
  metrics_.reset();
  release();
  for (gateway::Gateway* side : {secure_.get(), private_.get(), plain_.get()})
    if (side) side->stop();
}

}  // namespace kiln::server
