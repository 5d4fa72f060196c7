#include "api/client/rpc_error.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "google/rpc/status.pb.h"
#include "manifest/base/file.h"
#include "manifest/json/json.h"
#include "storage/remote/status.h"

namespace kiln::client {

Error jobError(const v1::JobError& error) {
  Json details = Json::object();
  if (auto parsed = parseJson(error.details_json()); parsed && parsed->is_object())
    details = std::move(*parsed);
  if (error.exit_code() != 0) details["exitCode"] = error.exit_code();
  return {fromGrpc(grpc::Status(static_cast<grpc::StatusCode>(error.code()), "")).code, error.message(),
          details.empty() ? std::string() : details.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

namespace {

// What the system says to a connection to the socket at `path`; 0 if somebody listens there, or may.
int refusal(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return 0;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const bool refused =
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0;
  return refused ? errno : 0;
}

// It or a folder on the way is somebody else's.
bool isDenial(int number) {
  return number == EACCES || number == EPERM;
}

}  // namespace

Status checkListener(grpc::Channel& channel, const std::string& endpoint) {
  if (!endpoint.starts_with("unix:") || channel.GetState(false) == GRPC_CHANNEL_READY) return {};
  const int number = refusal(endpoint.substr(5));
  const bool absent = number == ENOENT || number == ENOTDIR || number == ECONNREFUSED;
  if (!absent && !isDenial(number)) return {};
  return fail(unreachable(endpoint));
}

Error unreachable(const std::string& endpoint) {
  if (endpoint.starts_with("unix:") && isDenial(refusal(endpoint.substr(5))))
    return {Code::kPermissionDenied,
            "the coordinator's socket " + endpoint +
                " is not for this user; run as who started the farm, have its operator name you a host:port "
                "with a certificate, or name another farm with --endpoint or KILN_ENDPOINT"};
  return {Code::kUnavailable,
          "coordinator not reachable at " + endpoint +
              "; start it with infra/up, or name another one with --endpoint or KILN_ENDPOINT"};
}

Error rpcError(const grpc::Status& status, grpc::Channel& channel, const std::string& endpoint) {
  // What the server sent itself carries no connection failure: the channel is then ready.
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE && channel.GetState(false) != GRPC_CHANNEL_READY) {
    return unreachable(endpoint);
  }
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return {Code::kDeadlineExceeded, "no answer from " + endpoint + " in time; try again"};
  }
  google::rpc::Status rich;
  if (!status.error_details().empty() && rich.ParseFromString(status.error_details())) {
    for (const auto& any : rich.details()) {
      v1::JobError error;
      if (!any.UnpackTo(&error)) continue;
      if (error.code() == 0) error.set_code(status.error_code());
      if (error.message().empty()) error.set_message(status.error_message());
      return jobError(error);
    }
  }
  return fromGrpc(status);
}

}  // namespace kiln::client
