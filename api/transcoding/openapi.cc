#include "api/transcoding/openapi.h"

#include <algorithm>

#include "api/transcoding/event_stream.h"
#include "api/transcoding/field_path.h"
#include "api/transcoding/openapi_schemas.h"
#include "api/transcoding/upload_path.h"
#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "google/rpc/status.pb.h"
#include "kiln/v1/job.pb.h"

namespace kiln::transcoding {
namespace {

namespace pb = google::protobuf;

constexpr char kAbout[] =
    "The services of kiln.v1 by the protobuf JSON mapping. Whoever calls may do what they may over gRPC: "
    "they show a bearer "
    "token, or a client certificate within TLS; over the farm's private Unix socket they are its own user. A "
    "64-bit "
    "integer is a string. A member that has its default is left out of an answer. Unknown parameters and "
    "members are "
    "refused. A POST wants Content-Type: application/json. An error is a google.rpc.Status whose one detail "
    "is a "
    "kiln.v1.JobError: exitCode is what the command kiln ends with, and the message names the place and the "
    "next step.";

const pb::FieldDescriptor& fieldNamed(const pb::Descriptor& message, const std::string& name) {
  return *message.FindFieldByName(name);
}

Json parameter(const char* in, const std::string& name, const pb::FieldDescriptor& field) {
  Json schema = valueSchema(field);
  if (field.is_repeated()) schema = {{"type", "array"}, {"items", std::move(schema)}};
  Json out{{"name", name}, {"in", in}, {"schema", std::move(schema)}};
  if (std::string_view(in) == "path") out["required"] = true;
  if (const std::string comment = commentOf(field); !comment.empty()) out["description"] = comment;
  return out;
}

// Fields of the path, as far as they lie in the message itself, and all others of its own that a query may
// have.
Json parametersOf(const Route& route) {
  const pb::Descriptor& message = *route.method->input_type();
  const auto& path = route.path.fields();
  Json out = Json::array();
  for (const std::string& name : path) out.push_back(parameter("path", name, fieldNamed(message, name)));
  if (!route.body)
    for (int i = 0; i < message.field_count(); ++i) {
      const pb::FieldDescriptor& field = *message.field(i);
      if (isParameter(field) && std::ranges::find(path, field.name()) == path.end())
        out.push_back(parameter("query", field.name(), field));
    }
  if (route.method->server_streaming())
    out.push_back({{"name", "Last-Event-ID"},
                   {"in", "header"},
                   {"schema", {{"type", "string"}}},
                   {"description", "The id of the last event that came, to go on after it."}});
  return out;
}

Json contentOf(const char* type, Json schema) {
  return {{type, {{"schema", std::move(schema)}}}};
}

Json answersOf(const Route& route) {
  const pb::Descriptor& answer = *route.method->output_type();
  Json good;
  if (route.method->server_streaming()) {
    good = {
        {"description",
         "Events \"message\", each with a " + answer.full_name() +
             " as its data and an id to go on after; \"end\" when there will be no more; \"error\" with a "
             "google.rpc.Status."},
        {"content", contentOf(kEventStreamType, {{"type", "string"}})}};
  } else {
    const std::string comment = commentOf(answer);
    good = {{"description", comment.empty() ? answer.name() : comment},
            {"content", contentOf("application/json", referenceTo(answer))}};
  }
  Json out{{"200", std::move(good)}, {"default", {{"$ref", "#/components/responses/Error"}}}};
  if (route.method->server_streaming())
    out["204"] = {{"description", "The client has had the last event already: it need not ask again."}};
  return out;
}

Json operationOf(const Route& route, const Needed& needed) {
  const pb::MethodDescriptor& method = *route.method;
  Json out{{"operationId", method.name()},
           {"tags", Json::array({method.service()->name()})},
           {"parameters", parametersOf(route)},
           {"responses", answersOf(route)},
           {"x-kiln-rpc", method.service()->full_name() + "/" + method.name()},
           {"x-kiln-roles", needed.roles},
           {"x-kiln-roles-in", needed.place}};
  if (const std::string comment = commentOf(method); !comment.empty()) out["description"] = comment;
  if (route.body)
    out["requestBody"] = {{"required", true},
                          {"description", "Without the members that the path has."},
                          {"content", contentOf("application/json", referenceTo(*method.input_type()))}};
  return out;
}

Json uploadOperation(const pb::MethodDescriptor& rpc, const Needed& needed) {
  const auto field = [](const char* name, const char* description) {
    return Json{{"name", name},
                {"in", "path"},
                {"required", true},
                {"schema", {{"type", "string"}}},
                {"description", description}};
  };
  return {
      {"operationId", "PutBlob"},
      {"tags", Json::array({"Blobs"})},
      {"description",
       "Stores the body, which is held against the digest while it comes: what is another one, or ends too "
       "early, leaves nothing. It wants Content-Length, and is answered once the blob is durable."},
      {"parameters",
       {field("instance", "Where the blob is to be seen."),
        field("digest", "\"sha256:\" and the SHA-256 of the body in 64 lowercase hex digits.")}},
      {"requestBody",
       {{"required", true}, {"content", contentOf("application/octet-stream", Json::object())}}},
      {"responses",
       {{"200",
         {{"description", "The blob's digest, as other requests name it."},
          {"content", contentOf("application/json",
                                referenceTo(*build::bazel::remote::execution::v2::Digest::descriptor()))}}},
        {"default", {{"$ref", "#/components/responses/Error"}}}}},
      {"x-kiln-rpc", rpc.service()->full_name() + "/" + rpc.name()},
      {"x-kiln-roles", needed.roles},
      {"x-kiln-roles-in", needed.place}};
}

Json errorAnswer() {
  return {{"description",
           "A google.rpc.Status. 429 says in Retry-After when to come again; 401 asks for a bearer token."},
          {"content", contentOf("application/json", referenceTo(*google::rpc::Status::descriptor()))}};
}

}  // namespace

Json openApi(const RouteTable& routes, const std::function<Needed(const pb::MethodDescriptor&)>& needed,
             const pb::MethodDescriptor* upload) {
  Json paths = Json::object(), schemas = Json::object();
  for (const Route& route : routes.routes()) {
    std::string verb(verbName(route.verb));
    std::ranges::transform(verb, verb.begin(), [](char c) { return static_cast<char>(c - 'A' + 'a'); });
    paths[route.path.text()][verb] = operationOf(route, needed(*route.method));
    if (route.body) addSchema(*route.method->input_type(), schemas);
    addSchema(*route.method->output_type(), schemas);
  }
  if (upload) {
    paths[std::string(kUploadPath)]["put"] = uploadOperation(*upload, needed(*upload));
    addSchema(*build::bazel::remote::execution::v2::Digest::descriptor(), schemas);
  }
  addSchema(*google::rpc::Status::descriptor(), schemas);
  addSchema(*v1::JobError::descriptor(), schemas);
  return {{"openapi", "3.1.0"},
          {"info", {{"title", "Kiln"}, {"version", "v1"}, {"description", kAbout}}},
          {"paths", std::move(paths)},
          {"components",
           {{"schemas", std::move(schemas)},
            {"responses", {{"Error", errorAnswer()}}},
            {"securitySchemes",
             {{"token", {{"type", "http"}, {"scheme", "bearer"}, {"bearerFormat", "JWT"}}},
              {"certificate", {{"type", "mutualTLS"}}}}}}},
          {"security", {{{"token", Json::array()}}, {{"certificate", Json::array()}}}}};
}

}  // namespace kiln::transcoding
