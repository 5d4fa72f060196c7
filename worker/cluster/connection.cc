#include "worker/cluster/connection.h"

#include <grpcpp/create_channel.h>

#include "manifest/base/printable.h"
#include "storage/remote/channel.h"

namespace kiln::cluster {
namespace {

constexpr std::size_t kMaxMessageOfTheirs = 512;

grpc::ChannelArguments limits() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(16 << 20);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5000);
  // Servers in Go close a connection that is pinged more often than every five minutes, unless told
  // otherwise.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 360'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  return arguments;
}

}  // namespace

Result<std::shared_ptr<grpc::Channel>> connect(const ClusterOptions& options) {
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (!options.tls.empty()) {
    KILN_ASSIGN(credentials, storage::tlsCredentials(
                                 {.ca = options.tls, .certificate = "", .key = "", .token = options.token}));
  }
  grpc::ChannelArguments arguments = limits();
  if (storage::isSocketEndpoint(options.where.address))
    arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  return grpc::CreateCustomChannel(options.where.address, credentials, arguments);
}

Error ofCluster(const Error& error, std::string_view what) {
  if (error.code == Code::kDataLoss || error.code == Code::kCancelled) return error.in(what);
  return Error{Code::kUnavailable,
               std::string(codeName(error.code)) + ": " + printable(error.message, kMaxMessageOfTheirs),
               {}}
      .in(what);
}

}  // namespace kiln::cluster
