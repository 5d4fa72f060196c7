#include "signing/server/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <chrono>

#include "kiln/v1/signer.grpc.pb.h"
#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "storage/logging/log.h"
#include "storage/remote/channel.h"

namespace kiln::signing {
namespace {

constexpr int kMaxMessageBytes = 32 << 20;

grpc::Status toStatus(const Error& error) {
  return {static_cast<grpc::StatusCode>(error.code), error.message};
}

class Service final : public kiln::v1::SignerService::Service {
 public:
  Service(Signer& signer, tracing::SpanSink* spans) : signer_(signer), spans_(spans) {}

  grpc::Status Sign(grpc::ServerContext* context, const kiln::v1::SignRequest* message,
                    kiln::v1::SignResponse* response) override {
    SignRequest request{message->instance(),
                        message->statement(),
                        message->subject_size(),
                        {message->receipts_json().begin(), message->receipts_json().end()}};
    const std::string caller = traceOf(*context);
    tracing::Scope scope(spans_, tracing::parseTraceparent(caller), "sign", clock_,
                         tracing::SpanKind::kServer);
    // The log's span stands beside where nobody watches the signer.
    request.trace = scope.on() ? scope.header() : caller;
    auto bundle = signer_.sign(request);
    std::string payload = digestOf(request.statement).hex();
    scope.note("kiln.payload", payload);
    const std::string trace = tracing::traceOf(caller);
    if (!bundle) scope.failed(bundle.error().message);
    if (!bundle) {
      logging::warning("sign refused", {{"payload", payload},
                                        {"trace", trace},
                                        {"instance", request.instance},
                                        {"code", std::string(codeName(bundle.error().code))},
                                        {"why", bundle.error().message}});
      return toStatus(bundle.error());
    }
    logging::info("sign done", {{"payload", payload},
                                {"trace", trace},
                                {"instance", request.instance},
                                {"receipts", std::to_string(request.receipts.size())}});
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
  // What the caller names, if it is a trace that is sampled; else "".
  static std::string traceOf(const grpc::ServerContext& context) {
    const auto& metadata = context.client_metadata();
    const auto found = metadata.find(tracing::kTraceparent);
    if (found == metadata.end()) return "";
    const auto caller = tracing::parseTraceparent({found->second.data(), found->second.size()});
    return caller && caller->sampled ? tracing::traceparent(*caller) : "";
  }

  Signer& signer_;
  tracing::SpanSink* const spans_;
  const SystemClock clock_;
};

class GrpcServer final : public SignerServer {
 public:
  GrpcServer(Signer& signer, tracing::SpanSink* spans) : service_(signer, spans) {}
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

Result<std::unique_ptr<SignerServer>> SignerServer::start(const std::string& address, Signer& signer,
                                                          tracing::SpanSink* spans) {
  if (!address.starts_with("unix:/"))
    return fail(Code::kInvalidArgument, "--listen " + address + ": the signer listens on unix:/path only");
  if (auto fits = storage::checkSocketPath(address); !fits) return fail(fits.error().in("--listen"));
  auto server = std::make_unique<GrpcServer>(signer, spans);
  KILN_TRY(server->listen(address));
  return server;
}

}  // namespace kiln::signing
