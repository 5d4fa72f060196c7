#include "coordinator/rpc/artifact_service.h"

#include "coordinator/rpc/rpc.h"
#include "coordinator/view/job_view.h"
#include "storage/index/artifacts/artifact_repository.h"

namespace kiln::service {
namespace {

constexpr int kDefaultLimit = 50;
constexpr int kMaxLimit = 1000;

// The digest that the request means. kNotFound and kInvalidArgument for the beginning of none and of several.
Result<Digest> meant(postgres::Connection& connection, const v1::GetArtifactRequest& request) {
  const auto range = shortDigestRange(request.digest());
  if (!range) return digestMember("digest", request.digest(), true);
  KILN_ASSIGN(const auto found, index::findArtifactsIn(connection, request.instance(), *range));
  if (found.empty())
    return fail(Code::kNotFound, "no artifact " + request.digest() + "... is published here");
  if (found.size() > 1) return fail(severalMeant(request.digest(), "artifacts' digests", found));
  return found.front();
}

Result<index::ArtifactRecord> find(postgres::Pool& database, const v1::GetArtifactRequest& request) {
  KILN_ASSIGN(auto connection, database.acquire());
  KILN_ASSIGN(const Digest digest, meant(*connection, request));
  KILN_ASSIGN(auto artifact, index::loadArtifact(*connection, request.instance(), digest));
  if (!artifact) return fail(Code::kNotFound, "no artifact " + digest.text() + " is published here");
  return std::move(*artifact);
}

Result<std::vector<index::ArtifactRecord>> list(postgres::Pool& database,
                                                const v1::ListArtifactsRequest& request) {
  if (request.limit() < 0 || request.limit() > kMaxLimit)
    return fail(Code::kInvalidArgument, "limit must be 1 to 1000, or 0 for 50");
  KILN_ASSIGN(auto connection, database.acquire());
  std::optional<Digest> before;
  if (!request.before().empty()) {
    KILN_ASSIGN(before, digestMember("before", request.before(), false));
    KILN_ASSIGN(const auto known, index::findArtifact(*connection, request.instance(), *before));
    if (!known) return fail(Code::kNotFound, "no artifact " + before->text() + " is published here");
  }
  return index::listArtifacts(*connection, request.instance(),
                              request.limit() == 0 ? kDefaultLimit : request.limit(), before);
}

}  // namespace

grpc::Status ArtifactService::GetArtifact(grpc::ServerContext*, const v1::GetArtifactRequest* request,
                                          v1::Artifact* response) {
  return answer(find(database_, *request), response,
                [](const index::ArtifactRecord& a) { return toProto(a); });
}

grpc::Status ArtifactService::ListArtifacts(grpc::ServerContext*, const v1::ListArtifactsRequest* request,
                                            v1::ListArtifactsResponse* response) {
  auto artifacts = list(database_, *request);
  if (!artifacts) return toGrpc(artifacts.error());
  for (const index::ArtifactRecord& artifact : *artifacts) *response->add_artifacts() = toProto(artifact);
  return grpc::Status::OK;
}

}  // namespace kiln::service
