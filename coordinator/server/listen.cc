#include "coordinator/server/listen.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <sys/stat.h>

#include "storage/remote/wire_limits.h"

namespace kiln::server {
Result<Listener> listen(const Options& options, const std::shared_ptr<grpc::ServerCredentials>& tls,
                        const std::vector<grpc::Service*>& services) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  // Two coordinators on one port would each get some of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(storage::kMaxServerMessageBytes);
  std::vector<int> ports(options.listen.size(), 0);
  for (std::size_t i = 0; i < options.listen.size(); ++i) {
    const std::string& endpoint = options.listen[i];
    builder.AddListeningPort(endpoint, isSocket(endpoint) ? grpc::InsecureServerCredentials() : tls,
                             &ports[i]);
  }
  for (grpc::Service* service : services) builder.RegisterService(service);
  const mode_t before = ::umask(0177);
  Listener out{builder.BuildAndStart(), {}};
  ::umask(before);
  std::string all;
  for (std::size_t i = 0; i < options.listen.size(); ++i) {
    const std::string& endpoint = options.listen[i];
    all += (all.empty() ? "" : " ") + endpoint;
    if (isSocket(endpoint)) {
      out.addresses.push_back(endpoint);
      continue;
    }
    KILN_ASSIGN(const HostPort address, parseHostPort(endpoint));
    out.addresses.push_back(address.host + ":" + std::to_string(ports[i]));
  }
  if (!out.server)
    return fail(Code::kUnavailable, "--listen: cannot listen on " + all + "; is an address taken?");
  return out;
}

}  // namespace kiln::server
