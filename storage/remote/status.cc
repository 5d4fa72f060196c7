#include "storage/remote/status.h"

namespace kiln {
namespace {

constexpr std::size_t kMaxMessage = 2048;

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

}  // namespace

grpc::Status toGrpc(const Error& error) {
  return {static_cast<grpc::StatusCode>(error.code), sendable(error.message)};
}

Error fromGrpc(const grpc::Status& status, std::string_view context) {
  Error error{codeFrom(status.error_code()), status.error_message()};
  if (error.message.empty()) error.message = codeName(error.code);
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
  return out;
}

Status fromRpcStatus(const google::rpc::Status& status) {
  if (status.code() == 0) return {};
  return fail(codeFrom(status.code()), status.message());
}

}  // namespace kiln
