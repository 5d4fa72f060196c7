#include "signing/server/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <chrono>

#include "kiln/v1/signer.grpc.pb.h"
#include "manifest/base/digest.h"
#include "manifest/base/printable.h"
#include "storage/remote/channel.h"

namespace kiln::signing {
namespace {

constexpr int kMaxMessageBytes = 32 << 20;

grpc::Status toStatus(const Error& error) {
  return {static_cast<grpc::StatusCode>(error.code), error.message};
}

class Service final : public kiln::v1::SignerService::Service {
 public:
  explicit Service(Signer& signer) : signer_(signer) {}

  grpc::Status Sign(grpc::ServerContext*, const kiln::v1::SignRequest* message,
                    kiln::v1::SignResponse* response) override {
    SignRequest request{message->instance(),
                        message->statement(),
                        message->subject_size(),
                        {message->receipts_json().begin(), message->receipts_json().end()}};
    auto bundle = signer_.sign(request);
    std::string payload = digestOf(request.statement).hex();
    if (!bundle) {
      spdlog::warn("sign refused payload={} instance={} code={} why=\"{}\"", payload,
                   printable(request.instance), codeName(bundle.error().code),
                   printable(bundle.error().message, 2000));
      return toStatus(bundle.error());
    }
    spdlog::info("sign done payload={} instance={} receipts={}", payload, printable(request.instance),
                 request.receipts.size());
    response->set_bundle(*bundle);
    return grpc::Status::OK;
  }

  grpc::Status GetPublicKey(grpc::ServerContext*, const kiln::v1::GetPublicKeyRequest*,
                            kiln::v1::GetPublicKeyResponse* response) override {
    auto pem = signer_.publicKeyPem();
    if (!pem) return toStatus(pem.error());
    response->set_spki_pem(*pem);
    return grpc::Status::OK;
  }

 private:
  Signer& signer_;
};

class GrpcServer final : public SignerServer {
 public:
  explicit GrpcServer(Signer& signer) : service_(signer) {}
  ~GrpcServer() override { stop(); }

  Status listen(const std::string& address) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.SetMaxSendMessageSize(kMaxMessageBytes);
    builder.RegisterService(&service_);
    mode_t before = ::umask(0077);  // the socket is this user's alone
    server_ = builder.BuildAndStart();
    ::umask(before);
    if (!server_) return fail(Code::kUnavailable, address + ": cannot listen there");
    return {};
  }

  void stop() override {
    if (server_) server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(3));
  }

 private:
  Service service_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

Result<std::unique_ptr<SignerServer>> SignerServer::start(const std::string& address, Signer& signer) {
  if (!address.starts_with("unix:/"))
    return fail(Code::kInvalidArgument, "--listen " + address + ": the signer listens on unix:/path only");
  if (auto fits = storage::checkSocketPath(address); !fits) return fail(fits.error().in("--listen"));
  auto server = std::make_unique<GrpcServer>(signer);
  KILN_TRY(server->listen(address));
  return server;
}

}  // namespace kiln::signing
