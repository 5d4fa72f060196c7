// A farm behind mutual TLS, with a caller for each role.
#pragma once

#include <google/protobuf/dynamic_message.h>
#include <grpcpp/generic/generic_stub.h>

#include "coordinator/access/rpc_table.h"
#include "coordinator/drivers/executed_result.h"
#include "coordinator/reapi/known_results.h"
#include "coordinator/rpc/execution_service.h"
#include "coordinator/server/guarded_services.h"
#include "coordinator/server/listen.h"
#include "coordinator/server/live_tls.h"
#include "coordinator/server/rpc_metrics.h"
#include "coordinator/web/published_blobs.h"
#include "manifest/artifact/oci_layout.h"
#include "storage/index/artifacts/referrer_repository.h"
#include "storage/remote/remote_blob_store.h"
#include "storage/remote/resource_name.h"
#include "tests/coordinator/farm/farm_fixture.h"
#include "tests/support/golden.h"
#include "tests/support/kept_spans.h"
#include "tests/support/manual_clock.h"
#include "tests/support/served_rpcs.h"
#include "tests/support/tls_files.h"
#include "tests/support/token_factory.h"

namespace kiln::server::testing {

using access::Role;
using testing_support::TlsFiles;
using testing_support::TokenFactory;

// Has none.
class NoRecalls final : public v1::RecallService::Service {
 public:
  grpc::Status GetRecalls(grpc::ServerContext*, const v1::GetRecallsRequest*, v1::Recalls*) override {
    return grpc::Status::OK;
  }
  grpc::Status PublishRecalls(grpc::ServerContext*, const v1::PublishRecallsRequest*, v1::Recalls*) override {
    return grpc::Status::OK;
  }
};

class NoAttestations final : public v1::AttestationService::Service {
 public:
  grpc::Status AddAttestation(grpc::ServerContext*, const v1::AddAttestationRequest*,
                              v1::Attestation*) override {
    return grpc::Status::OK;
  }
};

class NoTransfers final : public storage::DirectTransfers {
 public:
  Result<storage::BlobRoute> locate(const std::string&, const Digest&) override {
    return storage::BlobRoute{"http://store.test/blob", {}, ""};
  }
  Result<storage::BlobRoute> beginUpload(const std::string&, const Digest&) override {
    return storage::BlobRoute{"http://store.test/upload", {}, "one"};
  }
  Status finishUpload(const std::string&, const Digest&, const std::string&) override { return {}; }
};

// Every caller here has its role in the instance "default" alone, but for "root".
inline constexpr char kGranted[] = "default", kOther[] = "other";

class AccessFixture : public service::testing::FarmTest {
 protected:
  // TLS judges certificates by the machine's clock, the gate by the farm's.
  AccessFixture() : FarmTest(index::testing::newIndex(), SystemClock().now() + std::chrono::minutes(30)) {
    Json grants = Json::array();
    for (Role role : access::kEveryRole) {
      const std::string name(access::roleName(role));
      if (role == Role::kWorker) {
        tls_.worker(name, "op", authority_, clock_.now());
        grants.push_back(grant({{"worker", {{"name", name}, {"operator", "op"}}}}, name, kGranted));
      } else {
        tls_.client(name);
        grants.push_back(grant({{"certificate", {{"subject", "CN=" + name + ",O=people"}}}}, name, kGranted));
      }
    }
    tls_.client("nobody");
    tls_.client("root");
    grants.push_back(grant({{"certificate", {{"subject", "CN=root,O=people"}}}}, "admin", "*"));
    grants.push_back(
        grant({{"token", {{"issuer", kIssuer}, {"subject", "repo:acme/*"}}}}, "submitter", kGranted));
    tls_.write("jwks.json", issuer_.jwks());
    access_ = Json{{"apiVersion", "kiln/v1"},
                   {"kind", "Access"},
                   {"tokenIssuers", {{{"issuer", kIssuer}, {"audience", "kiln"}, {"jwks", "jwks.json"}}}},
                   {"grants", grants}};
    tls_.write("worker-ca.pem", authority_.certificate().pem());
    EXPECT_TRUE(writeAccess(Json::object()));
    serve();
  }
  ~AccessFixture() override { stop(); }

