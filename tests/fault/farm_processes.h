// Real processes of a farm: PostgreSQL, kiln-signer and kiln-coordinator, on sockets in a directory of their
// own.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "kiln/v1/artifact.grpc.pb.h"
#include "kiln/v1/job.grpc.pb.h"
#include "manifest/json/json.h"
#include "manifest/spec/compile_spec.h"
#include "signing/bundle/bundle.h"
#include "signing/keys/certificate.h"
#include "signing/log/verifier_key.h"
#include "storage/blob/upload.h"
#include "storage/postgres/connection.h"
#include "storage/remote/remote_blob_store.h"
#include "storage/tree/tree_builder.h"
#include "tests/support/child_process.h"
#include "tests/support/postgres_server.h"
#include "tests/support/sample_request.h"
#include "tests/support/temp_directory.h"

namespace kiln::fault {

using std::chrono::milliseconds;
using testing_support::ChildProcess;

// Waits for something that another process does. The limit is only for a hang.
template <class F>
bool eventually(F condition, std::chrono::seconds limit = std::chrono::seconds(60)) {
  auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return true;
}

class FarmProcesses {
 public:
  // On a new database of `postgres`.
  explicit FarmProcesses(testing_support::PostgresServer& postgres) : database_(postgres.createDatabase()) {
    std::filesystem::create_directory(directory_ / "keys");
    EXPECT_TRUE(key_.save(directory_ / "keys/signer.pem"));
    std::ofstream(directory_ / "keys/worker-ca.pem") << authority_.certificate().pem();
    ChildProcess makeKey(
        {KILN_BIN "/kiln-log", "make-key", "--origin", "log.fault.example", "--out", directory_ / "keys/log"},
        directory_ / "log.log");
    EXPECT_EQ(makeKey.wait(), 0);
    startSigner();
    startLog();
  }
  // The place for a farm with the keys of `lost`: an empty directory and a new database, nothing started.
  FarmProcesses(testing_support::PostgresServer& postgres, const FarmProcesses& lost)
      : database_(postgres.createDatabase()), key_(lost.key_), authority_(lost.authority_) {}

