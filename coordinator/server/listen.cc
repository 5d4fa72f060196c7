#include "coordinator/server/listen.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/resource_quota.h>
#include <sys/stat.h>

#include "storage/remote/wire_limits.h"

namespace kiln::server {
namespace {

struct Endpoint {
  std::string text;
  std::shared_ptr<grpc::ServerCredentials> credentials;
  int port = 0;  // once it is bound; 1 for a Unix socket
};

std::vector<Endpoint> endpointsOf(const Options& options, const LiveTls* tls) {
  std::vector<Endpoint> out;
  for (const std::string& text : options.listen)
    out.push_back({text, isSocket(text) ? grpc::InsecureServerCredentials() : tls->grpcCredentials()});
  for (const std::string& text : options.tokenListen) out.push_back({text, tls->tokenCredentials()});
  return out;
}

// It asks nobody who calls, and holds a thread for each call that says nothing: for private sockets alone.
class WithoutReflection final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    std::erase_if(*plugins, [](const auto& plugin) { return plugin->name() == "proto_server_reflection"; });
  }
};

// Whoever gets through to gRPC shares it with everybody else.
void limit(grpc::ServerBuilder& builder, CallWatch& calls) {
  grpc::ResourceQuota quota("kiln-coordinator");
  quota.Resize(std::size_t{1} << 30);  // bytes of what is being received and sent
  quota.SetMaxThreads(kMaxThreads);
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(storage::kMaxServerMessageBytes);
  for (const auto& [name, value] : connectionArguments()) builder.AddChannelArgument(name, value);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(calls.interceptors());
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
}

}  // namespace

std::vector<std::pair<const char*, int>> connectionArguments() {
  constexpr int kSecond = 1000, kMinute = 60 * kSecond, kHour = 60 * kMinute;
  return {
      {GRPC_ARG_MAX_METADATA_SIZE, 16 << 10},  // a token is up to 8 KiB of it
      {GRPC_ARG_MAX_CONCURRENT_STREAMS, 128},
      {GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10 * kSecond},
      {GRPC_ARG_MAX_CONNECTION_IDLE_MS, 10 * kMinute},
      {GRPC_ARG_MAX_CONNECTION_AGE_MS, 2 * kHour},  // then no new calls; clients connect again
      {GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, kHour},
      {GRPC_ARG_KEEPALIVE_TIME_MS, kMinute},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20 * kSecond},
      {GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1},
      {GRPC_ARG_HTTP2_MAX_PING_STRIKES, 2},
      {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10 * kSecond},
  };
}

Result<Listener> listenOnLoopback(const std::string& address, const std::vector<grpc::Service*>& services,
                                  CallWatch& calls) {
  grpc::ServerBuilder builder;
  builder.SetOption(std::make_unique<WithoutReflection>());
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  limit(builder, calls);
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  for (grpc::Service* service : services) builder.RegisterService(service);
  KILN_ASSIGN(const HostPort at, parseHostPort(address));
  Listener out{builder.BuildAndStart(), {at.host + ":" + std::to_string(port)}};
  if (!out.server)
    return fail(Code::kUnavailable, "--reapi-listen: cannot listen on " + address + "; is it taken?");
  return out;
}

std::unique_ptr<grpc::Server> serveInProcess(const std::vector<grpc::Service*>& services, CallWatch& calls) {
  grpc::ServerBuilder builder;
  builder.SetOption(std::make_unique<WithoutReflection>());
  limit(builder, calls);
  for (grpc::Service* service : services) builder.RegisterService(service);
  return builder.BuildAndStart();
}

Result<Listener> listen(const Options& options, const LiveTls* tls,
                        const std::vector<grpc::Service*>& services, CallWatch& calls) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  if (tls) builder.SetOption(std::make_unique<WithoutReflection>());
  // Two coordinators on one port would each get some of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  limit(builder, calls);
  std::vector<Endpoint> endpoints = endpointsOf(options, tls);
  for (Endpoint& endpoint : endpoints)
    builder.AddListeningPort(endpoint.text, endpoint.credentials, &endpoint.port);
  for (grpc::Service* service : services) builder.RegisterService(service);
  const mode_t before = ::umask(0177);
  Listener out{builder.BuildAndStart(), {}};
  ::umask(before);
  std::string all;
  for (const Endpoint& endpoint : endpoints) {
    all += (all.empty() ? "" : " ") + endpoint.text;
    if (isSocket(endpoint.text)) {
      out.addresses.push_back(endpoint.text);
      continue;
    }
    KILN_ASSIGN(const HostPort address, parseHostPort(endpoint.text));
    out.addresses.push_back(address.host + ":" + std::to_string(endpoint.port));
  }
  if (!out.server)
    return fail(Code::kUnavailable, "--listen: cannot listen on " + all + "; is an address taken?");
  return out;
}

}  // namespace kiln::server
