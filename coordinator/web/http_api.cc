#include "coordinator/web/http_api.h"

#include "api/transcoding/event_stream.h"
#include "api/transcoding/message_json.h"
#include "api/transcoding/request_reader.h"
#include "api/transcoding/upload_path.h"
#include "coordinator/access/peer_address.h"
#include "coordinator/web/blob_upload.h"
#include "coordinator/web/relayed_call.h"
#include "coordinator/web/served_methods.h"
#include "kiln/v1/job.pb.h"
#include "manifest/json/json.h"
#include "storage/tree/digest_proto.h"

namespace kiln::server {
namespace {

namespace pb = google::protobuf;
using gateway::ApiRequest;
using gateway::ApiWriter;
using gateway::HeaderFields;

constexpr char kJsonType[] = "application/json";

access::Credentials credentialsOf(const gateway::Caller& caller) {
  const bool v6 = caller.address.find(':') != std::string::npos;
  // As gRPC names a peer: what counts as one address does so for both.
  const std::string peer = v6 ? "ipv6:[" + caller.address + "]:0" : "ipv4:" + caller.address + ":0";
  return {caller.local, caller.certificate, caller.authorizations, access::sourceOfPeer(peer)};
}

// A page of another site, in a browser that holds a certificate: it gets nothing, and a request of it does
// nothing.
Status checkOrigin(const ApiRequest& request) {
  const bool own = request.origin.empty() || request.origin == "http://" + request.host ||
                   request.origin == "https://" + request.host;
  if (own && !request.ofAnotherSite) return {};
  return fail(Code::kPermissionDenied, "a page of another origin may not call this; call it from a program");
}

// When to come again, by the details of an error; in a second if they do not say.
int retryAfter(const google::rpc::Status& error) {
  v1::JobError detail;
  if (error.details_size() != 1 || !error.details(0).UnpackTo(&detail)) return 1;
  const auto facts = parseJson(detail.details_json());
  if (!facts || !facts->is_object()) return 1;
  const auto found = facts->find("retryAfterSeconds");
  return found != facts->end() && found->is_number_integer() ? found->get<int>() : 1;
}

Status tell(const google::rpc::Status& error, ApiWriter& writer, HeaderFields fields = {},
            unsigned status = 0) {
  const Code code = static_cast<Code>(error.code());
  if (code == Code::kUnauthenticated) fields.emplace_back("WWW-Authenticate", "Bearer realm=\"kiln\"");
  if (code == Code::kResourceExhausted) fields.emplace_back("Retry-After", std::to_string(retryAfter(error)));
  return writer.whole(status != 0 ? status : transcoding::httpStatusOf(code), fields, kJsonType,
                      transcoding::errorJson(error));
}

// What a caller shows who shows nothing is worded for the command line elsewhere.
tl::unexpected<Error> nobody() {
  return fail(Code::kUnauthenticated,
              "nothing says who calls: send \"Authorization: Bearer TOKEN\", show a client certificate at "
              "the side within "
              "TLS, or come over the farm's private Unix socket");
}

bool isOver(const pb::Message& message) {
  const auto* job = dynamic_cast<const v1::Job*>(&message);
  return job && (job->state() == v1::JOB_SUCCEEDED || job->state() == v1::JOB_FAILED ||
                 job->state() == v1::JOB_CANCELLED);
}

}  // namespace

Result<std::unique_ptr<HttpApi>> HttpApi::create(std::shared_ptr<grpc::Channel> channel,
                                                 const access::Gate& gate, const Clock& clock,
                                                 std::string openApi, HttpApiLimits limits) {
  KILN_ASSIGN(auto routes, transcoding::RouteTable::of(servedMethods(*pb::DescriptorPool::generated_pool())));
  return std::unique_ptr<HttpApi>(
      new HttpApi(std::move(channel), gate, clock, std::move(openApi), limits, std::move(routes)));
}

void HttpApi::answer(const ApiRequest& request, ApiWriter& writer) {
  if (const Status may = checkOrigin(request); !may)
    return void(tell(transcoding::errorOf(may.error()), writer));
  if (request.target == gateway::kOpenApiPath) {
    if (request.verb == "GET" || request.verb == "HEAD")
      return void(writer.whole(200, {}, kJsonType, openApi_));
    const Error error{Code::kUnimplemented, "the description is only read: GET and HEAD are served", ""};
    return void(tell(transcoding::errorOf(error), writer, {{"Allow", "GET, HEAD"}}, 405));
  }
  if (const Status done = call(request, writer); !done) tell(transcoding::errorOf(done.error()), writer);
}

Result<access::Sharer> HttpApi::admit(const access::Credentials& shown) {
  if (!shown.local && shown.certificate.empty() && shown.authorizations.empty()) return nobody();
  KILN_ASSIGN(const access::Identity who, gate_.identify(shown));
  access::Sharer sharer{access::describe(who), {}, shown.address};
  if (!std::holds_alternative<access::LocalUser>(who)) KILN_TRY(rate_.take(sharer.caller));
  return sharer;
}

// An error of it has not been told yet.
Status HttpApi::call(const ApiRequest& request, ApiWriter& writer) {
  const std::string_view target = request.target;
  const auto question = target.find('?');
  if (transcoding::isUploadPath(target.substr(0, question))) return upload(request, writer);
  const auto match = routes_.find(request.verb, target.substr(0, question));
  if (!match && match.error().code == Code::kUnimplemented) {
    const Error error{Code::kUnimplemented, match.error().message, ""};
    tell(transcoding::errorOf(error), writer, {{"Allow", match.error().details}}, 405);
    return {};
  }
  const access::Credentials shown = credentialsOf(request.caller);
  KILN_ASSIGN(const access::Sharer sharer, admit(shown));
  if (!match) return fail(match.error());
  // A page of another site cannot send this without asking first, which nobody answers.
  if (match->route->body && request.contentType.substr(0, request.contentType.find(';')) != kJsonType) {
    const Error error{Code::kInvalidArgument, "a POST wants Content-Type: application/json", ""};
    tell(transcoding::errorOf(error), writer, {}, 415);
    return {};
  }
  const std::string_view query = question == std::string_view::npos ? "" : target.substr(question + 1);
  KILN_ASSIGN(const auto message, transcoding::readRequest(*match, query, request.body));
  if (!match->route->method->server_streaming()) return callOnce(*match->route, *message, shown, writer);
  KILN_ASSIGN(const std::uint64_t seen, transcoding::placeFrom(request.lastEventId));
  KILN_ASSIGN(const access::CallLimiter::Permit permit, watches_.acquire(sharer));
  return stream(*match->route, *message, shown, seen, writer);
}

Status HttpApi::upload(const ApiRequest& request, ApiWriter& writer) {
  if (!request.upload) {
    const Error error{Code::kUnimplemented, "a blob is only put here: PUT is served", ""};
    tell(transcoding::errorOf(error), writer, {{"Allow", "PUT"}}, 405);
    return {};
  }
  const access::Credentials shown = credentialsOf(request.caller);
  KILN_ASSIGN(const access::Sharer sharer, admit(shown));
  if (request.target.find('?') != std::string::npos)
    return fail(Code::kInvalidArgument, "query: a blob is put without parameters");
  KILN_ASSIGN(auto name, transcoding::parseUploadPath(request.target));
  const auto size = request.upload->size();
  if (!size) {
    const Error error{Code::kInvalidArgument, "a blob is put with Content-Length, as curl -T FILE sends it",
                      ""};
    tell(transcoding::errorOf(error), writer, {}, 411);
    return {};
  }
  name.digest.size = *size;
  KILN_ASSIGN(const access::CallLimiter::Permit permit, uploads_.acquire(sharer));
  const grpc::Status status =
      uploadBlob(channel_, name.instance, name.digest, *request.upload, shown, limits_.upload);
  if (!status.ok()) {
    tell(transcoding::errorOf(status), writer);
    return {};
  }
  KILN_ASSIGN(const std::string json, transcoding::toJson(toProto(name.digest)));
  writer.whole(200, {}, kJsonType, json + "\n");
  return {};
}

Status HttpApi::callOnce(const transcoding::Route& route, const pb::Message& request,
                         const access::Credentials& shown, ApiWriter& writer) {
  RelayedCall call(channel_, *route.method, request, shown, limits_.call);
  const bool answered = call.next(limits_.call * 2) == RelayedCall::Next::kMessage;
  const std::unique_ptr<pb::Message> answer(answered ? call.read().New() : nullptr);
  if (answered) answer->CopyFrom(call.read());
  if (const grpc::Status status = call.end(); !status.ok() || !answered) {
    tell(transcoding::errorOf(status), writer);
    return {};
  }
  KILN_ASSIGN(const std::string json, transcoding::toJson(*answer));
  writer.whole(200, {}, kJsonType, json + "\n");
  return {};
}

// The head waits for the first answer: a call that is refused has a status of its own.
Status HttpApi::stream(const transcoding::Route& route, const pb::Message& request,
                       const access::Credentials& shown, std::uint64_t seen, ApiWriter& writer) {
  RelayedCall call(channel_, *route.method, request, shown, limits_.watch);
  bool begun = false;
  const auto send = [&](const std::string& text) {
    if (!begun && !writer.begin(transcoding::kEventStreamType)) return false;
    begun = true;
    return writer.write(text).has_value();
  };
  for (;;) {
    const RelayedCall::Next next = call.next(limits_.heartbeat);
    if (next == RelayedCall::Next::kEnd) break;
    if (next == RelayedCall::Next::kNothingYet) {
      if (!send(transcoding::heartbeat())) return {};
      continue;
    }
    const auto place = transcoding::placeOf(call.read());
    if (place && *place <= seen) {
      // A browser that is told nothing new asks again for ever; with this it does not (HTML 9.2.3).
      if (!begun && isOver(call.read())) {
        writer.whole(204, {}, "", "");
        return {};
      }
      continue;
    }
    const auto json = transcoding::toJson(call.read());
    if (!json) return begun ? Status() : fail(json.error());
    if (!send(transcoding::event("message", *json, place))) return {};
  }
  const grpc::Status status = call.end();
  if (!begun && !status.ok()) {
    tell(transcoding::errorOf(status), writer);
  } else if (status.ok()) {
    send(transcoding::event("end", "{}"));
  } else if (status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED) {
    std::string error = transcoding::errorJson(transcoding::errorOf(status));
    error.pop_back();  // an event's data is one line
    send(transcoding::event("error", error));
  }
  return {};
}

}  // namespace kiln::server
