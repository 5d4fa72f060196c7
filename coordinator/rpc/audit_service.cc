#include "coordinator/rpc/audit_service.h"

#include "coordinator/audit/affected.h"
#include "coordinator/audit/comparison.h"
#include "coordinator/audit/logged_view.h"
#include "coordinator/rpc/rpc.h"
#include "coordinator/view/audit_view.h"
#include "coordinator/view/job_view.h"
#include "coordinator/view/page_token.h"
#include "storage/index/artifacts/artifact_repository.h"
#include "storage/index/toolchains/toolchain_repository.h"
#include "storage/tree/digest_proto.h"

namespace kiln::service {
namespace {

using postgres::Connection;

// The page that a request asks for.
struct Page {
  int size = 0;
  std::string question, position;

  template <class Request>
  static Result<Page> of(const Request& request) {
    Page out;
    KILN_ASSIGN(out.size, pageSize(request.page_size()));
    out.question = questionOf(request);
    KILN_ASSIGN(out.position, readPageToken(out.question, request.page_token()));
    return out;
  }
  // Where the next page begins, after a list that was asked for one entry more than the page holds.
  template <class Entry, class PositionOf>
  std::string next(std::vector<Entry>& entries, PositionOf positionOf) const {
    if (entries.size() <= static_cast<std::size_t>(size)) return "";
    entries.resize(static_cast<std::size_t>(size));
    return makePageToken(question, positionOf(entries.back()));
  }
};

Result<Digest> digestPosition(const Page& page) {
  return page.position.empty() ? Digest{} : Digest::parse(page.position, 0);
}

// After the statement that a page token names.
Result<std::optional<index::Position>> positionOf(const Page& page) {
  if (page.position.empty()) return std::optional<index::Position>();
  KILN_ASSIGN(const index::Position position, readPosition(page.position));
  return std::optional(position);
}

std::string positionAfter(const index::StatementRecord& last) {
  return positionText({last.bundle.recorded, last.bundle.payload});
}

Result<index::ArtifactRecord> find(Connection& connection, const std::string& instance,
                                   const std::string& text) {
  KILN_ASSIGN(const Digest digest, digestMember("artifact", text, false));
  KILN_ASSIGN(auto artifact, index::loadArtifact(connection, instance, digest));
  if (!artifact) return fail(Code::kNotFound, "no artifact " + digest.text() + " is published here");
  return std::move(*artifact);
}

Result<v1::GetProvenanceResponse> provenance(Connection& connection,
                                             const v1::GetProvenanceRequest& request) {
  KILN_ASSIGN(const Page page, Page::of(request));
  KILN_ASSIGN(const auto artifact, find(connection, request.instance(), request.artifact()));
  KILN_ASSIGN(const auto after, positionOf(page));
  KILN_ASSIGN(auto statements,
              index::listStatementsOf(connection, request.instance(), artifact.digest, after, page.size + 1));
  v1::GetProvenanceResponse out;
  out.set_artifact(artifact.digest.text());
  out.set_target(artifact.target);
  out.set_toolchain_digest(artifact.toolchainDigest.text());
  setTimestamp(out.mutable_published(), artifact.published);
  out.set_next_page_token(page.next(statements, positionAfter));
  for (const index::StatementRecord& statement : statements) *out.add_statements() = toProto(statement);
  if (after) return out;
  KILN_ASSIGN(const auto parts, index::listParts(connection, request.instance(), artifact.toolchainDigest));
  for (const index::PartRecord& part : parts) *out.add_parts() = toProto(part);
  KILN_ASSIGN(const auto admissions,
              index::listAdmissions(connection, request.instance(), {artifact.toolchainDigest}));
  for (const index::AdmissionRecord& admission : admissions) *out.add_admissions() = toProto(admission);
  return out;
}

Result<v1::ListSubmissionsResponse> submissions(Connection& connection,
                                                const v1::ListSubmissionsRequest& request) {
  KILN_ASSIGN(const Page page, Page::of(request));
  KILN_ASSIGN(const Digest artifact, digestMember("artifact", request.artifact(), false));
  KILN_ASSIGN(auto found,
              index::listSubmissions(connection, request.instance(), artifact, page.position, page.size + 1));
  v1::ListSubmissionsResponse out;
  out.set_next_page_token(page.next(found, [](const index::SubmissionRecord& last) { return last.jobId; }));
  for (const index::SubmissionRecord& submission : found) *out.add_submissions() = toProto(submission);
  return out;
}

Result<v1::CompareArtifactsResponse> comparison(storage::BlobStore& blobs, Connection& connection,
                                                const v1::CompareArtifactsRequest& request) {
  KILN_ASSIGN(const Page page, Page::of(request));
  KILN_ASSIGN(const auto first, find(connection, request.instance(), request.first()));
  KILN_ASSIGN(const auto second, find(connection, request.instance(), request.second()));
  KILN_ASSIGN(Comparison compared, compareArtifacts(blobs, connection, first, second));
  const auto nameOf = [](const ProvenanceDifference& difference) {
    return digestOf(difference.what + "\n" + difference.name).hex();
  };
  auto at = compared.differences.begin();
  while (!page.position.empty() && at != compared.differences.end() && nameOf(*at++) != page.position) {
  }
  std::vector<ProvenanceDifference> rest(at, compared.differences.end());
  v1::CompareArtifactsResponse out;
  *out.mutable_first() = toProto(compared.first);
  *out.mutable_second() = toProto(compared.second);
  out.set_next_page_token(page.next(rest, nameOf));
  for (const ProvenanceDifference& difference : rest) {
    v1::Difference& added = *out.add_differences();
    added.set_what(difference.what);
    added.set_name(difference.name);
    added.set_first(difference.first);
    added.set_second(difference.second);
  }
  return out;
}

Result<v1::ListIndexedArtifactsResponse> indexedArtifacts(Connection& connection,
                                                          const v1::ListIndexRequest& request) {
  KILN_ASSIGN(const Page page, Page::of(request));
  KILN_ASSIGN(const Digest after, digestPosition(page));
  KILN_ASSIGN(auto artifacts,
              index::listArtifactsByHash(connection, request.instance(), after, page.size + 1));
  v1::ListIndexedArtifactsResponse out;
  out.set_next_page_token(
      page.next(artifacts, [](const index::ArtifactRecord& last) { return last.digest.hex(); }));
  std::vector<Digest> digests;
  for (const index::ArtifactRecord& artifact : artifacts) digests.push_back(artifact.digest);
  KILN_ASSIGN(auto actions, index::listActionsOf(connection, request.instance(), digests));
  for (const index::ArtifactRecord& artifact : artifacts)
    *out.add_artifacts() = indexedArtifact(artifact, actions[{artifact.digest.hash, 0}]);
  return out;
}

Result<v1::ListIndexedStatementsResponse> indexedStatements(Connection& connection,
                                                            const v1::ListIndexRequest& request) {
  KILN_ASSIGN(const Page page, Page::of(request));
  KILN_ASSIGN(const Digest artifact, digestMember("artifact", request.artifact(), false));
  KILN_ASSIGN(const auto after, positionOf(page));
  KILN_ASSIGN(auto statements,
              index::listStatementsOf(connection, request.instance(), artifact, after, page.size + 1));
  v1::ListIndexedStatementsResponse out;
  out.set_next_page_token(page.next(statements, positionAfter));
  std::vector<Digest> payloads;
  for (const index::StatementRecord& statement : statements)
    payloads.push_back({statement.bundle.payload.hash, 0});
  KILN_ASSIGN(const auto verdicts, index::verdictsOf(connection, request.instance(), payloads));
  for (const index::StatementRecord& statement : statements) {
    const auto verdict = verdicts.find({statement.bundle.payload.hash, 0});
    *out.add_statements() =
        indexedStatement(statement, verdict == verdicts.end() ? nullptr : &verdict->second);
  }
  return out;
}

Result<v1::ListIndexedToolchainsResponse> indexedToolchains(Connection& connection,
                                                            const v1::ListIndexRequest& request) {
  KILN_ASSIGN(const Page page, Page::of(request));
  KILN_ASSIGN(auto toolchains, index::listToolchains(connection, request.instance()));
  std::sort(toolchains.begin(), toolchains.end(),
            [](const auto& a, const auto& b) { return a.label < b.label; });
  std::erase_if(toolchains, [&](const index::ToolchainRecord& each) { return each.label <= page.position; });
  v1::ListIndexedToolchainsResponse out;
  out.set_next_page_token(
      page.next(toolchains, [](const index::ToolchainRecord& last) { return last.label; }));
  for (const index::ToolchainRecord& toolchain : toolchains) {
    v1::IndexedToolchain& added = *out.add_toolchains();
    added.set_label(toolchain.label);
    *added.mutable_toolchain_digest() = kiln::toProto(toolchain.toolchainDigest);
    added.set_description_json(toolchain.description);
    KILN_ASSIGN(const auto parts,
                index::listParts(connection, request.instance(), toolchain.toolchainDigest));
    for (const index::PartRecord& part : parts) *added.add_parts() = toProto(part);
    KILN_ASSIGN(const auto admissions,
                index::listAdmissions(connection, request.instance(), {toolchain.toolchainDigest}));
    for (const index::AdmissionRecord& admission : admissions)
      if (admission.label == toolchain.label) *added.add_admissions() = toProto(admission);
  }
  return out;
}

Result<v1::ListIndexedTuningResponse> indexedTuning(Connection& connection,
                                                    const v1::ListIndexRequest& request) {
  KILN_ASSIGN(const Page page, Page::of(request));
  KILN_ASSIGN(const Digest after, digestPosition(page));
  KILN_ASSIGN(auto records, index::listIndexedTuning(connection, request.instance(), after, page.size + 1));
  v1::ListIndexedTuningResponse out;
  out.set_next_page_token(
      page.next(records, [](const index::IndexedTuning& last) { return last.record.record.hex(); }));
  for (const index::IndexedTuning& record : records) *out.add_records() = toProto(record);
  return out;
}

// Asks with a connection of the pool.
template <class Request, class Response, class F>
grpc::Status ask(postgres::Pool& database, const Request& request, Response* response, F question) {
  auto connection = database.acquire();
  if (!connection) return toGrpc(connection.error());
  return answer(question(**connection, request), response, [](const Response& out) { return out; });
}

}  // namespace

grpc::Status AuditService::ListAffected(grpc::ServerContext*, const v1::ListAffectedRequest* request,
                                        v1::ListAffectedResponse* response) {
  return ask(stores_.database, *request, response,
             [&](Connection& connection, const v1::ListAffectedRequest& asked) {
               return listAffected(stores_.blobs, connection, asked);
             });
}

grpc::Status AuditService::GetProvenance(grpc::ServerContext*, const v1::GetProvenanceRequest* request,
                                         v1::GetProvenanceResponse* response) {
  return ask(stores_.database, *request, response, provenance);
}

grpc::Status AuditService::ListSubmissions(grpc::ServerContext*, const v1::ListSubmissionsRequest* request,
                                           v1::ListSubmissionsResponse* response) {
  return ask(stores_.database, *request, response, submissions);
}

grpc::Status AuditService::CompareArtifacts(grpc::ServerContext*, const v1::CompareArtifactsRequest* request,
                                            v1::CompareArtifactsResponse* response) {
  return ask(stores_.database, *request, response,
             [&](Connection& connection, const v1::CompareArtifactsRequest& asked) {
               return comparison(stores_.blobs, connection, asked);
             });
}

grpc::Status AuditService::ListIndexedArtifacts(grpc::ServerContext*, const v1::ListIndexRequest* request,
                                                v1::ListIndexedArtifactsResponse* response) {
  return ask(stores_.database, *request, response, indexedArtifacts);
}

grpc::Status AuditService::ListIndexedStatements(grpc::ServerContext*, const v1::ListIndexRequest* request,
                                                 v1::ListIndexedStatementsResponse* response) {
  return ask(stores_.database, *request, response, indexedStatements);
}

grpc::Status AuditService::ListIndexedToolchains(grpc::ServerContext*, const v1::ListIndexRequest* request,
                                                 v1::ListIndexedToolchainsResponse* response) {
  return ask(stores_.database, *request, response, indexedToolchains);
}

grpc::Status AuditService::ListIndexedTuning(grpc::ServerContext*, const v1::ListIndexRequest* request,
                                             v1::ListIndexedTuningResponse* response) {
  return ask(stores_.database, *request, response, indexedTuning);
}

grpc::Status AuditService::ListLogged(grpc::ServerContext*, const v1::ListLoggedRequest* request,
                                      v1::ListLoggedResponse* response) {
  return ask(stores_.database, *request, response, listLogged);
}

}  // namespace kiln::service
