// A whole coordinator in the test's process: real PostgreSQL, real local store, real signer without its wire,
// real gRPC services over an in-process channel; the clock stands still and the driver is moved by hand.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "coordinator/drivers/job_driver.h"
#include "coordinator/recall/recalls.h"
#include "coordinator/rpc/artifact_service.h"
#include "coordinator/rpc/audit_service.h"
#include "coordinator/rpc/fleet_service.h"
#include "coordinator/rpc/job_service.h"
#include "coordinator/rpc/maintenance_service.h"
#include "coordinator/rpc/toolchain_service.h"
#include "coordinator/rpc/worker_service.h"
#include "coordinator/server/farm.h"
#include "signing/server/local_signer.h"
#include "signing/server/logged_records.h"
#include "storage/blob/local_blob_store.h"
#include "storage/tree/tree_builder.h"
#include "tests/storage/index/index_fixture.h"
#include "tests/support/fake_worker.h"
#include "tests/support/manual_clock.h"
#include "tests/support/sample_request.h"
#include "tests/support/sample_spec.h"
#include "tests/support/temp_directory.h"

namespace kiln::service::testing {

inline constexpr char kBuilderId[] = "urn:kiln:builder:test";
inline constexpr char kLabel[] = "kiln-0.1.0+llvm22.1.8";

// Can be told to be away.
class SwitchedSigner final : public signing::Signer {
 public:
  explicit SwitchedSigner(signing::Signer& base) : base_(base) {}
  Result<std::string> sign(const signing::SignRequest& request) override {
    ++calls;
    if (refusing) return fail(Code::kFailedPrecondition, "not signed here");
    if (away) return fail(Code::kUnavailable, "signer not reachable");
    return instead ? instead->sign(request) : base_.sign(request);
  }
  Result<std::string> publicKeyPem() override {
    if (away) return fail(Code::kUnavailable, "signer not reachable");
    return instead ? instead->publicKeyPem() : base_.publicKeyPem();
  }
  bool away = false;
  bool refusing = false;
  int calls = 0;
  signing::Signer* instead = nullptr;  // asked in place of the base

 private:
  signing::Signer& base_;
};

class FarmTest : public ::testing::Test {
 protected:
  // On an empty database unless another is named.
  explicit FarmTest(const postgres::ConnectionOptions& database = index::testing::newIndex(),
                    TimePoint start = testing_support::ManualClock().now())
      : clock_(start), pool_(database, 8) {
    for (grpc::Service* service : std::initializer_list<grpc::Service*>{
             &jobs_, &workers_, &fleet_, &artifacts_, &toolchains_, &maintenance_, &audits_})
      builder_.RegisterService(service);
    server_ = builder_.BuildAndStart();
    channel_ = server_->InProcessChannel({});
    jobStub_ = v1::JobService::NewStub(channel_);
    toolchainStub_ = v1::ToolchainService::NewStub(channel_);
    artifactStub_ = v1::ArtifactService::NewStub(channel_);
    auditStub_ = v1::AuditService::NewStub(channel_);
    fleetStub_ = v1::FleetService::NewStub(channel_);
  }
  ~FarmTest() override {
    feed_.close();
    server_->Shutdown();
  }

  Digest put(std::string_view bytes) { return storage::putBlob(*blobs_, instance_, asBytes(bytes)).value(); }

  // A tree with a toolchain.json that names one component.
  Digest putToolchain(const std::string& label = kLabel, const std::string& compiler = "the compiler") {
    Digest binary = put(compiler);
    Json description{{"apiVersion", "kiln/v1"},
                     {"kind", "Toolchain"},
                     {"name", "kiln"},
                     {"version", "0.1.0"},
                     {"label", label},
                     {"components",
                      {{{"name", "kiln-cc"},
                        {"version", "0.1.0"},
                        {"path", "bin/kiln-cc"},
                        {"digest", binary.text()},
                        {"size", std::to_string(binary.size)}}}},
                     {"targets", toolchainTargets_}};
    storage::TreeBuilder tree;
    EXPECT_TRUE(tree.addFile("bin/kiln-cc", binary, true));
    EXPECT_TRUE(tree.addFile("toolchain.json", put(toCanonicalJson(description).value()), false));
    storage::BuiltTree built = tree.build();
    EXPECT_TRUE(storage::uploadMissing(*blobs_, instance_, built.directories));
    return built.root;
  }
  grpc::Status addToolchain(const Digest& tree, const std::string& label = "", v1::Toolchain* out = nullptr,
                            const std::optional<Digest>& lock = {}, bool makeDefault = false) {
    v1::AddToolchainRequest request;
    request.set_instance(instance_);
    request.set_label(label);
    *request.mutable_toolchain_digest() = toProto(tree);
    if (lock) *request.mutable_lock() = toProto(*lock);
    request.set_make_default(makeDefault);
    grpc::ClientContext context;
    v1::Toolchain response;
    return toolchainStub_->AddToolchain(&context, request, out ? out : &response);
  }

