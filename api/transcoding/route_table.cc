#include "api/transcoding/route_table.h"

#include <algorithm>

#include "api/transcoding/field_path.h"
#include "google/api/annotations.pb.h"
#include "manifest/base/printable.h"

namespace kiln::transcoding {
namespace {

namespace pb = google::protobuf;
using google::api::HttpRule;

Result<Route> routeOf(const pb::MethodDescriptor& method, const HttpRule& rule) {
  const auto bad = [](const char* why) { return fail(Code::kInvalidArgument, why); };
  if (method.client_streaming())
    return fail(Code::kUnimplemented, "it takes a stream, which HTTP has no form for here");
  if (!rule.GetReflection()->GetUnknownFields(rule).empty())
    return bad("its option asks for more of google.api.http than is served");
  if (rule.pattern_case() == HttpRule::PATTERN_NOT_SET) return bad("its option names no path");
  const bool post = rule.pattern_case() == HttpRule::kPost;
  if (rule.body() != (post ? "*" : "")) return bad("a POST has body \"*\", a GET none");
  if (post && method.server_streaming()) return bad("a stream is answered to GET alone");
  Route out{&method, post ? Verb::kPost : Verb::kGet, {}, post};
  KILN_ASSIGN(out.path, PathTemplate::parse(post ? rule.post() : rule.get()));
  for (const std::string& name : out.path.fields()) {
    KILN_ASSIGN(const FieldPath field, FieldPath::find(*method.input_type(), name));
    if (field.last().is_repeated()) return bad("a field of its path is a list");
  }
  return out;
}

}  // namespace

std::string_view verbName(Verb verb) {
  return verb == Verb::kGet ? "GET" : "POST";
}

Result<RouteTable> RouteTable::of(std::span<const pb::MethodDescriptor* const> methods) {
  RouteTable out;
  for (const pb::MethodDescriptor* method : methods) {
    if (!method->options().HasExtension(google::api::http)) continue;
    auto route = routeOf(*method, method->options().GetExtension(google::api::http));
    if (!route) return fail(route.error().in(method->full_name()));
    for (const Route& other : out.routes_)
      if (other.verb == route->verb && other.path.text() == route->path.text())
        return fail(Code::kInvalidArgument, method->full_name() + " has the path of " +
                                                other.method->full_name() + ": " + other.path.text());
    out.routes_.push_back(std::move(*route));
  }
  return out;
}

Result<RouteMatch> RouteTable::find(std::string_view verb, std::string_view path) const {
  std::vector<std::string> verbs;
  // A path with a verb of its own first: what another template would take for the end of a field.
  for (const bool withVerb : {true, false}) {
    for (const Route& route : routes_) {
      if (route.path.verb().empty() == withVerb) continue;
      auto fields = route.path.match(path);
      if (!fields) continue;
      if (verbName(route.verb) == verb) return RouteMatch{&route, std::move(*fields)};
      verbs.emplace_back(verbName(route.verb));
    }
    if (!verbs.empty()) break;
  }
  if (verbs.empty())
    return fail(Code::kNotFound,
                "nothing is served at " + inQuotes(path) + "; /openapi.json lists what there is");
  std::string list;
  for (const std::string& one : verbs) list += (list.empty() ? "" : ", ") + one;
  Error error{Code::kUnimplemented, inQuotes(path) + " is called by " + list + " alone", list};
  return fail(std::move(error));
}

}  // namespace kiln::transcoding
