#include "api/client/request_text.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/printable.h"
#include "manifest/base/utf8.h"

namespace kiln::client {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// As the command line calls a field; else it is an option of the field's own name.
std::string optionOf(const FieldDescriptor& field) {
  static const std::map<std::string_view, const char*> kNames = {
      {"instance", "--instance (KILN_INSTANCE)"},
      {"id", "JOB"},
      {"job", "JOB"},
      {"name", "the name"},
      {"targets", "--target"},
      {"digest", "ARTIFACT"},
      {"path", "the path"},
      {"url", "the URL"},
      {"commit", "the commit"},
  };
  const auto known = kNames.find(field.name());
  if (known != kNames.end()) return known->second;
  std::string name = field.name();
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

Status check(const Message& message, const FieldDescriptor& field, int i) {
  const auto& reflection = *message.GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
    return checkText(i < 0 ? reflection.GetMessage(message, &field)
                           : reflection.GetRepeatedMessage(message, &field, i));
  if (field.type() != FieldDescriptor::TYPE_STRING) return {};
  const std::string text =
      i < 0 ? reflection.GetString(message, &field) : reflection.GetRepeatedString(message, &field, i);
  if (isUtf8(text)) return {};
  return fail(Code::kInvalidArgument, optionOf(field) + ": \"" + printable(text) + "\" is not UTF-8");
}

}  // namespace

Status checkText(const Message& request) {
  std::vector<const FieldDescriptor*> fields;  // those that are set
  request.GetReflection()->ListFields(request, &fields);
  for (const FieldDescriptor* field : fields) {
    if (!field->is_repeated()) KILN_TRY(check(request, *field, -1));
    const int count = field->is_repeated() ? request.GetReflection()->FieldSize(request, field) : 0;
    for (int i = 0; i < count; ++i) KILN_TRY(check(request, *field, i));
  }
  return {};
}

}  // namespace kiln::client
