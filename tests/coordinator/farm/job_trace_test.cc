// A job's trace from its submission to the index, as the coordinator's part of it tells it; and that nothing
// of it is in what is signed.
#include "coordinator/farm/job_trace.h"

#include <algorithm>
#include <map>
#include <set>

#include "signing/bundle/bundle.h"
#include "tests/coordinator/farm/farm_fixture.h"
#include "tests/support/kept_spans.h"

namespace kiln::service {
namespace {

using namespace testing;

constexpr char kCaller[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

class JobTrace : public FarmTest {
 protected:
  JobTrace() {
    farm_.observers.tracing = {&kept_, 1, &exemplars_};
    EXPECT_TRUE(addToolchain(putToolchain()).ok());
  }

  // The job, and the traceparent that came back; "" for none.
  std::pair<v1::Job, std::string> submittedBy(const std::string& caller,
                                              const v1::SubmitJobRequest& request) {
    grpc::ClientContext context;
    if (!caller.empty()) context.AddMetadata("traceparent", caller);
    v1::Job job;
    const grpc::Status status = jobStub_->SubmitJob(&context, request, &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
    const auto& metadata = context.GetServerInitialMetadata();
    const auto found = metadata.find("traceparent");
    return {job, found == metadata.end() ? "" : std::string(found->second.data(), found->second.size())};
  }
  std::string traceIn(const std::string& table) {
    const auto rows = pool_.execute("SELECT max(trace) AS trace FROM " + table);
    return rows->first([](const postgres::Row& row) { return row.get<std::string>("trace"); })
        .value()
        .value();
  }

  testing_support::KeptSpans kept_;
  telemetry::Exemplars exemplars_;
};

TEST_F(JobTrace, GoesFromTheCallerToTheIndex) {
  auto one = worker("w1");
  const auto [job, answered] = submittedBy(kCaller, request("k1"));
  EXPECT_EQ(answered.substr(0, 36), std::string(kCaller).substr(0, 36)) << "in the caller's trace";
  EXPECT_TRUE(answered.ends_with("-01")) << "the farm decides, whatever the caller wants";
  EXPECT_EQ(traceIn("jobs"), answered);
  for (const v1::Lease& lease : one->poll()) {
    EXPECT_EQ(lease.traceparent().substr(0, 36), answered.substr(0, 36));
    EXPECT_EQ(lease.job(), job.id());
  }
  settle(job.id(), {one.get()});
  ASSERT_EQ(get(job.id()).state(), v1::JOB_SUCCEEDED) << get(job.id()).error().message();

  std::map<tracing::SpanId, std::string> names;
  std::multiset<std::string> each;
  for (const tracing::Span& span : kept_.spans()) {
    EXPECT_EQ(tracing::hexOf(span.self.trace), "4bf92f3577b34da6a3ce929d0e0e4736");
    EXPECT_TRUE(names.emplace(span.self.span, span.name).second) << span.name << " has another one's id";
    EXPECT_EQ(span.error, "");
    EXPECT_LE(span.start, span.end);
    each.insert(span.name);
  }
  EXPECT_EQ(each, (std::multiset<std::string>{"image", "index", "job", "lease", "lease", "publish", "queue",
                                              "queue", "result", "result", "sign and log", "submission"}));
  const std::map<std::string, std::string> parents{
      {"job", "submission"},       {"queue", "job"},    {"lease", "job"},
      {"result", "lease"},         {"publish", "job"},  {"index", "publish"},
      {"sign and log", "publish"}, {"image", "publish"}};
  for (const tracing::Span& span : kept_.spans()) {
    ASSERT_TRUE(span.parent) << span.name;
    if (span.name == "submission")
      EXPECT_EQ(tracing::hexOf(*span.parent), "00f067aa0ba902b7");
    else
      EXPECT_EQ(names[*span.parent], parents.at(span.name)) << span.name;
  }
}

TEST_F(JobTrace, IsAnExampleOfWhatHistogramsCount) {
  auto one = worker("w1");
  const auto [job, answered] = submittedBy("", request("k1"));
  clock_.advance(std::chrono::seconds(3));
  settle(job.id(), {one.get()});
  ASSERT_EQ(get(job.id()).state(), v1::JOB_SUCCEEDED);
  const std::string trace = tracing::traceOf(answered);
  EXPECT_EQ(exemplars_.find("kiln_job_seconds", {}, 2.9, 3.1).value().trace, trace);
  EXPECT_EQ(exemplars_.find("kiln_run_wait_seconds", {{"kind", "compile"}}, 2.9, 3.1).value().trace, trace);
  EXPECT_TRUE(exemplars_.find("kiln_lease_seconds", {{"kind", "compile"}, {"outcome", "good"}}, -1, 1));
}

TEST_F(JobTrace, IsInNothingThatIsSigned) {
  auto one = worker("w1");
  const auto [job, answered] = submittedBy(kCaller, request("k1"));
  settle(job.id(), {one.get()});
  const v1::Job traced = get(job.id());
  ASSERT_EQ(traced.state(), v1::JOB_SUCCEEDED);
  EXPECT_NE(traceIn("signatures"), "") << "the log is told of the trace";
  const v1::Artifact published = artifact(traced.artifacts(0).digest());
  ASSERT_GE(published.bundles_size(), 2);
  for (const auto& bundle : published.bundles()) {
    const auto text = storage::getBlob(*blobs_, "default", *fromProto(bundle), 1 << 20).value();
    const std::string payload = signing::parseBundle(text)->envelope.payload;
    for (const std::string& where : {text, payload}) {
      EXPECT_EQ(where.find("4bf92f3577b34da6"), std::string::npos);
      EXPECT_EQ(where.find("traceparent"), std::string::npos);
    }
  }
  // The same without a trace: the same action, and the same bytes.
  farm_.observers.tracing = {};
  v1::SubmitJobRequest again = request("k2");
  DeliverySpec delivery;
  delivery.noCache = true;
  again.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
  const std::size_t before = kept_.spans().size();
  const auto [second, none] = submittedBy(kCaller, again);
  EXPECT_EQ(none, "");
  for (const v1::Lease& lease : one->poll()) EXPECT_EQ(lease.traceparent(), "");
  settle(second.id(), {one.get()});
  const v1::Job untraced = get(second.id());
  ASSERT_EQ(untraced.state(), v1::JOB_SUCCEEDED) << untraced.error().message();
  EXPECT_EQ(untraced.artifacts(0).digest(), traced.artifacts(0).digest());
  EXPECT_EQ(kept_.spans().size(), before);
  for (int i = 0; i < untraced.actions_size(); ++i)
    EXPECT_EQ(untraced.actions(i).action().hash(), traced.actions(i).action().hash());
}

TEST_F(JobTrace, WithoutACallersTraceTheJobHasOneOfItsOwn) {
  auto one = worker("w1");
  std::set<tracing::TraceId> traces;
  for (const std::string caller :
       {"", "nonsense", "00-00000000000000000000000000000000-00f067aa0ba902b7-01"}) {
    const auto [job, answered] = submittedBy(caller, request("k" + caller));
    const auto context = tracing::parseTraceparent(answered);
    ASSERT_TRUE(context) << answered;
    EXPECT_TRUE(traces.insert(context->trace).second) << "and nobody guesses it";
    EXPECT_FALSE(kept_.spans().back().parent);
  }
}

TEST_F(JobTrace, TheShareDecidesAndNotTheCaller) {
  auto one = worker("w1");
  farm_.observers.tracing.share = 0;
  std::string sampled = kCaller;
  sampled.back() = '1';
  EXPECT_EQ(submittedBy(sampled, request("k1")).second, "");
  EXPECT_EQ(traceIn("jobs"), "");
  EXPECT_TRUE(kept_.spans().empty());
}

}  // namespace
}  // namespace kiln::service