  static Json grant(Json who, const std::string& role, const std::string& instance) {
    who["roles"] = {role};
    who["instances"] = {instance};
    return who;
  }
  // The access file, with more members than grants and issuers.
  Status writeAccess(const Json& more) {
    Json file = access_;
    file.update(more);
    tls_.write("access.json", file.dump());
    KILN_ASSIGN(auto rules, access::AccessRules::load(tls_ / "access.json"));
    gate_.replace(std::move(rules));
    return {};
  }
  void stop() {
    feed_.close();
    if (listener_.server) listener_.server->Shutdown(std::chrono::system_clock::now());
    listener_.server.reset();
  }
  void serve() {
    Options options;
    options.listen = {"localhost:0"};
    options.tokenListen = {"localhost:0"};
    options.tlsCertificate = tls_ / "server.pem";
    options.tlsKey = tls_ / "server.key";
    options.tlsClientCa = tls_ / "ca.pem";
    options.workerCa = tls_ / "worker-ca.pem";
    liveTls_ = LiveTls::open(options, authority_.certificate(), true).value();
    auto listening = listen(options, liveTls_.get(), guarded_.all(), calls_);
    ASSERT_TRUE(listening) << listening.error().message;
    listener_ = std::move(*listening);
  }
  std::string endpoint() const { return listener_.addresses.front(); }
  std::string tokenEndpoint() const { return listener_.addresses.back(); }
  std::shared_ptr<grpc::Channel> as(const std::string& name) {
    return TlsFiles::channel(endpoint(), tls_.certificateOf(name));
  }
  std::string token(const std::string& subject, Duration validFor = std::chrono::minutes(10)) {
    const auto until =
        std::chrono::duration_cast<std::chrono::seconds>((clock_.now() + validFor).time_since_epoch());
    return tls_.token(
        "token",
        issuer_.token(Json{{"iss", kIssuer}, {"aud", "kiln"}, {"sub", subject}, {"exp", until.count()}}));
  }

  // A request of the method's type that names `instance`, with nothing else in it.
  std::string requestFor(const google::protobuf::MethodDescriptor& method, const std::string& instance,
                         const std::string& worker) {
    google::protobuf::DynamicMessageFactory factory;
    std::unique_ptr<google::protobuf::Message> message(factory.GetPrototype(method.input_type())->New());
    const auto set = [&](const char* field, const std::string& value) {
      if (const auto* at = method.input_type()->FindFieldByName(field))
        message->GetReflection()->SetString(message.get(), at, value);
    };
    set("instance", instance);
    set("instance_name", instance);
    const Digest blob = digestOf("a blob that nobody has");
    set("resource_name",
        method.name() == "Read" ? storage::readName(instance, blob) : storage::writeName(instance, blob));
    if (method.name() == "WaitExecution") set("name", instance + "/operations/none");
    if (method.name() == "Synchronize") {
      v1::SynchronizeRequest request;
      request.mutable_worker()->set_certificate_pem(worker);
      return request.SerializeAsString();
    }
    return message->SerializeAsString();
  }
  // Calls it as a stream of one message, which every kind of RPC looks like on the wire.
  static grpc::Status call(const std::shared_ptr<grpc::Channel>& channel, const std::string& rpc,
                           const std::string& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    grpc::CompletionQueue queue;
    grpc::GenericStub stub(channel);
    auto stream = stub.PrepareCall(&context, "/" + rpc, &queue);
    const auto step = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    stream->StartCall(nullptr);
    const grpc::Slice slice(request);
    grpc::ByteBuffer out(&slice, 1), in;
    if (step()) {
      stream->WriteLast(out, {}, nullptr);
      if (step()) do
          stream->Read(&in, nullptr);
        while (step());
    }
    grpc::Status status;
    stream->Finish(&status, nullptr);
    step();
    return status;
  }
  static bool refused(const grpc::Status& status) {
    return status.error_code() == grpc::StatusCode::PERMISSION_DENIED ||
           status.error_code() == grpc::StatusCode::UNAUTHENTICATED;
  }

  static constexpr char kIssuer[] = "https://ci.example.org";
  TlsFiles tls_;
  Json access_;
  TokenFactory issuer_{"ES256"};
  access::Gate gate_{clock_, authority_.certificate()};
  NoRecalls recalls_;
  NoAttestations attestations_;
  NoTransfers transfers_;
  service::ExecutedResults executedResults_{farm_.planning};
  reapi_cache::KnownResults knownResults_{farm_.stores, executedResults_};
  service::ActionCacheService actionCache_{
      farm_.stores, knownResults_, {pool_, clock_, *farm_.leasing.quotas}};
  service::CapabilitiesService capabilities_;
  service::ExecutionService executions_{farm_.planning,  farm_.admissions, farm_.leasing,
                                        farm_.observers, driver_,          knownResults_};
  testing_support::ManualClock steady_;
  prometheus::Registry rpcRegistry_;
  RpcMetrics rpcMetrics_{rpcRegistry_};
  testing_support::KeptSpans spans_;
  ToolCalls toolCalls_{clock_, &spans_, 1};
  CallWatch calls_{steady_, {}, [this](const EndedCall& call) {
                     rpcMetrics_.ended(call.method, call.code, call.took);
                     toolCalls_.ended(call);
                   }};
  service::Instances instances_{pool_};
  const Services services_{jobs_,         workers_,
                           fleet_,        artifacts_,
                           toolchains_,   maintenance_,
                           audits_,       recalls_,
                           attestations_, actionCache_,
                           capabilities_, *blobs_,
                           transfers_,    {pool_, clock_, *farm_.leasing.quotas},
                           executions_};
  GuardedServices guarded_{{gate_, calls_, instances_}, services_};
  std::unique_ptr<LiveTls> liveTls_;
  Listener listener_;
};

}  // namespace kiln::server::testing
