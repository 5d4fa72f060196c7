#include "api/transcoding/openapi_schemas.h"

#include <map>
#include <vector>

namespace kiln::transcoding {
namespace {

namespace pb = google::protobuf;
using pb::FieldDescriptor;

// "a\n b\n" as protoc keeps it, as one line.
std::string oneLine(const std::string& comment) {
  std::string out;
  for (const char letter : comment) {
    const char plain = letter == '\n' ? ' ' : letter;
    if (plain != ' ' || (!out.empty() && out.back() != ' ')) out += plain;
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

// Messages that JSON writes in a form of their own.
const Json* specialSchema(const std::string& name) {
  static const std::map<std::string, Json> kSpecial{
      {"google.protobuf.Timestamp", {{"type", "string"}, {"format", "date-time"}}},
      {"google.protobuf.Duration", {{"type", "string"}, {"pattern", "^-?[0-9]+(\\.[0-9]{1,9})?s$"}}},
      {"google.protobuf.Any",
       {{"type", "object"},
        {"properties", {{"@type", {{"type", "string"}}}}},
        {"required", Json::array({"@type"})},
        {"additionalProperties", true}}}};
  const auto found = kSpecial.find(name);
  return found == kSpecial.end() ? nullptr : &found->second;
}

Json enumSchema(const pb::EnumDescriptor& type) {
  Json names = Json::array();
  for (int i = 0; i < type.value_count(); ++i) names.push_back(type.value(i)->name());
  return {{"type", "string"}, {"enum", std::move(names)}};
}

Json fieldSchema(const FieldDescriptor& field) {
  Json out;
  if (field.is_map()) {
    out = {{"type", "object"}, {"additionalProperties", valueSchema(*field.message_type()->map_value())}};
  } else if (field.is_repeated()) {
    out = {{"type", "array"}, {"items", valueSchema(field)}};
  } else {
    out = valueSchema(field);
  }
  if (const std::string comment = commentOf(field); !comment.empty()) out["description"] = comment;
  return out;
}

}  // namespace

template <class Descriptor>
std::string commentOf(const Descriptor& descriptor) {
  pb::SourceLocation location;
  if (!descriptor.GetSourceLocation(&location)) return "";
  return oneLine(location.leading_comments + " " + location.trailing_comments);
}
template std::string commentOf(const pb::FieldDescriptor&);
template std::string commentOf(const pb::Descriptor&);
template std::string commentOf(const pb::MethodDescriptor&);

Json referenceTo(const pb::Descriptor& message) {
  return {{"$ref", "#/components/schemas/" + message.full_name()}};
}

Json valueSchema(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return {{"type", "integer"}, {"format", "int32"}};
    case FieldDescriptor::CPPTYPE_UINT32:
      return {{"type", "integer"}, {"format", "int64"}, {"minimum", 0}};
    case FieldDescriptor::CPPTYPE_INT64:
      return {{"type", "string"}, {"format", "int64"}};
    case FieldDescriptor::CPPTYPE_UINT64:
      return {{"type", "string"}, {"format", "uint64"}};
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return {{"type", "number"}};
    case FieldDescriptor::CPPTYPE_BOOL:
      return {{"type", "boolean"}};
    case FieldDescriptor::CPPTYPE_ENUM:
      return enumSchema(*field.enum_type());
    case FieldDescriptor::CPPTYPE_STRING:
      if (field.type() == FieldDescriptor::TYPE_BYTES)
        return {{"type", "string"}, {"contentEncoding", "base64"}};
      return {{"type", "string"}};
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  const Json* special = specialSchema(field.message_type()->full_name());
  return special ? *special : referenceTo(*field.message_type());
}

// Not by a call of itself for each level: what is still to be added waits in a list.
void addSchema(const pb::Descriptor& message, Json& schemas) {
  std::vector<const pb::Descriptor*> waiting{&message};
  while (!waiting.empty()) {
    const pb::Descriptor& now = *waiting.back();
    waiting.pop_back();
    if (schemas.contains(now.full_name()) || specialSchema(now.full_name())) continue;
    Json properties = Json::object();
    for (int i = 0; i < now.field_count(); ++i) {
      const FieldDescriptor& field = *now.field(i);
      properties[field.json_name()] = fieldSchema(field);
      const FieldDescriptor& held = field.is_map() ? *field.message_type()->map_value() : field;
      if (held.message_type()) waiting.push_back(held.message_type());
    }
    Json schema{{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
    if (const std::string comment = commentOf(now); !comment.empty()) schema["description"] = comment;
    schemas[now.full_name()] = std::move(schema);
  }
}

}  // namespace kiln::transcoding