  void startSigner() {
    signer_ = std::make_unique<ChildProcess>(
        std::vector<std::string>{KILN_BIN "/kiln-signer", "serve", "--listen",
                                 "unix:" + (directory_ / "signer.sock"), "--key",
                                 directory_ / "keys/signer.pem", "--store", directory_ / "store",
                                 "--worker-ca", directory_ / "keys/worker-ca.pem", "--database", database_},
        directory_ / "signer.log");
  }
  void startLog(const std::vector<std::string>& more = {}) {
    std::vector<std::string> command{KILN_BIN "/kiln-log", "serve",   "--key",   directory_ / "keys/log",
                                     "--database",         database_, "--tiles", directory_ / "tiles"};
    command.insert(command.end(), more.begin(), more.end());
    log_ = std::make_unique<ChildProcess>(command, directory_ / "log.log");
  }
  signing::VerifierKey logKey() const {
    return signing::loadVerifierKey(directory_ / "keys/log.vkey").value();
  }
  // With `dieAt`, one that kills itself at that point.
  void startCoordinator(const std::string& dieAt = "", int leaseSeconds = 5,
                        const std::vector<std::string>& more = {}) {
    std::vector<std::string> command{
        dieAt.empty() ? KILN_BIN "/kiln-coordinator" : KILN_BIN "/kiln-dying-coordinator",
        "--listen",
        endpoint(),
        "--database",
        database_,
        "--store",
        directory_ / "store",
        "--signer",
        "unix:" + (directory_ / "signer.sock"),
        "--log-key",
        directory_ / "keys/log.vkey",
        "--worker-ca",
        directory_ / "keys/worker-ca.pem",
        "--builder-id",
        "urn:kiln:builder:fault",
        "--http",
        "127.0.0.1:0",
        "--http-port-file",
        directory_ / "http.port",
        "--lease-seconds",
        std::to_string(leaseSeconds),
        "--grace-seconds",
        "2"};
    command.insert(command.end(), more.begin(), more.end());
    coordinator_ = std::make_unique<ChildProcess>(command, directory_ / "coordinator.log",
                                                  std::vector<std::string>{"KILN_DIE_AT=" + dieAt});
    if (!channel_) connect();
  }
  // One channel for all coordinators that follow each other on the socket; it tries again quickly.
  void connect() {
    grpc::ChannelArguments arguments;
    arguments.SetInt("grpc.use_local_subchannel_pool", 1);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
    channel_ = grpc::CreateCustomChannel(endpoint(), grpc::InsecureChannelCredentials(), arguments);
    jobs_ = v1::JobService::NewStub(channel_);
    blobs_ = std::make_unique<storage::RemoteBlobStore>(channel_);
  }
  // `waitForReady`: waits for a connection rather than fail while there is none.
  grpc::Status list(bool waitForReady = false) {
    grpc::ClientContext context;
    context.set_wait_for_ready(waitForReady);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(15));
    v1::ListJobsRequest request;
    request.set_instance("default");
    v1::ListJobsResponse response;
    return jobs_->ListJobs(&context, request, &response);
  }
  bool ready() {
    return eventually([&] { return list(true).ok(); });
  }
  bool addToolchain(const std::string& compiler = "the compiler", bool executable = true) {
    Digest binary = storage::putBlob(*blobs_, "default", asBytes(compiler)).value();
    Json description{{"apiVersion", "kiln/v1"},
                     {"kind", "Toolchain"},
                     {"name", "kiln"},
                     {"version", "0.1.0"},
                     {"label", "kiln-test"},
                     {"components",
                      {{{"name", "kiln-cc"},
                        {"version", "0.1.0"},
                        {"path", "bin/kiln-cc"},
                        {"digest", binary.text()},
                        {"size", std::to_string(binary.size)}}}},
                     {"targets", {"cpu:x86-64-v3", "cuda:sm_90a"}}};
    std::string text = toCanonicalJson(description).value();
    storage::TreeBuilder tree;
    EXPECT_TRUE(tree.addFile("bin/kiln-cc", binary, executable));
    EXPECT_TRUE(
        tree.addFile("toolchain.json", storage::putBlob(*blobs_, "default", asBytes(text)).value(), false));
    storage::BuiltTree built = tree.build();
    EXPECT_TRUE(storage::uploadMissing(*blobs_, "default", built.directories));
    v1::AddToolchainRequest request;
    request.set_instance("default");
    *request.mutable_toolchain_digest() = toProto(built.root);
    grpc::Status status;
    (void)eventually([&] {  // the signer may still be starting
      grpc::ClientContext context;
      v1::Toolchain response;
      status = v1::ToolchainService::NewStub(channel_)->AddToolchain(&context, request, &response);
      return status.error_code() != grpc::StatusCode::UNAVAILABLE;
    });
    EXPECT_TRUE(status.ok()) << status.error_message();
    toolchain_ = "sha256:" + built.root.hex();
    return status.ok();
  }
  v1::SubmitJobRequest request(const std::string& key, int builders = 1) {
    return testing_support::sampleRequest(key, builders,
                                          storage::putBlob(*blobs_, "default", asBytes("a model")).value());
  }
  grpc::Status submit(const v1::SubmitJobRequest& request, v1::Job* job) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    return jobs_->SubmitJob(&context, request, job);
  }
  // The job now; one without an id while nobody answers.
  v1::Job get(const std::string& id) {
    v1::GetJobRequest request;
    request.set_instance("default");
    request.set_id(id);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(15));
    v1::Job job;
    return jobs_->GetJob(&context, request, &job).ok() ? job : v1::Job();
  }
  int count(const std::string& table) {
    auto connection = postgres::Connection::open({.conninfo = database_});
    auto rows = connection->execute("SELECT count(*) AS n FROM " + table);
    return **rows->first([](const postgres::Row& row) { return row.get<int>("n"); });
  }
  // The provenance of an artifact that was published once.
  signing::Bundle bundleOf(const std::string& artifact) {
    v1::GetArtifactRequest request;
    request.set_instance("default");
    request.set_digest(artifact);
    grpc::ClientContext context;
    v1::Artifact out;
    EXPECT_TRUE(v1::ArtifactService::NewStub(channel_)->GetArtifact(&context, request, &out).ok());
    EXPECT_EQ(out.bundles_size(), 3);
    const Digest digest = fromProto(out.bundles(0)).value();
    return signing::parseBundle(storage::getBlob(*blobs_, "default", digest, 1 << 20).value()).value();
  }
  std::string signerLog() {
    std::ifstream file(directory_ / "signer.log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string log() {
    std::ifstream file(directory_ / "coordinator.log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string endpoint() const { return "unix:" + (directory_ / "coordinator.sock"); }

  SystemClock clock_;
  testing_support::TempDirectory directory_;
  std::string database_;
  std::string toolchain_;  // the tree that was added last
  signing::PrivateKey key_ = signing::PrivateKey::create().value();
  signing::Authority authority_ = signing::Authority::create(clock_.now()).value();
  std::unique_ptr<ChildProcess> signer_, log_, coordinator_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::JobService::Stub> jobs_;
  std::unique_ptr<storage::RemoteBlobStore> blobs_;
};

}  // namespace kiln::fault
