#include "storage/remote/status.h"

#include "kiln/v1/job.pb.h"
#include "manifest/base/exit_code.h"

namespace kiln {
namespace {

constexpr std::size_t kMaxMessage = 2048;
constexpr std::size_t kMaxDetails = 512;

Code codeFrom(int number) {
  return number >= static_cast<int>(Code::kCancelled) && number <= static_cast<int>(Code::kUnauthenticated)
             ? static_cast<Code>(number)
             : Code::kUnknown;
}

// Length of the UTF-8 sequence that starts at `i`; 0 if there is no valid one.
std::size_t sequenceLength(std::string_view text, std::size_t i) {
  auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  unsigned char lead = byte(i);
  std::size_t length = lead < 0x80                   ? 1
                       : lead >= 0xc2 && lead < 0xe0 ? 2
                       : (lead & 0xf0) == 0xe0       ? 3
                       : lead >= 0xf0 && lead < 0xf5 ? 4
                                                     : 0;
  if (length == 0 || i + length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k)
    if ((byte(i + k) & 0xc0) != 0x80) return 0;
  return length;
}

std::string sendable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size() && out.size() < kMaxMessage;) {
    std::size_t length = sequenceLength(text, i);
    out += length == 0 ? "?" : text.substr(i, length);
    i += length == 0 ? 1 : length;
  }
  return out;
}

// When to come again travels as a refused submission's facts do. Other details are for who wrote them.
void addRetry(const Error& error, google::rpc::Status& out) {
  if (error.code != Code::kResourceExhausted || error.details.empty() || error.details.size() > kMaxDetails)
    return;
  v1::JobError detail;
  detail.set_code(static_cast<int>(error.code));
  detail.set_message(out.message());
  detail.set_exit_code(exitCodeOf(error.code));
  detail.set_details_json(error.details);
  out.add_details()->PackFrom(detail);
}

std::string retryIn(const google::rpc::Status& status) {
  v1::JobError detail;
  if (status.code() != static_cast<int>(Code::kResourceExhausted) || status.details_size() != 1 ||
      !status.details(0).UnpackTo(&detail) || detail.details_json().size() > kMaxDetails)
    return {};
  return detail.details_json();
}

}  // namespace

grpc::Status toGrpc(const Error& error) {
  const google::rpc::Status rich = toRpcStatus(fail(error));
  return {static_cast<grpc::StatusCode>(error.code), rich.message(),
          rich.details().empty() ? "" : rich.SerializeAsString()};
}

Error fromGrpc(const grpc::Status& status, std::string_view context) {
  Error error{codeFrom(status.error_code()), status.error_message()};
  if (error.message.empty()) error.message = codeName(error.code);
  google::rpc::Status rich;
  if (error.code == Code::kResourceExhausted && rich.ParseFromString(status.error_details()))
    error.details = retryIn(rich);
  return context.empty() ? error : error.in(context);
}

Status statusFromGrpc(const grpc::Status& status, std::string_view context) {
  if (status.ok()) return {};
  return fail(fromGrpc(status, context));
}

google::rpc::Status toRpcStatus(const Status& status) {
  google::rpc::Status out;
  if (status) return out;
  out.set_code(static_cast<int>(status.error().code));
  out.set_message(sendable(status.error().message));
  addRetry(status.error(), out);
  return out;
}

Status fromRpcStatus(const google::rpc::Status& status) {
  if (status.code() == 0) return {};
  return fail(Error{codeFrom(status.code()), status.message(), retryIn(status)});
}

}  // namespace kiln
