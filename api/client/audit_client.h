// kiln.v1.AuditService as typed calls: one page each, with the client's retry policy. The instance is filled
// in.
#pragma once

#include <memory>
#include <string>

#include "api/client/client.h"
#include "kiln/v1/audit.pb.h"

namespace kiln::client {

// Thread safe. Of a client that outlives it.
class AuditClient {
 public:
  explicit AuditClient(const Client& client);
  ~AuditClient();

  Result<v1::ListAffectedResponse> affected(v1::ListAffectedRequest request);
  Result<v1::GetProvenanceResponse> provenance(v1::GetProvenanceRequest request);
  Result<v1::ListSubmissionsResponse> submissions(v1::ListSubmissionsRequest request);
  Result<v1::CompareArtifactsResponse> compare(v1::CompareArtifactsRequest request);
  Result<v1::ListIndexedArtifactsResponse> indexedArtifacts(v1::ListIndexRequest request);
  Result<v1::ListIndexedStatementsResponse> indexedStatements(v1::ListIndexRequest request);
  Result<v1::ListIndexedToolchainsResponse> indexedToolchains(v1::ListIndexRequest request);
  // Nothing of a farm of an earlier release, which does not tell.
  Result<v1::ListIndexedTuningResponse> indexedTuning(v1::ListIndexRequest request);
  Result<v1::ListLoggedResponse> logged(v1::ListLoggedRequest request);

 private:
  struct Stubs;
  template <class Response, class Method, class Request>
  Result<Response> call(Method method, Request& request);

  const Client& client_;
  std::unique_ptr<Stubs> stubs_;
};

}  // namespace kiln::client
