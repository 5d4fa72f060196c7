#include "api/transcoding/field_path.h"

#include <google/protobuf/util/json_util.h>

#include "api/transcoding/message_json.h"
#include "manifest/base/printable.h"
#include "manifest/json/json.h"

namespace kiln::transcoding {
namespace {

namespace pb = google::protobuf;
using pb::FieldDescriptor;

// By the proto's name or by that of JSON.
const FieldDescriptor* fieldOf(const pb::Descriptor& message, std::string_view name) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor* field = message.field(i);
    if (field->name() == name || field->json_name() == name) return field;
  }
  return nullptr;
}

// What JSON writes without quotes.
bool isBare(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_INT32 ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32;
}

}  // namespace

bool isParameter(const FieldDescriptor& field) {
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return true;
  const std::string& type = field.message_type()->full_name();
  return type == "google.protobuf.Timestamp" || type == "google.protobuf.Duration";
}

Result<FieldPath> FieldPath::find(const pb::Descriptor& message, std::string_view name) {
  const auto bad = [&](const char* why) { return fail(Code::kInvalidArgument, inQuotes(name) + " " + why); };
  FieldPath out;
  const pb::Descriptor* in = &message;
  for (std::string_view rest = name;;) {
    const std::string_view word = rest.substr(0, rest.find('.'));
    const FieldDescriptor* field = in ? fieldOf(*in, word) : nullptr;
    if (!field) return bad("is no parameter here");
    out.fields_.push_back(field);
    if (word.size() == rest.size()) break;
    if (field->is_repeated()) return bad("lies in a list, which a parameter cannot name");
    in = field->message_type();
    rest.remove_prefix(word.size() + 1);
  }
  if (!isParameter(out.last())) return bad("is no single value: name a field within it");
  return out;
}

std::string FieldPath::name() const {
  std::string out;
  for (const FieldDescriptor* field : fields_) out += (out.empty() ? "" : ".") + field->name();
  return out;
}

// By the reader of JSON itself, so that a parameter means what the same member of a body does.
Status FieldPath::set(pb::Message& message, std::string_view text) const {
  const auto bad = [&] {
    const bool list = last().cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    return fail(Code::kInvalidArgument,
                inQuotes(name()) + " is " + inQuotes(text) + ", which is no " +
                    (list ? last().message_type()->name() : std::string(last().type_name())) +
                    "; /openapi.json has its form");
  };
  pb::Message* at = &message;
  for (std::size_t i = 0; i + 1 < fields_.size(); ++i)
    at = at->GetReflection()->MutableMessage(at, fields_[i]);
  std::string value(text);
  if (!isBare(last())) {
    value = Json(text).dump();
  } else if (const auto parsed = parseJson(text, {64, 1});
             !parsed || parsed->is_structured() || parsed->is_string() || parsed->is_null()) {
    return bad();
  }
  if (last().is_repeated()) value = "[" + value + "]";
  const std::unique_ptr<pb::Message> one(at->New());
  if (!pb::util::JsonStringToMessage("{\"" + last().name() + "\":" + value + "}", one.get()).ok())
    return bad();
  at->MergeFrom(*one);
  return {};
}

}  // namespace kiln::transcoding
