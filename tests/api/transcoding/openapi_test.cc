// The description of routes: what it names is there, and each reference leads somewhere. That it is valid is
// for tests/api/transcoding/openapi_test.py, over the whole document.
#include "api/transcoding/openapi.h"

#include <gtest/gtest.h>

#include "google/bytestream/bytestream.pb.h"
#include "kiln/v1/job.pb.h"

namespace kiln::transcoding {
namespace {

Json document() {
  const auto& service = *v1::Job::descriptor()->file()->service(0);
  std::vector<const google::protobuf::MethodDescriptor*> methods;
  for (int m = 0; m < service.method_count(); ++m) methods.push_back(service.method(m));
  return openApi(
      RouteTable::of(methods).value(),
      [](const auto& method) { return Needed{{"role of " + method.name()}, "the instance"}; },
      google::bytestream::WriteRequest::descriptor()->file()->service(0)->FindMethodByName("Write"));
}

void expectReferences(const Json& value, const Json& schemas) {
  if (value.is_object() && value.contains("$ref")) {
    const std::string to = value["$ref"];
    const std::string prefix = "#/components/schemas/";
    EXPECT_TRUE(to == "#/components/responses/Error" ||
                (to.starts_with(prefix) && schemas.contains(to.substr(prefix.size()))))
        << to;
  }
  if (value.is_structured())
    for (const Json& member : value) expectReferences(member, schemas);
}

TEST(OpenApi, HasEveryRouteWithItsParameters) {
  const Json all = document();
  EXPECT_EQ(all["openapi"], "3.1.0");
  const Json& list = all["paths"]["/api/v1/instances/{instance}/jobs"]["get"];
  EXPECT_EQ(list["operationId"], "ListJobs");
  EXPECT_EQ(list["x-kiln-roles"], Json::array({"role of ListJobs"}));
  std::vector<std::string> names;
  for (const Json& parameter : list["parameters"])
    names.push_back(parameter["in"].get<std::string>() + " " + parameter["name"].get<std::string>());
  EXPECT_EQ(names, (std::vector<std::string>{"path instance", "query limit", "query before"}));
  const Json& submit = all["paths"]["/api/v1/instances/{instance}/jobs"]["post"];
  EXPECT_EQ(submit["requestBody"]["content"]["application/json"]["schema"]["$ref"],
            "#/components/schemas/kiln.v1.SubmitJobRequest");
  const Json& watch = all["paths"]["/api/v1/instances/{instance}/jobs/{id}:watch"]["get"];
  EXPECT_TRUE(watch["responses"]["200"]["content"].contains("text/event-stream"));
  expectReferences(all, all["components"]["schemas"]);
}

TEST(OpenApi, HasWhereBlobsArePut) {
  const Json all = document();
  const Json& put = all["paths"]["/api/v1/instances/{instance}/blobs/{digest}"]["put"];
  EXPECT_EQ(put["x-kiln-rpc"], "google.bytestream.ByteStream/Write");
  EXPECT_EQ(put["x-kiln-roles"], Json::array({"role of Write"}));
  EXPECT_TRUE(put["requestBody"]["content"].contains("application/octet-stream"));
  EXPECT_EQ(put["parameters"].size(), 2u);
}

TEST(OpenApi, SchemasAreThoseOfTheJsonMapping) {
  const Json all = document();
  const Json& job = all["components"]["schemas"]["kiln.v1.Job"]["properties"];
  EXPECT_EQ(job["revision"]["type"], "string") << "64 bits";
  EXPECT_EQ(job["submitted"]["format"], "date-time");
  EXPECT_EQ(job["actions"]["items"]["$ref"], "#/components/schemas/kiln.v1.JobAction");
  EXPECT_EQ(job["state"]["enum"][1], "JOB_QUEUED");
  EXPECT_EQ(all["components"]["schemas"]["kiln.v1.JobLogs.Log"]["properties"]["text"]["contentEncoding"],
            "base64");
  EXPECT_TRUE(all["components"]["securitySchemes"].contains("token"));
}

TEST(OpenApi, IsTheSameAgain) {
  EXPECT_EQ(document().dump(1), document().dump(1));
}

}  // namespace
}  // namespace kiln::transcoding
