#include "api/transcoding/event_stream.h"

#include <google/protobuf/descriptor.h>

#include <charconv>

#include "manifest/base/printable.h"

namespace kiln::transcoding {

std::string event(std::string_view name, std::string_view data, std::optional<std::uint64_t> id) {
  std::string out;
  if (id) out += "id: " + std::to_string(*id) + "\n";
  out += "event: " + std::string(name) + "\ndata: " + std::string(data) + "\n\n";
  return out;
}

std::string heartbeat() {
  return ":\n\n";
}

std::optional<std::uint64_t> placeOf(const google::protobuf::Message& message) {
  const auto* field = message.GetDescriptor()->FindFieldByName("revision");
  if (!field || field->is_repeated() ||
      field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_UINT64)
    return std::nullopt;
  return message.GetReflection()->GetUInt64(message, field);
}

Result<std::uint64_t> placeFrom(std::string_view lastEventId) {
  if (lastEventId.empty()) return 0;
  std::uint64_t place = 0;
  const char* const last = lastEventId.data() + lastEventId.size();
  const auto [end, error] = std::from_chars(lastEventId.data(), last, place);
  if (error == std::errc() && end == last) return place;
  return fail(Code::kInvalidArgument, "Last-Event-ID " + inQuotes(lastEventId) +
                                          " is no id of this stream; leave it out to begin anew");
}

}  // namespace kiln::transcoding
