#include "api/transcoding/message_json.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>

#include "kiln/v1/job.pb.h"
#include "manifest/base/exit_code.h"
#include "manifest/base/printable.h"
#include "manifest/json/json.h"

namespace kiln::transcoding {
namespace {

namespace pb = google::protobuf;

constexpr JsonLimits kBody{.bytes = 4u << 20, .depth = 32};

Code codeOf(int number) {
  return number >= static_cast<int>(Code::kCancelled) && number <= static_cast<int>(Code::kUnauthenticated)
             ? static_cast<Code>(number)
             : Code::kUnknown;
}

}  // namespace

// The reader of protobuf takes more than JSON is (single quotes, names without any, a member twice):
// parseJson() goes before it.
Status fromJson(std::string_view text, pb::Message& message) {
  if (const auto strict = parseJson(text, kBody); !strict) return fail(strict.error());
  const auto read = pb::util::JsonStringToMessage(pb::StringPiece(text.data(), text.size()), &message);
  if (read.ok()) return {};
  std::string_view why(read.message().data(), read.message().size());
  if (why.ends_with('.')) why.remove_suffix(1);
  return fail(Code::kInvalidArgument, printable(why, 500) + "; /openapi.json has its form");
}

Result<std::string> toJson(const pb::Message& message) {
  std::string out;
  const auto written = pb::util::MessageToJsonString(message, &out);
  if (!written.ok())
    return fail(Code::kInternal, "a message that JSON has no form for: " + written.ToString());
  return out;
}

unsigned httpStatusOf(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
    case Code::kFailedPrecondition:
    case Code::kOutOfRange:
      return 400;
    case Code::kUnauthenticated:
      return 401;
    case Code::kPermissionDenied:
      return 403;
    case Code::kNotFound:
      return 404;
    case Code::kAlreadyExists:
    case Code::kAborted:
      return 409;
    case Code::kResourceExhausted:
      return 429;
    case Code::kCancelled:
      return 499;
    case Code::kUnimplemented:
      return 501;
    case Code::kUnavailable:
      return 503;
    case Code::kDeadlineExceeded:
      return 504;
    case Code::kUnknown:
    case Code::kInternal:
    case Code::kDataLoss:
      return 500;
  }
  return 500;
}

google::rpc::Status errorOf(const Error& error) {
  v1::JobError detail;
  detail.set_code(static_cast<int>(error.code));
  detail.set_message(error.message);
  detail.set_exit_code(exitCodeOf(error.code));
  detail.set_details_json(error.details);
  google::rpc::Status out;
  out.set_code(detail.code());
  out.set_message(detail.message());
  out.add_details()->PackFrom(detail);
  return out;
}

google::rpc::Status errorOf(const grpc::Status& status) {
  google::rpc::Status out;
  v1::JobError detail;
  if (out.ParseFromString(status.error_details()) && out.details_size() == 1 &&
      out.details(0).UnpackTo(&detail)) {
    out.set_message(status.error_message());  // which may have been cut beside its details
    return out;
  }
  const Code code = codeOf(status.error_code());
  return errorOf(
      Error{code, status.error_message().empty() ? std::string(codeName(code)) : status.error_message(), ""});
}

std::string errorJson(const google::rpc::Status& error) {
  if (const auto text = toJson(error)) return *text + "\n";
  google::rpc::Status plain;
  plain.set_code(error.code());
  plain.set_message(std::string(codeName(codeOf(error.code()))));
  return toJson(plain).value_or("{}") + "\n";
}

}  // namespace kiln::transcoding
