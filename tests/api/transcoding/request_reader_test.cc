// Requests as messages: what is mapped, and everything that is refused by name.
#include "api/transcoding/request_reader.h"

#include <gtest/gtest.h>

#include "build/bazel/remote/execution/v2/remote_execution.pb.h"
#include "kiln/v1/audit.pb.h"
#include "kiln/v1/job.pb.h"

namespace kiln::transcoding {
namespace {

namespace pb = google::protobuf;
namespace reapi = build::bazel::remote::execution::v2;

RouteTable tableOf(const pb::FileDescriptor& file) {
  std::vector<const pb::MethodDescriptor*> methods;
  for (int s = 0; s < file.service_count(); ++s)
    for (int m = 0; m < file.service(s)->method_count(); ++m) methods.push_back(file.service(s)->method(m));
  return RouteTable::of(methods).value();
}
const RouteTable kJobs = tableOf(*v1::Job::descriptor()->file());
const RouteTable kAudits = tableOf(*v1::StatementRef::descriptor()->file());
const RouteTable kBlobs = tableOf(*reapi::Digest::descriptor()->file());

constexpr char kI[] = "/api/v1/instances/default";

template <class Message>
Message read(const RouteTable& table, const char* verb, const std::string& target,
             std::string_view body = "") {
  const std::string path = target.substr(0, target.find('?'));
  const std::string query = target.find('?') == std::string::npos ? "" : target.substr(target.find('?') + 1);
  const auto match = table.find(verb, path);
  EXPECT_TRUE(match) << match.error().message;
  auto message = readRequest(*match, query, body);
  EXPECT_TRUE(message) << message.error().message;
  return message ? dynamic_cast<const Message&>(**message) : Message();
}
std::string refusal(const RouteTable& table, const char* verb, const std::string& target,
                    std::string_view body = "") {
  const std::string path = target.substr(0, target.find('?'));
  const std::string query = target.find('?') == std::string::npos ? "" : target.substr(target.find('?') + 1);
  const auto match = table.find(verb, path);
  if (!match) return "no route: " + match.error().message;
  const auto message = readRequest(*match, query, body);
  if (message) return "taken: " + (*message)->ShortDebugString();
  EXPECT_EQ(message.error().code, Code::kInvalidArgument) << message.error().message;
  return message.error().message;
}

TEST(RequestReader, PathAndQueryFillTheMessage) {
  const auto jobs = read<v1::ListJobsRequest>(kJobs, "GET", std::string(kI) + "/jobs?limit=7&before=j%31");
  EXPECT_EQ(jobs.instance(), "default");
  EXPECT_EQ(jobs.limit(), 7);
  EXPECT_EQ(jobs.before(), "j1");
  const auto affected =
      read<v1::ListAffectedRequest>(kAudits, "GET",
                                    "/api/v1/instances/a%2Fb/affected?source=git%2Bhttps://x/"
                                    "%40c%23p&since=2026-01-02T03:04:05Z&pageSize=3&page_token=t");
  EXPECT_EQ(affected.instance(), "a/b");
  EXPECT_EQ(affected.source(), "git+https://x/@c#p");
  EXPECT_EQ(affected.since().seconds(), 1767323045);
  EXPECT_EQ(affected.page_size(), 3) << "the name that JSON has for it does as well";
  EXPECT_EQ(affected.page_token(), "t");
  EXPECT_EQ(
      read<v1::ListLoggedRequest>(kAudits, "GET", std::string(kI) + "/log?from=18446744073709551615").from(),
      18446744073709551615u);
}

TEST(RequestReader, TheBodyFillsTheMessage) {
  const auto submit = read<v1::SubmitJobRequest>(
      kJobs, "POST", std::string(kI) + "/jobs",
      R"({"idempotencyKey":"k","targets":["a","b"],"sources":[{"path":"m","blob":{"hash":"aa","sizeBytes":"5"}}]})");
  EXPECT_EQ(submit.instance(), "default");
  EXPECT_EQ(submit.targets_size(), 2);
  EXPECT_EQ(submit.sources(0).blob().size_bytes(), 5);
  EXPECT_EQ(read<v1::GetJobRequest>(kJobs, "POST", std::string(kI) + "/jobs/42:cancel").id(), "42")
      << "an empty body is {}";
  const auto blobs = read<reapi::BatchReadBlobsRequest>(kBlobs, "POST", std::string(kI) + "/blobs:batchRead",
                                                        R"({"digests":[{"hash":"aa","sizeBytes":1}]})");
  EXPECT_EQ(blobs.instance_name(), "default");
  EXPECT_EQ(blobs.digests_size(), 1);
}

TEST(RequestReader, WhatIsUnknownOrTwiceIsRefusedByName) {
  const std::string jobs = std::string(kI) + "/jobs";
  const std::pair<std::string, const char*> bad[] = {
      {"?limitt=1", "\"limitt\" is no parameter here"},
      {"?limit=1&limit=2", "\"limit\" is given twice"},
      {"?instance=other", "\"instance\" is given twice, or in the path"},
      {"?limit=x", "\"limit\" is \"x\", which is no int32"},
      {"?limit=1.5", "int32"},
      {"?limit=99999999999", "int32"},
      {"?limit=1e400", "int32"},
      {"?limit=[1]", "int32"},
      {"?limit=null", "int32"},
      {"?limit=%221%22", "int32"},
      {"?limit=", "int32"},
      {"?limit", "NAME=VALUE"},
      {"?before=%00", "NUL"},
      {"?before=%ff", "UTF-8"},
      {"?before.x=1", "is no parameter here"},
  };
  for (const auto& [query, why] : bad)
    EXPECT_NE(refusal(kJobs, "GET", jobs + query).find(why), std::string::npos)
        << refusal(kJobs, "GET", jobs + query);
  EXPECT_NE(refusal(kAudits, "GET", std::string(kI) + "/affected?since=yesterday").find("no Timestamp"),
            std::string::npos);
  EXPECT_NE(refusal(kJobs, "GET", jobs, "{}").find("a GET has no body"), std::string::npos);
  EXPECT_NE(refusal(kJobs, "GET", "/api/v1/instances/%ff/jobs").find("the path's instance"),
            std::string::npos);
  EXPECT_NE(refusal(kJobs, "GET", "/api/v1/instances/%00/jobs").find("NUL"), std::string::npos);
}

TEST(RequestReader, AHostileBodyIsRefused) {
  const std::string jobs = std::string(kI) + "/jobs";
  const std::string deep = std::string(5000, '[') + std::string(5000, ']');
  const std::pair<std::string, const char*> bad[] = {
      {"{", "the body"},
      {"[]", "the body"},
      {"\"x\"", "the body"},
      {"{} {}", "the body"},
      {"{'targets':['a']}", "the body"},
      {"{targets:[]}", "the body"},
      {R"({"targets":["a"],"targets":["b"]})", "duplicate member"},
      {R"({"nothing":1})", "nothing"},
      {R"({"targets":"a)" + std::string("\xff") + R"("})", "the body"},
      {R"({"sources":[{"blob":{"sizeBytes":"99999999999999999999"}}]})", "the body"},
      {R"({"sources":[{"blob":{"sizeBytes":1e400}}]})", "the body"},
      {R"({"sources":[{"blob":{}, "git":{}}]})", "the body"},
      {deep, "the body"},
      {R"({"targets":)" + deep + "}", "the body"},
      {R"({"instance":"other"})", "\"instance\" stands in the path"},
  };
  for (const auto& [body, why] : bad)
    EXPECT_NE(refusal(kJobs, "POST", jobs, body).find(why), std::string::npos)
        << body.substr(0, 80) << ": " << refusal(kJobs, "POST", jobs, body);
  EXPECT_NE(refusal(kJobs, "POST", jobs + "?limit=1", "{}").find("a POST has none"), std::string::npos);
}

}  // namespace
}  // namespace kiln::transcoding
