// A farm with a toolchain, two artifacts and a tombstone, in this process; its rows may be tampered with.
#pragma once

#include <algorithm>

#include "api/audit/auditor.h"
#include "coordinator/garbage/tombstoner.h"
#include "coordinator/recall/recalls.h"
#include "storage/index/mention/mention.h"
#include "tests/coordinator/farm/farm_fixture.h"
#include "tests/support/sample_lock.h"

namespace kiln::audit::testing {

using service::testing::FarmTest;
using service::testing::kBuilderId;
using service::testing::kLabel;

// Over the wire of the farm in this process.
class FarmSource final : public IndexSource {
 public:
  FarmSource(v1::AuditService::Stub& stub, const service::RecallSource& recalls)
      : stub_(stub), recalls_(recalls) {}
  Result<v1::ListIndexedArtifactsResponse> artifacts(const v1::ListIndexRequest& request) override {
    return ask<v1::ListIndexedArtifactsResponse>(request, &v1::AuditService::Stub::ListIndexedArtifacts);
  }
  Result<v1::ListIndexedStatementsResponse> statements(const v1::ListIndexRequest& request) override {
    return ask<v1::ListIndexedStatementsResponse>(request, &v1::AuditService::Stub::ListIndexedStatements);
  }
  Result<v1::ListIndexedToolchainsResponse> toolchains(const v1::ListIndexRequest& request) override {
    return ask<v1::ListIndexedToolchainsResponse>(request, &v1::AuditService::Stub::ListIndexedToolchains);
  }
  Result<v1::ListIndexedTuningResponse> tuning(const v1::ListIndexRequest& request) override {
    return ask<v1::ListIndexedTuningResponse>(request, &v1::AuditService::Stub::ListIndexedTuning);
  }
  Result<v1::ListLoggedResponse> logged(const v1::ListLoggedRequest& request) override {
    return ask<v1::ListLoggedResponse>(request, &v1::AuditService::Stub::ListLogged);
  }
  Result<std::string> recalls() override {
    KILN_ASSIGN(const auto recalls, service::recallsToServe(recalls_, {}));
    return recalls ? recalls->text : std::string();
  }

 private:
  template <class Response, class Method>
  Result<Response> ask(auto request, Method method) {
    request.set_instance("default");
    grpc::ClientContext context;
    Response response;
    const grpc::Status status = (stub_.*method)(&context, request, &response);
    if (!status.ok()) return fail(static_cast<Code>(status.error_code()), status.error_message());
    return response;
  }
  v1::AuditService::Stub& stub_;
  const service::RecallSource& recalls_;
};

class AuditedFarm : public FarmTest {
 protected:
  explicit AuditedFarm(const postgres::ConnectionOptions& database = index::testing::newIndex())
      : FarmTest(database) {}
  void SetUp() override {
    tree_ = putToolchain();
    EXPECT_TRUE(addToolchain(tree_, "", nullptr, put(testing_support::sampleLock().dump())).ok());
    one_ = worker("w1");
    two_ = worker("w2", "other");
    first_ = built("first", 2, "a model");
    second_ = built("second", 1, "another model");
    EXPECT_TRUE(
        service::addTombstone(farm_.stores, farm_.signatory, "default", second_, "its licence ended"));
  }

  std::string built(const std::string& key, int builders, const std::string& model) {
    v1::Job job = submitted(request(key, builders, model));
    settle(job.id(), {one_.get(), two_.get()});
    job = get(job.id());
    EXPECT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
    return job.artifacts(0).digest();
  }
  std::vector<Finding> audited(int pageSize = 1) {
    FarmSource source(*auditStub_, farm_.recalls);
    std::vector<Finding> findings;
    const BlobReader blobs(*blobs_, "default");
    AuditOptions options = options_;
    options.found = [&](const Finding& finding) { findings.push_back(finding); };
    options.pageSize = pageSize;
    auto audited = auditIndex(source, blobs, root_, clock_.now(), options);
    EXPECT_TRUE(audited) << audited.error().message;
    if (!audited) return findings;
    EXPECT_EQ(audited->counts.findings, findings.size());
    counts_ = audited->counts;
    checkpoint_ = audited->checkpoint;
    withoutInstance_ = audited->withoutInstance;
    return findings;
  }
  void run(const std::string& sql) {
    auto done = pool_.execute("SELECT 1");
    ASSERT_TRUE(done);
    auto connection = pool_.acquire().value();
    Status changed = connection->executeScript("SET session_replication_role = replica; " + sql +
                                               "; SET session_replication_role = origin");
    ASSERT_TRUE(changed) << changed.error().message;
  }
  static std::string sqlOf(const std::string& digest) { return "'\\x" + digest.substr(7) + "'::bytea"; }
  // The finding that a change makes; the change is undone by `undo`.
  void finds(const std::string& change, const std::string& undo, FindingKind kind, const std::string& table) {
    run(change);
    const auto findings = audited();
    EXPECT_TRUE(std::ranges::any_of(findings,
                                    [&](const Finding& finding) {
                                      return finding.kind == kind && finding.table == table &&
                                             !finding.subject.empty();
                                    }))
        << change << ": "
        << (findings.empty() ? "nothing found" : findings[0].table + ": " + findings[0].what);
    run(undo);
    EXPECT_TRUE(audited().empty()) << undo;
  }
  void tampered(const std::string& table, const std::string& change, const std::string& undo) {
    finds("UPDATE " + table + " SET " + change, "UPDATE " + table + " SET " + undo, FindingKind::kTamperedRow,
          table);
  }

  Digest tree_;
  std::unique_ptr<testing_support::FakeWorker> one_, two_;
  std::string first_, second_;
  signing::TrustRoot root_ = signing::developmentRoot(key_.publicKey(), kBuilderId, clock_.now());
  AuditOptions options_;  // but for the sink
  Counts counts_;
  std::vector<std::string> withoutInstance_;
  std::string checkpoint_;
};

}  // namespace kiln::audit::testing
