#include "api/transcoding/message_json.h"

#include <gtest/gtest.h>

#include "kiln/v1/job.pb.h"
#include "manifest/base/exit_code.h"
#include "manifest/json/json.h"

namespace kiln::transcoding {
namespace {

TEST(MessageJson, IsTheProtobufMapping) {
  v1::Job job;
  job.set_id("<script>\xe2\x80\xae");
  job.set_state(v1::JOB_RUNNING);
  job.set_revision(18446744073709551615u);
  job.mutable_submitted()->set_seconds(0);
  job.mutable_toolchain_digest()->set_size_bytes(7);
  const Json json = parseJson(toJson(job).value()).value();
  EXPECT_EQ(json, (Json{{"id", "<script>\xe2\x80\xae"},
                        {"state", "JOB_RUNNING"},
                        {"revision", "18446744073709551615"},
                        {"submitted", "1970-01-01T00:00:00Z"},
                        {"toolchainDigest", {{"sizeBytes", "7"}}}}));
  EXPECT_EQ(toJson(job)->find('<'), std::string::npos) << "inert within a page as well";
  v1::Job again;
  ASSERT_TRUE(fromJson(*toJson(job), again));
  EXPECT_EQ(again.SerializeAsString(), job.SerializeAsString());
}

TEST(MessageJson, EveryErrorSaysClassAndExitCode) {
  for (int code = 1; code <= 16; ++code) {
    const Error error{static_cast<Code>(code), "what, and what next", R"({"a":1})"};
    const Json json = parseJson(errorJson(errorOf(error))).value();
    EXPECT_EQ(json["code"], code);
    EXPECT_EQ(json["message"], "what, and what next");
    ASSERT_EQ(json["details"].size(), 1u);
    EXPECT_EQ(json["details"][0]["@type"], "type.googleapis.com/kiln.v1.JobError");
    EXPECT_EQ(json["details"][0].value("exitCode", 0), exitCodeOf(error.code));
    EXPECT_EQ(json["details"][0]["detailsJson"], R"({"a":1})");
    const unsigned status = httpStatusOf(error.code);
    EXPECT_TRUE(status >= 400 && status < 600) << code;
  }
  EXPECT_EQ(httpStatusOf(Code::kUnauthenticated), 401u);
  EXPECT_EQ(httpStatusOf(Code::kPermissionDenied), 403u);
  EXPECT_EQ(httpStatusOf(Code::kNotFound), 404u);
  EXPECT_EQ(httpStatusOf(Code::kResourceExhausted), 429u);
  EXPECT_EQ(httpStatusOf(Code::kUnavailable), 503u);
}

TEST(MessageJson, WhatAServiceAnsweredKeepsItsDetails) {
  v1::JobError detail;
  detail.set_code(9);
  detail.set_exit_code(3);
  detail.set_details_json("{}");
  google::rpc::Status rich;
  rich.set_code(9);
  rich.set_message("cut");
  rich.add_details()->PackFrom(detail);
  const Json kept = parseJson(errorJson(errorOf(grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "whole",
                                                             rich.SerializeAsString()))))
                        .value();
  EXPECT_EQ(kept["message"], "whole");
  EXPECT_EQ(kept["details"][0]["exitCode"], 3);
  const Json plain =
      parseJson(errorJson(errorOf(grpc::Status(grpc::StatusCode::NOT_FOUND, "", "no status")))).value();
  EXPECT_EQ(plain["message"], "NOT_FOUND");
  EXPECT_EQ(plain["details"][0]["exitCode"], kExitNotFound);
}

TEST(MessageJson, AnErrorThatIsNoTextIsStillOne) {
  const Json json = parseJson(errorJson(errorOf(Error{Code::kInternal, "\xff", ""}))).value();
  EXPECT_EQ(json["code"], 13);
}

}  // namespace
}  // namespace kiln::transcoding
