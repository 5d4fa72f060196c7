#include "api/transcoding/request_reader.h"

#include <algorithm>
#include <set>

#include "api/transcoding/field_path.h"
#include "api/transcoding/message_json.h"
#include "api/transcoding/percent.h"
#include "manifest/base/printable.h"

namespace kiln::transcoding {
namespace {

namespace pb = google::protobuf;

Status readPath(const RouteMatch& match, pb::Message& message) {
  const auto& names = match.route->path.fields();
  for (std::size_t i = 0; i < names.size(); ++i) {
    KILN_ASSIGN(const FieldPath field, FieldPath::find(*message.GetDescriptor(), names[i]));
    KILN_ASSIGN(const std::string value, percentDecode(match.fields[i], "the path's " + names[i]));
    KILN_TRY(field.set(message, value));
  }
  return {};
}

Status readQuery(const RouteMatch& match, std::string_view query, pb::Message& message) {
  KILN_ASSIGN(const auto parameters, parseQuery(query));
  std::set<std::string> seen(match.route->path.fields().begin(), match.route->path.fields().end());
  for (const auto& [name, value] : parameters) {
    const auto field = FieldPath::find(*message.GetDescriptor(), name);
    if (!field) return fail(field.error().in("query parameter"));
    if (!seen.insert(field->name()).second && !field->last().is_repeated())
      return fail(Code::kInvalidArgument,
                  "query parameter " + inQuotes(name) + " is given twice, or in the path as well");
    if (const Status set = field->set(message, value); !set) return fail(set.error().in("query parameter"));
  }
  return {};
}

// The body says nothing of what the path does.
Status readBody(const RouteMatch& match, std::string_view body, pb::Message& message) {
  if (const Status read = fromJson(body, message); !read) return fail(read.error().in("the body"));
  const pb::Reflection& reflection = *message.GetReflection();
  std::vector<const pb::FieldDescriptor*> set;
  reflection.ListFields(message, &set);
  for (const pb::FieldDescriptor* field : set)
    if (std::ranges::find(match.route->path.fields(), field->name()) != match.route->path.fields().end())
      return fail(Code::kInvalidArgument, "the body: " + inQuotes(field->json_name()) +
                                              " stands in the path; leave it out of the body");
  return {};
}

}  // namespace

Result<std::unique_ptr<pb::Message>> readRequest(const RouteMatch& match, std::string_view query,
                                                 std::string_view body) {
  const pb::Message* prototype =
      pb::MessageFactory::generated_factory()->GetPrototype(match.route->method->input_type());
  std::unique_ptr<pb::Message> out(prototype->New());
  if (match.route->body) {
    if (!query.empty())
      return fail(Code::kInvalidArgument,
                  "query parameter " + inQuotes(query) + ": a POST has none here; put it into the body");
    if (!body.empty()) KILN_TRY(readBody(match, body, *out));
  } else {
    if (!body.empty()) return fail(Code::kInvalidArgument, "a GET has no body; leave it out");
    KILN_TRY(readQuery(match, query, *out));
  }
  KILN_TRY(readPath(match, *out));
  return out;
}

}  // namespace kiln::transcoding
