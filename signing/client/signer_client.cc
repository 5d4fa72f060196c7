#include "signing/client/signer_client.h"

#include <grpcpp/grpcpp.h>

#include "kiln/v1/signer.grpc.pb.h"
#include "storage/tracing/trace_context.h"

namespace kiln::signing {
namespace {

Error toError(const grpc::Status& status, const std::string& address) {
  Error error{static_cast<Code>(status.error_code()), status.error_message()};
  if (error.code == Code::kUnavailable)
    error.message = "kiln-signer at " + address + " does not answer: " + error.message;
  if (error.code == Code::kDeadlineExceeded) error.message = "kiln-signer at " + address + " took too long";
  return error;
}

class GrpcSigner final : public Signer {
 public:
  GrpcSigner(const std::string& address, std::chrono::milliseconds timeout)
      : address_(address), timeout_(timeout) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
    arguments.SetMaxSendMessageSize(kMaxMessageBytes);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
    stub_ = kiln::v1::SignerService::NewStub(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  }

  Result<std::string> sign(const SignRequest& request) override {
    kiln::v1::SignRequest message;
    message.set_instance(request.instance);
    message.set_statement(request.statement);
    message.set_subject_size(request.subjectSize);
    for (const std::string& receipt : request.receipts) message.add_receipts_json(receipt);
    kiln::v1::SignResponse response;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout_);
    if (!request.trace.empty()) context.AddMetadata(tracing::kTraceparent, request.trace);
    grpc::Status status = stub_->Sign(&context, message, &response);
    if (!status.ok()) return fail(toError(status, address_));
    return response.bundle();
  }

  Result<std::string> publicKeyPem() override {
    kiln::v1::GetPublicKeyResponse response;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout_);
    grpc::Status status = stub_->GetPublicKey(&context, {}, &response);
    if (!status.ok()) return fail(toError(status, address_));
    return response.spki_pem();
  }

 private:
  static constexpr int kMaxMessageBytes = 32 << 20;

  std::string address_;
  std::chrono::milliseconds timeout_;
  std::unique_ptr<kiln::v1::SignerService::Stub> stub_;
};

}  // namespace

Result<std::vector<std::string>> Signer::signAll(std::span<const SignRequest> requests) {
  std::vector<std::string> out;
  for (const SignRequest& request : requests) {
    KILN_ASSIGN(std::string bundle, sign(request));
    out.push_back(std::move(bundle));
  }
  return out;
}

std::unique_ptr<Signer> connectSigner(const std::string& address, std::chrono::milliseconds timeout) {
  return std::make_unique<GrpcSigner>(address, timeout);
}

}  // namespace kiln::signing
