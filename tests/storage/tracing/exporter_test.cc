#include "storage/tracing/exporter.h"

#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <sstream>

#include "manifest/json/json.h"
#include "tests/support/manual_clock.h"

namespace kiln::tracing {
namespace {

using std::chrono::milliseconds;

class Kept final : public SpanSink {
 public:
  void add(Span span) override { spans.push_back(std::move(span)); }
  std::vector<Span> spans;
};

const SpanContext kParent{{1}, {2}, true};

Span sampleSpan() {
  return {.self = {{0x0a, 0x0b}, {0x0c}, true},
          .parent = std::nullopt,
          .name = "job",
          .kind = SpanKind::kServer,
          .start = TimePoint(Duration(1'790'000'000'123'456)),
          .end = TimePoint(Duration(1'790'000'001'000'000)),
          .attributes = {{"kiln.job", "j1"}},
          .error = {}};
}

TEST(Scope, BecomesASpanAsItEnds) {
  Kept sink;
  testing_support::ManualClock clock;
  {
    Scope scope(&sink, kParent, "publish", clock, SpanKind::kClient);
    ASSERT_TRUE(scope.on());
    EXPECT_EQ(parseTraceparent(scope.header()), scope.context());
    scope.note("kiln.job", "j1");
    scope.failed("no signer");
    clock.advance(milliseconds(5));
    EXPECT_TRUE(sink.spans.empty());
  }
  ASSERT_EQ(sink.spans.size(), 1u);
  const Span& span = sink.spans[0];
  EXPECT_EQ(span.self.trace, kParent.trace);
  EXPECT_NE(span.self.span, kParent.span);
  EXPECT_EQ(span.parent, kParent.span);
  EXPECT_EQ(span.end - span.start, milliseconds(5));
  EXPECT_EQ(span.error, "no signer");
}

TEST(Scope, IsNothingWhereNothingIsTraced) {
  Kept sink;
  const testing_support::ManualClock clock;
  const SpanContext unsampled{{1}, {2}, false};
  for (Scope* scope : {new Scope(nullptr, kParent, "x", clock), new Scope(&sink, std::nullopt, "x", clock),
                       new Scope(&sink, unsampled, "x", clock)}) {
    scope->note("a", "b");
    EXPECT_FALSE(scope->on());
    EXPECT_EQ(scope->header(), "");
    EXPECT_EQ(scope->context(), std::nullopt);
    delete scope;
  }
  EXPECT_TRUE(sink.spans.empty());
}

// tests/interop/otlp_check.py reads the same file by the generated classes of the published protos.
TEST(Otlp, IsWhatReceiversTake) {
  Span child = sampleSpan();
  child.parent = child.self.span;
  child.self.span = {0x0d};
  child.end = child.start - milliseconds(1);  // a clock that was put back
  child.attributes = {{"kiln.stage", "a\n\x1b[2J\xff" + std::string(5000, 'x')}};
  child.error = "it \"failed\"";
  const std::string json = otlpJson({"kiln-test", "host/1"}, std::vector<Span>{sampleSpan(), child});
  std::ifstream file(std::string(KILN_GOLDEN) + "/otlp/traces.json");
  std::ostringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(json + "\n", golden.str());
  EXPECT_TRUE(parseJson(json));
}

// What a receiver is sent, and what it says.
struct Receiver {
  std::vector<std::string> requests;  // on the exporter's thread; read once that has ended
  std::vector<Status> answers;        // the last one for all further ones
  Post post() {
    return [this](const std::string& request) {
      requests.push_back(request);
      return answers.empty() ? Status() : answers[std::min(requests.size(), answers.size()) - 1];
    };
  }
};

TEST(Exporter, SendsWhatWaitsBeforeItEnds) {
  Receiver receiver;
  {
    Exporter exporter({"kiln-test", "1"}, receiver.post(), {.batch = 2, .interval = std::chrono::hours(1)});
    for (int i = 0; i < 5; ++i) exporter.add(sampleSpan());
  }
  std::size_t spans = 0;
  for (const std::string& request : receiver.requests)
    spans += parseJson(request)->at("resourceSpans")[0]["scopeSpans"][0]["spans"].size();
  EXPECT_EQ(spans, 5u);
  EXPECT_GE(receiver.requests.size(), 3u);
}

TEST(Exporter, DropsWhatThereIsNoRoomForAndNeverWaits) {
  std::promise<void> entered, release;
  bool first = true;
  Exporter exporter({"kiln-test", "1"},
                    [&](const std::string&) -> Status {
                      if (std::exchange(first, false)) {
                        entered.set_value();
                        release.get_future().wait();
                      }
                      return {};
                    },
                    {.waiting = 3, .batch = 1, .interval = milliseconds(1)});
  exporter.add(sampleSpan());
  entered.get_future().wait();  // one is on its way, and the receiver does not answer
  for (int i = 0; i < 5; ++i) exporter.add(sampleSpan());
  EXPECT_EQ(exporter.counts().dropped, 2u);
  EXPECT_EQ(exporter.counts().exported, 0u);
  release.set_value();
}

TEST(Exporter, TriesAgainWhatTheReceiverMayTakeLater) {
  Receiver receiver;
  receiver.answers = {fail(Code::kUnavailable, "503"), fail(Code::kUnavailable, "503"), Status()};
  {
    Exporter exporter({"kiln-test", "1"}, receiver.post(), {.batch = 1, .interval = milliseconds(1)});
    exporter.add(sampleSpan());
    while (exporter.counts().exported == 0) std::this_thread::yield();
  }
  EXPECT_EQ(receiver.requests.size(), 3u);
  EXPECT_EQ(receiver.requests[0], receiver.requests[2]);
}

TEST(Exporter, GivesUpWhatTheReceiverDoesNotWant) {
  Receiver receiver;
  receiver.answers = {fail(Code::kFailedPrecondition, "400")};
  Exporter exporter({"kiln-test", "1"}, receiver.post(), {.batch = 1, .interval = milliseconds(1)});
  exporter.add(sampleSpan());
  while (exporter.counts().failed == 0) std::this_thread::yield();
  EXPECT_EQ(exporter.counts().exported, 0u);
}

TEST(Exporter, ReceiversAreUrlsWithoutSecrets) {
  for (const char* good :
       {"http://127.0.0.1:4318", "https://collector.example.org/otlp/", "http://[::1]:4318"})
    EXPECT_TRUE(checkReceiver(good)) << good;
  for (const char* bad : {"", "127.0.0.1:4318", "ftp://a", "file:///etc/passwd", "http://", "http:///x",
                          "http://user:secret@host", "http://host/?token=secret", "http://host/#x",
                          "http://host/a b", "http://host/\n"}) {
    const Status refused = checkReceiver(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_EQ(refused.error().message.find("secret"), std::string::npos) << refused.error().message;
  }
  EXPECT_EQ(exportTo("", "kiln-test").value(), nullptr);
  EXPECT_FALSE(exportTo("nothing", "kiln-test"));
}

}  // namespace
}  // namespace kiln::tracing
