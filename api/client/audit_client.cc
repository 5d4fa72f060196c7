#include "api/client/audit_client.h"

#include <vector>

#include "api/client/request_text.h"
#include "api/client/rpc_error.h"
#include "kiln/v1/audit.grpc.pb.h"

namespace kiln::client {
namespace {

constexpr std::chrono::seconds kDeadline{60};

using Service = v1::AuditService::Stub;

}  // namespace

struct AuditClient::Stubs {
  std::vector<std::unique_ptr<Service>> at;  // by the place of their endpoint
};

AuditClient::AuditClient(const Client& client) : client_(client), stubs_(std::make_unique<Stubs>()) {
  for (const storage::Endpoint& one : client.endpoints().all())
    stubs_->at.push_back(std::make_unique<Service>(one.channel));
}
AuditClient::~AuditClient() = default;

template <class Response, class Method, class Request>
Result<Response> AuditClient::call(Method method, Request& request) {
  request.set_instance(client_.instance());
  KILN_TRY(checkText(request));
  return client_.retried([&](const storage::Endpoint& at) -> Result<Response> {
    KILN_TRY(checkListener(*at.channel, at.name));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDeadline);
    Response response;
    const grpc::Status status = (*stubs_->at[at.place].*method)(&context, request, &response);
    if (!status.ok()) return fail(rpcError(status, *at.channel, at.name));
    return response;
  });
}

Result<v1::ListAffectedResponse> AuditClient::affected(v1::ListAffectedRequest request) {
  return call<v1::ListAffectedResponse>(&Service::ListAffected, request);
}
Result<v1::GetProvenanceResponse> AuditClient::provenance(v1::GetProvenanceRequest request) {
  return call<v1::GetProvenanceResponse>(&Service::GetProvenance, request);
}
Result<v1::ListSubmissionsResponse> AuditClient::submissions(v1::ListSubmissionsRequest request) {
  return call<v1::ListSubmissionsResponse>(&Service::ListSubmissions, request);
}
Result<v1::CompareArtifactsResponse> AuditClient::compare(v1::CompareArtifactsRequest request) {
  return call<v1::CompareArtifactsResponse>(&Service::CompareArtifacts, request);
}
Result<v1::ListIndexedArtifactsResponse> AuditClient::indexedArtifacts(v1::ListIndexRequest request) {
  return call<v1::ListIndexedArtifactsResponse>(&Service::ListIndexedArtifacts, request);
}
Result<v1::ListIndexedStatementsResponse> AuditClient::indexedStatements(v1::ListIndexRequest request) {
  return call<v1::ListIndexedStatementsResponse>(&Service::ListIndexedStatements, request);
}
Result<v1::ListIndexedToolchainsResponse> AuditClient::indexedToolchains(v1::ListIndexRequest request) {
  return call<v1::ListIndexedToolchainsResponse>(&Service::ListIndexedToolchains, request);
}
Result<v1::ListIndexedTuningResponse> AuditClient::indexedTuning(v1::ListIndexRequest request) {
  auto found = call<v1::ListIndexedTuningResponse>(&Service::ListIndexedTuning, request);
  if (!found && found.error().code == Code::kUnimplemented) return v1::ListIndexedTuningResponse();
  return found;
}
Result<v1::ListLoggedResponse> AuditClient::logged(v1::ListLoggedRequest request) {
  return call<v1::ListLoggedResponse>(&Service::ListLogged, request);
}

}  // namespace kiln::client
