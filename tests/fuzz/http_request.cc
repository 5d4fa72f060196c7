// libFuzzer: requests over HTTP as messages. The first byte chooses the RPC's verb, a line the target, the
// rest is the body. Whatever is taken is UTF-8, has a JSON form, and is the same message when that is read
// again.
#include <cstdlib>
#include <string>

#include "api/transcoding/event_stream.h"
#include "api/transcoding/message_json.h"
#include "api/transcoding/request_reader.h"
#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "kiln/v1/artifact.pb.h"
#include "kiln/v1/audit.pb.h"
#include "kiln/v1/job.pb.h"
#include "kiln/v1/recall.pb.h"
#include "kiln/v1/worker.pb.h"

namespace {

using namespace kiln::transcoding;

RouteTable makeTable() {
  namespace v1 = kiln::v1;
  std::vector<const google::protobuf::MethodDescriptor*> methods;
  for (const auto* message :
       {v1::Job::descriptor(), v1::Artifact::descriptor(), v1::StatementRef::descriptor(),
        v1::Recalls::descriptor(), v1::Lease::descriptor(),
        build::bazel::remote::execution::v2::Digest::descriptor()})
    for (int s = 0; s < message->file()->service_count(); ++s)
      for (int m = 0; m < message->file()->service(s)->method_count(); ++m)
        methods.push_back(message->file()->service(s)->method(m));
  return RouteTable::of(methods).value();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const RouteTable table = makeTable();
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string_view target = text.substr(0, text.find('\n'));
  const std::string_view body = target.size() == text.size() ? "" : text.substr(target.size() + 1);
  const auto question = target.find('?');
  (void)placeFrom(target);
  const auto match = table.find(data[0] % 2 == 0 ? "GET" : "POST", target.substr(0, question));
  if (!match) return 0;
  const auto message =
      readRequest(*match, question == std::string_view::npos ? "" : target.substr(question + 1), body);
  if (!message) return 0;
  const auto json = toJson(**message);
  if (!json) std::abort();
  const std::unique_ptr<google::protobuf::Message> again((*message)->New());
  if (!fromJson(*json, *again) || again->SerializeAsString() != (*message)->SerializeAsString()) std::abort();
  return 0;
}
