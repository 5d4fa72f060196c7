// The services of kiln.v1 over HTTP with JSON. No second implementation: what a request asks for is read from
// the protos' annotations (api/transcoding), and goes on as an RPC within this process, through the same
// guards. Blobs are put beside them (blob_upload.h).
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "api/gateway/api.h"
#include "api/transcoding/route_table.h"
#include "coordinator/access/call_limiter.h"
#include "coordinator/access/gate.h"
#include "coordinator/access/rate_limiter.h"

namespace kiln::server {

struct HttpApiLimits {
  access::RateLimits rate;
  Duration call = std::chrono::minutes(1);        // until a call has its answer
  Duration watch = std::chrono::hours(2);         // of a stream, as of a connection of gRPC
  Duration heartbeat = std::chrono::seconds(15);  // of a stream that is quiet
  std::size_t watches = 48;                       // streams at once: each holds a thread of the gateway
  Duration upload = std::chrono::hours(2);        // of one blob
  std::size_t uploads = 32;                       // at once: each holds a thread of the gateway
};

// Thread safe.
class HttpApi final : public gateway::Api {
 public:
  // `channel` leads to a server of this process that believes what relay() says (access/relayed_caller.h).
  // `gate` and `clock` must outlive it. kInvalidArgument for annotations that cannot be served.
  static Result<std::unique_ptr<HttpApi>> create(std::shared_ptr<grpc::Channel> channel,
                                                 const access::Gate& gate, const Clock& clock,
                                                 std::string openApi, HttpApiLimits limits = {});

  void answer(const gateway::ApiRequest& request, gateway::ApiWriter& writer) override;

 private:
  HttpApi(std::shared_ptr<grpc::Channel> channel, const access::Gate& gate, const Clock& clock,
          std::string openApi, const HttpApiLimits& limits, transcoding::RouteTable routes)
      : channel_(std::move(channel)),
        gate_(gate),
        openApi_(std::move(openApi)),
        limits_(limits),
        routes_(std::move(routes)),
        rate_(clock, limits.rate),
        watches_(limits.watches),
        uploads_(limits.uploads) {}

  // Who calls, once it is known that they may call something now.
  Result<access::Sharer> admit(const access::Credentials& shown);
  Status call(const gateway::ApiRequest& request, gateway::ApiWriter& writer);
  Status upload(const gateway::ApiRequest& request, gateway::ApiWriter& writer);
  Status callOnce(const transcoding::Route& route, const google::protobuf::Message& request,
                  const access::Credentials& shown, gateway::ApiWriter& writer);
  Status stream(const transcoding::Route& route, const google::protobuf::Message& request,
                const access::Credentials& shown, std::uint64_t seen, gateway::ApiWriter& writer);

  const std::shared_ptr<grpc::Channel> channel_;
  const access::Gate& gate_;
  const std::string openApi_;
  const HttpApiLimits limits_;
  const transcoding::RouteTable routes_;
  access::RateLimiter rate_;
  access::CallLimiter watches_, uploads_;
};

}  // namespace kiln::server
