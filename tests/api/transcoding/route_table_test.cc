#include "api/transcoding/route_table.h"

#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include "google/api/annotations.pb.h"
#include "kiln/v1/audit.pb.h"
#include "kiln/v1/job.pb.h"

namespace kiln::transcoding {
namespace {

namespace pb = google::protobuf;

std::vector<const pb::MethodDescriptor*> methodsOf(const pb::FileDescriptor& file) {
  std::vector<const pb::MethodDescriptor*> out;
  for (int s = 0; s < file.service_count(); ++s)
    for (int m = 0; m < file.service(s)->method_count(); ++m) out.push_back(file.service(s)->method(m));
  return out;
}

// A service with methods that take {string id, repeated string many, Inner {string x} inner}, annotated.
class Protos {
 public:
  pb::MethodDescriptorProto& method(const std::string& name, const google::api::HttpRule& rule) {
    pb::MethodDescriptorProto& out = *file_.mutable_service(0)->add_method();
    out.set_name(name);
    out.set_input_type(".t.M");
    out.set_output_type(".t.M");
    if (rule.pattern_case() != google::api::HttpRule::PATTERN_NOT_SET || !rule.body().empty())
      *out.mutable_options()->MutableExtension(google::api::http) = rule;
    return out;
  }
  Protos() {
    file_.set_name("t.proto");
    file_.set_package("t");
    file_.set_syntax("proto3");
    pb::DescriptorProto& message = *file_.add_message_type();
    message.set_name("M");
    const auto field = [&](const char* name, int number, pb::FieldDescriptorProto::Label label) {
      auto& one = *message.add_field();
      one.set_name(name);
      one.set_number(number);
      one.set_label(label);
      one.set_type(pb::FieldDescriptorProto::TYPE_STRING);
    };
    field("id", 1, pb::FieldDescriptorProto::LABEL_OPTIONAL);
    field("many", 2, pb::FieldDescriptorProto::LABEL_REPEATED);
    file_.add_service()->set_name("S");
  }
  Result<RouteTable> table() { return RouteTable::of(methodsOf(*pool_.BuildFile(file_))); }

 private:
  pb::FileDescriptorProto file_;
  pb::DescriptorPool pool_;
};

google::api::HttpRule get(const std::string& path, const std::string& body = "") {
  google::api::HttpRule out;
  out.set_get(path);
  out.set_body(body);
  return out;
}
google::api::HttpRule post(const std::string& path, const std::string& body = "*") {
  google::api::HttpRule out;
  out.set_post(path);
  out.set_body(body);
  return out;
}

TEST(RouteTable, FindsTheRpcsOfTheProtos) {
  const auto table = RouteTable::of(methodsOf(*v1::Job::descriptor()->file())).value();
  const auto rpcOf = [&](std::string_view verb, std::string_view path) {
    const auto found = table.find(verb, path);
    return found ? found->route->method->name() : found.error().message;
  };
  EXPECT_EQ(rpcOf("GET", "/api/v1/instances/default/jobs"), "ListJobs");
  EXPECT_EQ(rpcOf("POST", "/api/v1/instances/default/jobs"), "SubmitJob");
  EXPECT_EQ(rpcOf("GET", "/api/v1/instances/default/jobs/42"), "GetJob");
  EXPECT_EQ(rpcOf("GET", "/api/v1/instances/default/jobs/42:watch"), "WatchJob");
  EXPECT_EQ(rpcOf("POST", "/api/v1/instances/default/jobs/42:cancel"), "CancelJob");
  EXPECT_EQ(rpcOf("GET", "/api/v1/instances/default/jobs/42%3Awatch"), "GetJob");
  EXPECT_EQ(table.find("GET", "/api/v1/instances/i/jobs/42:watch")->fields,
            (std::vector<std::string_view>{"i", "42"}));
}

TEST(RouteTable, SaysWhatThereIs) {
  const auto table = RouteTable::of(methodsOf(*v1::Job::descriptor()->file())).value();
  const auto nothing = table.find("GET", "/api/v1/nothing");
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, Code::kNotFound);
  EXPECT_NE(nothing.error().message.find("/openapi.json"), std::string::npos);
  const auto verb = table.find("DELETE", "/api/v1/instances/default/jobs");
  ASSERT_FALSE(verb);
  EXPECT_EQ(verb.error().code, Code::kUnimplemented);
  EXPECT_EQ(verb.error().details, "POST, GET");
  EXPECT_EQ(table.find("GET", "/api/v1/instances/default/jobs/42:cancel").error().details, "POST")
      << "and not the job that is called 42:cancel";
}

TEST(RouteTable, WhatIsNotAnnotatedIsNotServed) {
  Protos protos;
  protos.method("Served", get("/a"));
  protos.method("Hidden", {});
  const auto table = protos.table().value();
  ASSERT_EQ(table.routes().size(), 1u);
  EXPECT_EQ(table.routes()[0].method->name(), "Served");
}

TEST(RouteTable, WhatCannotBeServedIsRefusedByName) {
  const std::pair<const char*, google::api::HttpRule> bad[] = {{"body", get("/a", "*")},
                                                               {"body", post("/a", "")},
                                                               {"body", post("/a", "id")},
                                                               {"a {field}", get("/a/{id=*}")},
                                                               {"no parameter", get("/a/{nothing}")},
                                                               {"list", get("/a/{many}")}};
  for (const auto& [why, rule] : bad) {
    Protos protos;
    protos.method("Bad", rule);
    const auto table = protos.table();
    ASSERT_FALSE(table) << rule.ShortDebugString();
    EXPECT_NE(table.error().message.find("t.S.Bad"), std::string::npos) << table.error().message;
    EXPECT_NE(table.error().message.find(why), std::string::npos) << table.error().message;
  }
  Protos takes;
  takes.method("Takes", get("/a")).set_client_streaming(true);
  EXPECT_EQ(takes.table().error().code, Code::kUnimplemented);
  Protos streams;
  streams.method("Streams", post("/a")).set_server_streaming(true);
  EXPECT_FALSE(streams.table());
  Protos twice;
  twice.method("One", get("/a/{id}"));
  twice.method("Two", get("/a/{id}"));
  EXPECT_NE(twice.table().error().message.find("has the path of t.S.One"), std::string::npos);
}

}  // namespace
}  // namespace kiln::transcoding
