#include "coordinator/web/blob_upload.h"

#include "coordinator/access/relayed_caller.h"
#include "google/bytestream/bytestream.grpc.pb.h"
#include "storage/remote/resource_name.h"
#include "storage/remote/status.h"

namespace kiln::server {
namespace {

namespace bytestream = google::bytestream;

void prepare(grpc::ClientContext& context, const access::Credentials& caller, Duration limit) {
  context.set_deadline(std::chrono::system_clock::now() + limit);
  access::relay(caller, context);
}

// The name under which it is stored. An instance is any text here, and could end the name before its time.
Result<std::string> nameOf(const std::string& instance, const Digest& digest) {
  std::string name = storage::writeName(instance, digest);
  KILN_ASSIGN(const storage::ResourceName said, storage::parseWriteName(name));
  if (said.instance != instance || said.digest != digest || said.zstd)
    return fail(Code::kInvalidArgument, "instance: this is no instance's name");
  return name;
}

// To the end of the body, or of what its client sends until then.
void throwAway(gateway::ApiBody& body, std::chrono::steady_clock::time_point until) {
  while (std::chrono::steady_clock::now() < until)
    if (const auto piece = body.next(); !piece || piece->empty()) return;
}

grpc::Status send(grpc::ClientWriter<bytestream::WriteRequest>& stream, const std::string& name,
                  const Digest& digest, gateway::ApiBody& body) {
  bytestream::WriteRequest message;
  message.set_resource_name(name);
  std::uint64_t sent = 0;
  for (bool more = true; more; message.clear_resource_name()) {
    const auto piece = body.next();
    // Nobody can go on with it, so the farm is told that it is all there is: it keeps nothing then.
    message.set_finish_write(true);
    message.clear_data();
    message.set_write_offset(static_cast<std::int64_t>(sent));
    if (piece && !piece->empty()) {
      message.set_data(piece->data(), piece->size());
      sent += piece->size();
      more = sent < digest.size;
      message.set_finish_write(!more);
    } else {
      more = false;
    }
    // A stream that takes no more has ended: refused, or because the blob is there.
    if (!stream.Write(message)) break;
    if (!piece) {
      stream.WritesDone();
      stream.Finish();
      return toGrpc(piece.error());
    }
  }
  stream.WritesDone();
  return stream.Finish();
}

}  // namespace

grpc::Status uploadBlob(const std::shared_ptr<grpc::Channel>& channel, const std::string& instance,
                        const Digest& digest, gateway::ApiBody& body, const access::Credentials& caller,
                        Duration limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  const auto name = nameOf(instance, digest);
  if (!name) return toGrpc(name.error());
  const auto stub = bytestream::ByteStream::NewStub(channel);
  bytestream::QueryWriteStatusRequest question;
  question.set_resource_name(*name);
  bytestream::QueryWriteStatusResponse known;
  grpc::ClientContext asked;
  prepare(asked, caller, limit);
  if (const grpc::Status may = stub->QueryWriteStatus(&asked, question, &known); !may.ok()) return may;
  if (!known.complete()) {
    grpc::ClientContext context;
    prepare(context, caller, limit);
    bytestream::WriteResponse response;
    const auto stream = stub->Write(&context, &response);
    if (const grpc::Status done = send(*stream, *name, digest, body); !done.ok()) return done;
  }
  throwAway(body, until);
  return grpc::Status::OK;
}

}  // namespace kiln::server
