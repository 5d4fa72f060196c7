// What a tool says of itself beside its calls, in the log and in spans: on every service that it calls, and
// with whatever it may hold.
#include "coordinator/server/tool_calls.h"

#include <algorithm>
#include <map>

#include "build/bazel/remote/execution/v2/remote_execution.grpc.pb.h"
#include "coordinator/rpc/request_metadata.h"
#include "google/bytestream/bytestream.grpc.pb.h"
#include "storage/logging/log.h"
#include "storage/remote/resource_name.h"
#include "tests/coordinator/server/access_fixture.h"
#include "tests/support/kept_spans.h"
#include "tests/support/manual_clock.h"

namespace kiln::server::testing {
namespace {

using service::readToolFacts;
using service::ToolFacts;
using std::chrono::seconds;

constexpr char kCaller[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
constexpr char kMissingMethod[] =
    "/build.bazel.remote.execution.v2.ContentAddressableStorage/FindMissingBlobs";

std::map<std::string, std::string> attributesOf(const tracing::Span& span) {
  return {span.attributes.begin(), span.attributes.end()};
}
int linesWith(const std::string& log, const std::string& part) {
  int count = 0;
  for (std::size_t at = log.find(part); at != std::string::npos; at = log.find(part, at + 1)) ++count;
  return count;
}

TEST(RequestMetadata, SaysWhichToolRunActionAndTarget) {
  reapi::RequestMetadata metadata;
  EXPECT_EQ(readToolFacts(""), ToolFacts());
  metadata.mutable_tool_details()->set_tool_name("bazel");
  EXPECT_EQ(readToolFacts(metadata.SerializeAsString()).tool, "bazel");
  metadata.mutable_tool_details()->set_tool_version("4.2.3");
  metadata.set_tool_invocation_id("run");
  metadata.set_correlated_invocations_id("pipeline");
  metadata.set_action_id("action");
  metadata.set_target_id("//:target");
  EXPECT_EQ(readToolFacts(metadata.SerializeAsString()),
            (ToolFacts{"bazel 4.2.3", "run", "pipeline", "action", "//:target"}));
}

TEST(RequestMetadata, MayHoldAnythingOfAnyLength) {
  reapi::RequestMetadata metadata;
  metadata.mutable_tool_details()->set_tool_name(std::string(100'000, 'a'));
  metadata.set_tool_invocation_id("\n2026-11-26T00:00:00Z info \x1b[31m\xe2\x80\xae" + std::string(1, '\0') +
                                  "x");
  metadata.set_correlated_invocations_id(std::string(100'000, '\n'));
  const ToolFacts facts = readToolFacts(metadata.SerializeAsString());
  EXPECT_EQ(facts.tool, std::string(200, 'a') + "...");
  EXPECT_EQ(facts.invocation, "?2026-11-26T00:00:00Z info ?[31m??x");
  EXPECT_EQ(facts.correlated, std::string(200, '?') + "...");
  EXPECT_EQ(readToolFacts("no message at all"), ToolFacts());
  EXPECT_EQ(readToolFacts("\x12\x02\xff\xfe"), ToolFacts()) << "an action that is no UTF-8";
  EXPECT_EQ(readToolFacts("\x12\x7fz"), ToolFacts()) << "longer than what there is";
}

class ToolCallsTest : public ::testing::Test {
 protected:
  ToolCallsTest() { logging::start("kiln-test"); }
  std::string told(int code, const std::string& invocation, const std::string& traceparent = "") {
    const std::optional<CallingTool> tool{
        {{"bazel 4.2.3", invocation, "pipeline", "action", "//:x"}, traceparent, "ipv4:192.0.2.1:5"}};
    ::testing::internal::CaptureStderr();
    calls_.ended({kMissingMethod, code, std::chrono::milliseconds(20), tool});
    return ::testing::internal::GetCapturedStderr();
  }

  testing_support::ManualClock clock_;
  testing_support::KeptSpans spans_;
  ToolCalls calls_{clock_, &spans_, 1, {.invocations = 2, .failures = 2, .spans = 3}};
};

TEST_F(ToolCallsTest, EachRunIsToldOfOnceInAWhile) {
  const std::string first = told(0, "one");
  EXPECT_EQ(linesWith(first, "tool calls"), 1) << first;
  for (const char* part :
       {"bazel 4.2.3", "invocation=one", "correlated=pipeline", "FindMissingBlobs", "192.0.2.1"})
    EXPECT_NE(first.find(part), std::string::npos) << part << " is not in " << first;
  EXPECT_EQ(told(0, "one"), "");
  EXPECT_NE(told(0, "two"), "");
  EXPECT_EQ(told(0, "three"), "") << "so many and no more";
  clock_.advance(std::chrono::minutes(10));
  EXPECT_NE(told(0, "three"), "");
  EXPECT_NE(told(0, "one"), "");
}

TEST_F(ToolCallsTest, AFailureIsToldWithItsAction) {
  told(0, "one");
  EXPECT_EQ(told(grpc::StatusCode::NOT_FOUND, "one"), "");
  EXPECT_EQ(told(grpc::StatusCode::CANCELLED, "one"), "");
  const std::string failed = told(grpc::StatusCode::PERMISSION_DENIED, "one");
  for (const char* part : {"call of a tool failed", "PERMISSION_DENIED", "invocation=one",
                           "correlated=pipeline", "action=action", "target=//:x"})
    EXPECT_NE(failed.find(part), std::string::npos) << part << " is not in " << failed;
  EXPECT_NE(told(grpc::StatusCode::INTERNAL, "one"), "");
  EXPECT_EQ(told(grpc::StatusCode::INTERNAL, "one"), "") << "so many in a second";
  clock_.advance(seconds(1));
  EXPECT_NE(told(grpc::StatusCode::INTERNAL, "one"), "");
}

TEST_F(ToolCallsTest, ASpanIsInTheCallersTraceOrItsOwn) {
  told(0, "one", kCaller);
  told(grpc::StatusCode::INTERNAL, "one");
  told(grpc::StatusCode::NOT_FOUND, "one", "no traceparent");
  told(0, "one");
  const auto spans = spans_.spans();
  ASSERT_EQ(spans.size(), 3u) << "so many in a second";
  EXPECT_EQ(tracing::hexOf(spans[0].self.trace), std::string(kCaller).substr(3, 32));
  EXPECT_EQ(tracing::hexOf(*spans[0].parent), std::string(kCaller).substr(36, 16));
  EXPECT_EQ(spans[0].end - spans[0].start, std::chrono::milliseconds(20));
  EXPECT_EQ(spans[0].end, clock_.now());
  EXPECT_FALSE(spans[1].parent);
  EXPECT_FALSE(spans[2].parent);
  EXPECT_NE(spans[1].self.trace, spans[2].self.trace);
  EXPECT_EQ(spans[0].error, "");
  EXPECT_EQ(spans[1].error, "INTERNAL");
  EXPECT_EQ(spans[2].error, "");
  EXPECT_EQ(attributesOf(spans[1]),
            (std::map<std::string, std::string>{
                {"kiln.rpc", "build.bazel.remote.execution.v2.ContentAddressableStorage/FindMissingBlobs"},
                {"kiln.tool", "bazel 4.2.3"},
                {"kiln.invocation", "one"},
                {"kiln.correlated", "pipeline"},
                {"kiln.clientAction", "action"},
                {"kiln.clientTarget", "//:x"}}));
  ToolCalls untraced(clock_, nullptr, 1), none(clock_, &spans_, 0);
  const std::optional<CallingTool> tool{{{.tool = "bazel"}, kCaller, ""}};
  untraced.ended({kMissingMethod, 0, {}, tool});
  none.ended({kMissingMethod, 0, {}, tool});
  EXPECT_EQ(spans_.spans().size(), 3u);
}

// A caller who says what he is, at the services themselves.
class ToolCallsWireTest : public AccessFixture {
 protected:
  // The span of one call of it.
  template <class Call>
  void spanOf(const std::string& rpc, Call&& callIt) {
    grpc::ClientContext context;
    reapi::RequestMetadata metadata;
    metadata.mutable_tool_details()->set_tool_name("bazel");
    metadata.set_tool_invocation_id("run\n");
    metadata.set_correlated_invocations_id("pipeline");
    metadata.set_action_id(rpc);
    context.AddMetadata(service::kToolHeader, metadata.SerializeAsString());
    callIt(&context);
    const auto spans = spans_.spans();
    const auto found = std::ranges::find_if(
        spans, [&](const tracing::Span& span) { return attributesOf(span)["kiln.clientAction"] == rpc; });
    ASSERT_NE(found, spans.end()) << rpc;
    auto told = attributesOf(*found);
    EXPECT_TRUE(told["kiln.rpc"].ends_with("/" + rpc)) << told["kiln.rpc"];
    EXPECT_EQ(told["kiln.tool"], "bazel");
    EXPECT_EQ(told["kiln.invocation"], "run?");
    EXPECT_EQ(told["kiln.correlated"], "pipeline");
  }
};

TEST_F(ToolCallsWireTest, OfCasByteStreamAndActionCache) {
  const auto cas = reapi::ContentAddressableStorage::NewStub(as("submitter"));
  const auto streams = google::bytestream::ByteStream::NewStub(as("submitter"));
  const auto results = reapi::ActionCache::NewStub(as("submitter"));
  spanOf("FindMissingBlobs", [&](grpc::ClientContext* context) {
    reapi::FindMissingBlobsResponse response;
    EXPECT_TRUE(cas->FindMissingBlobs(context, {}, &response).ok());
  });
  spanOf("BatchUpdateBlobs", [&](grpc::ClientContext* context) {
    reapi::BatchUpdateBlobsResponse response;
    EXPECT_TRUE(cas->BatchUpdateBlobs(context, {}, &response).ok());
  });
  spanOf("Read", [&](grpc::ClientContext* context) {
    google::bytestream::ReadRequest request;
    request.set_resource_name(storage::readName(kGranted, digestOf("nobody has it")));
    google::bytestream::ReadResponse response;
    const auto stream = streams->Read(context, request);
    EXPECT_FALSE(stream->Read(&response));
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
  });
  spanOf("Write", [&](grpc::ClientContext* context) {
    google::bytestream::WriteResponse response;
    const auto stream = streams->Write(context, &response);
    google::bytestream::WriteRequest request;
    request.set_resource_name(storage::writeName(kGranted, digestOf("x")));
    request.set_data("x");
    request.set_finish_write(true);
    stream->Write(request);
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
  });
  spanOf("GetActionResult", [&](grpc::ClientContext* context) {
    reapi::GetActionResultRequest request;
    *request.mutable_action_digest() = toProto(digestOf("no action"));
    reapi::ActionResult result;
    EXPECT_EQ(results->GetActionResult(context, request, &result).error_code(), grpc::StatusCode::NOT_FOUND);
  });
  spanOf("UpdateActionResult", [&](grpc::ClientContext* context) {
    reapi::ActionResult result;
    EXPECT_EQ(results->UpdateActionResult(context, {}, &result).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
  });
  // Who says nothing is told of nowhere.
  const auto before = spans_.spans().size();
  grpc::ClientContext silent;
  reapi::FindMissingBlobsResponse response;
  EXPECT_TRUE(cas->FindMissingBlobs(&silent, {}, &response).ok());
  EXPECT_EQ(spans_.spans().size(), before);
}

}  // namespace
}  // namespace kiln::server::testing
