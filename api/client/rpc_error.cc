#include "api/client/rpc_error.h"

#include "google/rpc/status.pb.h"
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

Error unreachable(const std::string& endpoint) {
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
