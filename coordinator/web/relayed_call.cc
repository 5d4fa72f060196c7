#include "coordinator/web/relayed_call.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include "coordinator/access/relayed_caller.h"
#include "coordinator/web/served_methods.h"

namespace kiln::server {
namespace {

namespace pb = google::protobuf;

std::unique_ptr<pb::Message> newMessage(const pb::Descriptor& type) {
  return std::unique_ptr<pb::Message>(pb::MessageFactory::generated_factory()->GetPrototype(&type)->New());
}

}  // namespace

// Every kind of RPC looks on the wire like a stream of messages each way.
RelayedCall::RelayedCall(const std::shared_ptr<grpc::Channel>& channel, const pb::MethodDescriptor& method,
                         const pb::Message& request, const access::Credentials& caller, Duration limit)
    : answer_(newMessage(*method.output_type())) {
  context_.set_deadline(std::chrono::system_clock::now() + limit);
  access::relay(caller, context_);
  const grpc::Slice slice(request.SerializeAsString());
  const grpc::ByteBuffer out(&slice, 1);
  stream_ = grpc::GenericStub(channel).PrepareCall(&context_, "/" + rpcName(method), &queue_);
  stream_->StartCall(nullptr);
  if (!step()) return;
  stream_->WriteLast(out, {}, nullptr);
  if (step()) beginRead();
}

RelayedCall::~RelayedCall() {
  context_.TryCancel();
  if (!ended_) end();
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

bool RelayedCall::step() {
  void* tag = nullptr;
  bool ok = false;
  return queue_.Next(&tag, &ok) && ok;
}

void RelayedCall::beginRead() {
  bytes_.Clear();
  stream_->Read(&bytes_, nullptr);
  reading_ = true;
}

RelayedCall::Next RelayedCall::next(Duration patience) {
  if (!reading_) return Next::kEnd;
  void* tag = nullptr;
  bool ok = false;
  const auto until = std::chrono::system_clock::now() + patience;
  if (queue_.AsyncNext(&tag, &ok, until) == grpc::CompletionQueue::TIMEOUT) return Next::kNothingYet;
  reading_ = false;
  if (!ok) return Next::kEnd;
  grpc::ProtoBufferReader reader(&bytes_);
  answer_->Clear();
  if (!reader.status().ok() || !answer_->ParseFromZeroCopyStream(&reader)) {
    context_.TryCancel();
    ended_ = grpc::Status(grpc::StatusCode::INTERNAL, "an answer that cannot be read");
    return Next::kEnd;
  }
  beginRead();
  return Next::kMessage;
}

grpc::Status RelayedCall::end() {
  if (reading_) step();
  reading_ = false;
  grpc::Status status;
  stream_->Finish(&status, nullptr);
  step();
  if (!ended_) ended_ = status;
  return *ended_;
}

}  // namespace kiln::server