  std::unique_ptr<testing_support::FakeWorker> worker(const std::string& name,
                                                      const std::string& operatorName = "op") {
    auto worker = std::make_unique<testing_support::FakeWorker>(
        channel_, *blobs_, authority_, directory_.path(), name, operatorName, clock_.now());
    // A busy machine may not answer in the time that an idle call has.
    bool isKnown = false;
    for (int calls = 0; calls < 5 && !isKnown; ++calls) isKnown = worker->synchronize({}).has_value();
    EXPECT_TRUE(isKnown);
    return worker;
  }

  // An uploaded model for cpu:x86-64-v3.
  v1::SubmitJobRequest request(const std::string& key, int builders = 1,
                               const std::string& model = "a model") {
    v1::SubmitJobRequest out = testing_support::sampleRequest(key, builders, put(model));
    out.set_instance(instance_);
    return out;
  }
  grpc::Status submit(const v1::SubmitJobRequest& request, v1::Job* job) {
    grpc::ClientContext context;
    return jobStub_->SubmitJob(&context, request, job);
  }
  v1::Job submitted(const v1::SubmitJobRequest& request) {
    v1::Job job;
    grpc::Status status = submit(request, &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return job;
  }
  v1::Job get(const std::string& id) {
    v1::GetJobRequest request;
    request.set_instance("default");
    request.set_id(id);
    grpc::ClientContext context;
    v1::Job job;
    grpc::Status status = jobStub_->GetJob(&context, request, &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return job;
  }
  Status advance(const std::string& id) { return driver_.advance({"default", id}); }
  // Workers and driver take turns until nobody has anything to do.
  void settle(const std::string& id, std::initializer_list<testing_support::FakeWorker*> workers) {
    for (int round = 0; round < 10; ++round) {
      int done = 0;
      for (testing_support::FakeWorker* worker : workers) {
        auto ran = worker->work();
        ASSERT_TRUE(ran) << ran.error().message;
        done += *ran;
      }
      Status status = advance(id);
      ASSERT_TRUE(status) << status.error().message;
      if (done == 0) return;
    }
  }
  v1::Artifact artifact(const std::string& digest) {
    v1::GetArtifactRequest request;
    request.set_instance("default");
    request.set_digest(digest);
    grpc::ClientContext context;
    v1::Artifact out;
    grpc::Status status = artifactStub_->GetArtifact(&context, request, &out);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }

  Result<signing::Recalls> putInForce(const RecallSettings& settings, const std::string& document) {
    return publishRecalls(farm_.recalls, settings, document, clock_, farm_.observers);
  }

  std::string instance_ = "default";  // of uploads and requests
  std::vector<std::string> toolchainTargets_{"cpu:x86-64-v3"};
  testing_support::ManualClock clock_;
  testing_support::TempDirectory directory_;
  std::unique_ptr<storage::LocalBlobStore> blobs_ =
      storage::LocalBlobStore::open({.directory = directory_ / "store", .clock = &clock_}).value();
  signing::Authority authority_ = signing::Authority::create(clock_.now()).value();
  signing::PrivateKey key_ = signing::PrivateKey::create().value();
  postgres::Pool pool_;
  signing::LoggedRecords records_{pool_, signing::LegacyRecords(""), key_.publicKey(), clock_};
  signing::LocalSigner localSigner_{key_, authority_.certificate(), records_, *blobs_, clock_};
  SwitchedSigner signer_{localSigner_};
  std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  Metrics metrics_{*registry_};
  queue::ChangeFeed feed_;
  server::Farm farm_{.stores = {clock_, pool_, *blobs_},
                     .signatory = {signer_, {kBuilderId, {{"kiln", "0.1.0"}}}},
                     .observers = {metrics_},
                     .leasing = {.feed = feed_,
                                 .queue = queue::LeaseQueue(clock_, {}),
                                 .workerAuthority = authority_.certificate(),
                                 .graceUntil = clock_.now()}};
  JobDriver driver_{farm_.planning, farm_.leasing, farm_.observers};
  JobService jobs_{farm_.planning, farm_.admissions, farm_.leasing, farm_.observers, driver_};
  WorkerService workers_{farm_.stores,    farm_.signatory, farm_.leasing,
                         farm_.observers, farm_.recalls,   driver_};
  FleetService fleet_{farm_.stores, farm_.leasing};
  ArtifactService artifacts_{pool_};
  ToolchainService toolchains_{farm_.admissions};
  AuditService audits_{farm_.stores};
  GarbageCollector garbage_{farm_.stores, farm_.signatory, farm_.observers, *blobs_, {}};
  MaintenanceService maintenance_{farm_.stores, farm_.signatory, garbage_};
  grpc::ServerBuilder builder_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::JobService::Stub> jobStub_;
  std::unique_ptr<v1::ToolchainService::Stub> toolchainStub_;
  std::unique_ptr<v1::ArtifactService::Stub> artifactStub_;
  std::unique_ptr<v1::AuditService::Stub> auditStub_;
  std::unique_ptr<v1::FleetService::Stub> fleetStub_;
};

}  // namespace kiln::service::testing
