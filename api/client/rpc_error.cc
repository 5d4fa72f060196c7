#include "api/client/rpc_error.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "google/rpc/status.pb.h"
#include "manifest/base/file.h"
#include "manifest/json/json.h"
#include "storage/remote/channel.h"
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

constexpr char kUnreachable[] = "coordinator not reachable at ";

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

// The HTTP status of an answer that is none of gRPC's, as gRPC tells it; "" for any other message.
std::string httpStatus(std::string_view message) {
  constexpr std::string_view kTold = "Received http2 header with status: ";
  const auto at = message.find(kTold);
  if (at == std::string_view::npos) return "";
  const auto number = message.substr(at + kTold.size());
  return std::string(number.substr(0, number.find_first_not_of("0123456789")));
}

}  // namespace

Error answeredFrom(const std::string& endpoint, Error error) {
  // gRPC's own answer to a call that the server does not have; a coordinator says in words what it lacks.
  if (error.code == Code::kUnimplemented && error.message == codeName(error.code))
    return {Code::kUnimplemented,
            endpoint +
                ": what answers there does not have this call, so it is no coordinator or one of another "
                "release; is it the farm's address (--endpoint, KILN_ENDPOINT)?",
            R"({"exitCode":2})"};
  const std::string http = httpStatus(error.message);
  const bool maybeProxy = error.code == Code::kUnavailable && storage::isNetworkEndpoint(endpoint);
  if ((http.empty() && !maybeProxy) || error.message.starts_with(endpoint)) return error;
  if (http.empty())
    error.message = endpoint + ": " + error.message;
  else if (error.code == Code::kUnavailable)
    error.message = endpoint +
                    ": what answers there is a proxy that gets no answer from the coordinator, or "
                    "lets no more calls through for now (HTTP status " +
                    http + ")";
  else
    error.message = endpoint + ": what answers there is no coordinator, but says HTTP status " + http +
                    "; is it the farm's address (--endpoint, KILN_ENDPOINT)?";
  if (error.code == Code::kUnavailable)
    error.message += "; try again, go on until it answers with --wait 10m, or ask who runs the farm";
  return error;
}

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
          kUnreachable + endpoint +
              "; start it with infra/up, or name another one with --endpoint or KILN_ENDPOINT"};
}

bool isUnreachable(const Error& error) {
  return error.code == Code::kUnavailable && error.message.starts_with(kUnreachable);
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
  return answeredFrom(endpoint, fromGrpc(status));
}

}  // namespace kiln::client
