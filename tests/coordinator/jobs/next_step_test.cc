#include "coordinator/jobs/next_step.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/coordinator/jobs/snapshot_builder.h"

namespace kiln::jobs {
namespace {

using namespace testing;
using index::RunState;

template <class T>
T expectStep(const Step& step) {
  EXPECT_TRUE(std::holds_alternative<T>(step)) << "another step: alternative " << step.index();
  return std::holds_alternative<T>(step) ? std::get<T>(step) : T{};
}

DeliverySpec delivery(int builders = 1, int operators = 1) {
  DeliverySpec out;
  out.builders = builders;
  out.operators = operators;
  return out;
}

TEST(NextStep, AFreshJobPlansItsActions) {
  auto snapshot = plannedJob();
  snapshot.actions.clear();
  expectStep<PlanActions>(nextStep(snapshot, delivery()));
}

TEST(NextStep, AGitSourceIsFetchedFirst) {
  auto snapshot = plannedJob();
  snapshot.sources[0].blob.reset();
  snapshot.sources[0].git = index::GitSource{"https://git.example/r", std::string(40, 'a'), "m.onnx"};
  index::ActionRecord fetch{index::ActionKind::kFetch, "", digestOf(std::string_view("fetch")), 0};
  snapshot.actions = {fetch};
  auto queue = expectStep<QueueRuns>(nextStep(snapshot, delivery(3)));
  ASSERT_EQ(queue.runs.size(), 1u) << "a fetch is run once, whatever the number of builders";
  snapshot.runs = {run(fetch, RunState::kLeased)};
  expectStep<Wait>(nextStep(snapshot, delivery()));
  snapshot.runs = {run(fetch, RunState::kDone)};
  snapshot.results = {result(fetch, "w1")};
  EXPECT_EQ(expectStep<ResolveSource>(nextStep(snapshot, delivery())).source, 0);
  snapshot.sources[0].blob = digestOf(std::string_view("model"));
  expectStep<PlanActions>(nextStep(snapshot, delivery()));
}

// What a source does not have or may not give is no fault of a model; anything else of a fetcher is its own.
TEST(NextStep, AFetchEndsTheJobWithItsOwnExitCode) {
  auto snapshot = plannedJob();
  snapshot.sources[0] = {"model.onnx", {}, index::GitSource{"https://h/r", std::string(40, 'a'), "m"}, {}};
  const index::ActionRecord fetch{index::ActionKind::kFetch, "", digestOf(std::string_view("fetch")), 0};
  snapshot.actions = {fetch};
  const std::pair<int, int> ends[] = {{3, 3}, {4, 4}, {5, 5}, {6, 6}, {8, 8}, {9, 1}, {77, 1}};
  for (const auto& [exitCode, expected] : ends) {
    snapshot.runs = {run(fetch, RunState::kDone)};
    snapshot.results = {result(fetch, "w1"), result(fetch, "w2")};
    for (index::ResultRecord& record : snapshot.results) {
      record.exitCode = exitCode;
      record.result =
          resultBytes({}, exitCode, R"({"error":{"code":"NOT_FOUND","details":{},"message":"no"}})");
      record.outputs = outputsDigest(*readOutputs(record));
    }
    const End end = expectStep<End>(nextStep(snapshot, delivery()));
    EXPECT_EQ(end.error->exitCode, expected) << exitCode;
  }
}

TEST(NextStep, EachFetchResolvesItsOwnSource) {
  auto snapshot = plannedJob();
  const index::GitSource git{"https://git.example/r", std::string(40, 'a'), "m.onnx"};
  snapshot.sources = {{"m.onnx", {}, git, {}}, {"m.onnx.data", {}, git, {}}};
  const index::ActionRecord first{index::ActionKind::kFetch, "", digestOf("first fetch"), 0},
      second{index::ActionKind::kFetch, "", digestOf("second fetch"), 1};
  snapshot.actions = {first, second};
  snapshot.runs = {run(first, RunState::kLeased), run(second, RunState::kDone)};
  snapshot.results = {result(second, "w2")};
  EXPECT_EQ(expectStep<ResolveSource>(nextStep(snapshot, delivery())).source, 1);
  snapshot.sources[1].blob = digestOf("data");
  expectStep<Wait>(nextStep(snapshot, delivery()));
  snapshot.runs[0].state = RunState::kDone;
  snapshot.results.push_back(result(first, "w1"));
  const auto resolve = expectStep<ResolveSource>(nextStep(snapshot, delivery()));
  EXPECT_EQ(resolve.source, 0);
  EXPECT_EQ(resolve.result.worker, "w1");
}

TEST(NextStep, QueuesOneReferenceAndAsManyCompilesAsBuildersWanted) {
  auto snapshot = plannedJob();
  auto queue = expectStep<QueueRuns>(nextStep(snapshot, delivery(2)));
  ASSERT_EQ(queue.runs.size(), 3u);
  EXPECT_EQ(queue.runs[0].action.kind, index::ActionKind::kReference);
  EXPECT_EQ(queue.runs[1].action.kind, index::ActionKind::kCompile);
  EXPECT_EQ(queue.runs[2].action.kind, index::ActionKind::kCompile);
}

TEST(NextStep, OnlyTheMissingBuildersRun) {
  auto snapshot = plannedJob();
  snapshot.results = {result(referenceAction(), "w1"), result(compileAction(), "w1")};
  auto queue = expectStep<QueueRuns>(nextStep(snapshot, delivery(2)));
  ASSERT_EQ(queue.runs.size(), 1u);
  EXPECT_EQ(queue.runs[0].excludedWorkers, std::vector<std::string>{"op/w1"});
}

TEST(NextStep, OneWorkerCountsOnce) {
  auto snapshot = plannedJob();
  snapshot.results = {result(referenceAction(), "w1"), result(compileAction(), "w1"),
                      result(compileAction(), "w1")};
  EXPECT_EQ(expectStep<QueueRuns>(nextStep(snapshot, delivery(2))).runs.size(), 1u);
}

TEST(NextStep, OperatorsOfOneNameCountOnce) {
  auto snapshot = plannedJob();
  snapshot.results = {result(referenceAction(), "w1"), result(compileAction(), "w1"),
                      result(compileAction(), "w2")};
  auto queue = expectStep<QueueRuns>(nextStep(snapshot, delivery(2, 2)));
  EXPECT_EQ(queue.runs.size(), 1u) << "two builders of one operator do not make two operators";
  snapshot.results.push_back(result(compileAction(), "w3", "program", "other"));
  EXPECT_EQ(expectStep<Publish>(nextStep(snapshot, delivery(2, 2))).evidence.size(), 3u);
}

// What comes later than enough of them changes nothing, so that a publication can be repeated.
TEST(NextStep, TheOldestResultsThatAreEnoughAreTheEvidence) {
  auto snapshot = plannedJob();
  snapshot.results = {result(referenceAction(), "w1")};
  for (const char* operatorName : {"one", "one", "two", "two", "three"})
    snapshot.results.push_back(
        result(compileAction(), "w" + std::to_string(snapshot.results.size()), "program", operatorName));
  const auto evidence = [&](int builders, int operators) {
    return expectStep<Publish>(nextStep(snapshot, delivery(builders, operators))).evidence;
  };
  EXPECT_EQ(evidence(1, 1).size(), 1u);
  EXPECT_EQ(evidence(1, 1).front().worker, "w1");
  EXPECT_EQ(evidence(2, 1).size(), 2u);
  EXPECT_EQ(evidence(1, 2).size(), 3u);
  EXPECT_EQ(evidence(3, 2).size(), 3u);
  EXPECT_EQ(evidence(4, 2).size(), 4u);
  EXPECT_EQ(evidence(1, 3).size(), 5u);
  DeliverySpec all = delivery(3);
  all.majority = true;
  EXPECT_EQ(expectStep<Publish>(nextStep(snapshot, all)).evidence.size(), 5u) << "a majority is all of it";
}

TEST(NextStep, PublishesWhenBuildersAgreeAndTheFixturesAreMade) {
  auto snapshot = plannedJob();
  snapshot.runs = {run(referenceAction(), RunState::kLeased), run(compileAction(), RunState::kDone)};
  snapshot.results = {result(compileAction(), "w1")};
  expectStep<Wait>(nextStep(snapshot, delivery()));
  snapshot.runs[0].state = RunState::kDone;
  snapshot.results.push_back(result(referenceAction(), "w2"));
  auto publish = expectStep<Publish>(nextStep(snapshot, delivery()));
  EXPECT_EQ(publish.target, 0);
  EXPECT_EQ(publish.action, compileAction().action);
  ASSERT_EQ(publish.evidence.size(), 1u);
  EXPECT_EQ(publish.reference.worker, "w2");
  snapshot.targets[0].artifact = digestOf(std::string_view("artifact"));
  EXPECT_EQ(expectStep<End>(nextStep(snapshot, delivery())).state, index::JobState::kSucceeded);
}

TEST(NextStep, ALaterReferenceDoesNotChangeWhatIsPublished) {
  auto snapshot = plannedJob();
  snapshot.results = {result(referenceAction(), "w2"), result(compileAction(), "w1"),
                      result(referenceAction(), "w3")};
  EXPECT_EQ(expectStep<Publish>(nextStep(snapshot, delivery())).reference.worker, "w2");
}

TEST(NextStep, DisagreementFailsWithExitNineAndNamesTheFiles) {
  auto snapshot = plannedJob();
  snapshot.runs = {run(referenceAction(), RunState::kDone)};
  snapshot.results = {result(referenceAction(), "w1"), result(compileAction(), "w1", "one"),
                      result(compileAction(), "w2", "two")};
  auto end = expectStep<End>(nextStep(snapshot, delivery(2)));
  EXPECT_EQ(end.state, index::JobState::kFailed);
  ASSERT_TRUE(end.error);
  EXPECT_EQ(end.error->exitCode, 9);
  EXPECT_NE(end.error->message.find("program.so"), std::string::npos);
  EXPECT_EQ(end.error->message.find("weights"), std::string::npos) << "equal files are not named";
  EXPECT_NE(end.error->details.find("\"w2\""), std::string::npos);
  EXPECT_EQ(end.disputed, compileAction().action);
}

TEST(NextStep, OneWhoseToolFailsWhereAnotherSucceedsDisagrees) {
  auto snapshot = plannedJob();
  auto bad = result(compileAction(), "w2");
  bad.exitCode = 4;
  snapshot.results = {result(referenceAction(), "w1"), result(compileAction(), "w1"), bad};
  auto end = expectStep<End>(nextStep(snapshot, delivery(2)));
  ASSERT_TRUE(end.error);
  EXPECT_EQ(end.error->exitCode, 9);
  EXPECT_NE(end.error->message.find("ended with"), std::string::npos) << end.error->message;
}

// Killed, for its memory maybe: that is no other result, and no word about the model.
TEST(NextStep, WhoseToolIsKilledIsReplacedByAnotherBuilder) {
  auto snapshot = plannedJob();
  auto killed = [](const std::string& worker) {
    auto record = result(compileAction(), worker);
    record.exitCode = 137;
    return record;
  };
  snapshot.runs = {run(compileAction(), RunState::kDone), run(compileAction(), RunState::kDone)};
  snapshot.results = {result(referenceAction(), "w1"), result(compileAction(), "w1"), killed("w2")};
  const auto queue = expectStep<QueueRuns>(nextStep(snapshot, delivery(2)));
  ASSERT_EQ(queue.runs.size(), 1u);
  EXPECT_EQ(queue.runs[0].excludedWorkers, (std::vector<std::string>{"op/w1", "op/w2"}));
  snapshot.results.push_back(result(compileAction(), "w3"));
  const auto publish = expectStep<Publish>(nextStep(snapshot, delivery(2)));
  EXPECT_EQ(publish.evidence.size(), 2u);
  ASSERT_EQ(publish.dissent.size(), 1u);
  EXPECT_EQ(publish.dissent[0].worker, "w2");
  snapshot.results.back() = killed("w3");
  EXPECT_EQ(expectStep<End>(nextStep(snapshot, delivery(2))).error->exitCode, 1) << "two were";
  snapshot.results.pop_back();
  snapshot.runs.push_back(run(compileAction(), RunState::kFailed));
  EXPECT_NE(expectStep<End>(nextStep(snapshot, delivery(2))).error->message.find("killed by signal 9"),
            std::string::npos)
      << "there is nobody else";
}

TEST(NextStep, ExitCodesUpTo128AreTheToolsOwnWord) {
  auto snapshot = plannedJob();
  snapshot.results = {result(referenceAction(), "w1"), result(compileAction(), "w1"),
                      result(compileAction(), "w2")};
  snapshot.results.back().exitCode = 128;
  EXPECT_EQ(expectStep<End>(nextStep(snapshot, delivery(2))).error->exitCode, 9) << "it contradicts";
  snapshot.results.back().exitCode = 129;
  EXPECT_EQ(expectStep<QueueRuns>(nextStep(snapshot, delivery(2))).runs.size(), 1u) << "it was killed";
}

TEST(NextStep, AMajorityDecidesOnceAllHaveSpoken) {
  auto snapshot = plannedJob();
  DeliverySpec three = delivery(3);
  three.majority = true;
  snapshot.runs = {run(compileAction(), RunState::kLeased)};
  snapshot.results = {result(referenceAction(), "w1"), result(compileAction(), "w1", "one"),
                      result(compileAction(), "w2", "two")};
  expectStep<Wait>(nextStep(snapshot, three));
  snapshot.runs[0].state = RunState::kDone;
  snapshot.results.push_back(result(compileAction(), "w3", "two"));
  auto publish = expectStep<Publish>(nextStep(snapshot, three));
  ASSERT_EQ(publish.evidence.size(), 2u);
  EXPECT_EQ(publish.evidence[0].worker, "w2");
  EXPECT_EQ(publish.evidence[1].worker, "w3");
  ASSERT_EQ(publish.dissent.size(), 1u);
  EXPECT_EQ(publish.dissent[0].worker, "w1");
  EXPECT_EQ(expectStep<End>(nextStep(snapshot, delivery(3))).error->exitCode, 9) << "where all must agree";

  snapshot.results.back() = result(compileAction(), "w3", "three");
  auto end = expectStep<End>(nextStep(snapshot, three));
  ASSERT_TRUE(end.error);
  EXPECT_EQ(end.error->exitCode, 9) << "no majority";
  EXPECT_EQ(end.disputed, compileAction().action);
}

// Half is not more than half, whichever group spoke first and however many groups there are.
TEST(NextStep, ATieIsNoMajority) {
  const std::vector<std::vector<std::string>> ties{{"one", "one", "two", "two"},
                                                   {"one", "two", "two", "one"},
                                                   {"one", "one", "two", "three"},
                                                   {"one", "one", "one", "two", "two", "three"}};
  for (const std::vector<std::string>& programs : ties) {
    auto snapshot = plannedJob();
    DeliverySpec wanted = delivery(static_cast<int>(programs.size()));
    wanted.majority = true;
    snapshot.results = {result(referenceAction(), "w0")};
    for (const std::string& program : programs)
      snapshot.results.push_back(
          result(compileAction(), "w" + std::to_string(snapshot.results.size()), program));
    auto end = expectStep<End>(nextStep(snapshot, wanted));
    ASSERT_TRUE(end.error) << programs.size() << " builders";
    EXPECT_EQ(end.error->exitCode, 9);
    EXPECT_EQ(end.disputed, compileAction().action);

    snapshot.results.push_back(result(compileAction(), "w9", "one"));
    wanted.builders = static_cast<int>(programs.size()) + 1;
    EXPECT_EQ(expectStep<Publish>(nextStep(snapshot, wanted)).evidence.size(),
              static_cast<std::size_t>(std::ranges::count(programs, "one")) + 1)
        << "one more decides";
  }
}

// What it says of the input is the word of one builder, without a receipt.
TEST(NextStep, ABuilderThatFailedWithoutAResultIsOutvoted) {
  auto snapshot = plannedJob();
  DeliverySpec three = delivery(3);
  three.majority = true;
  auto liar = run(compileAction(), RunState::kFailed);
  liar.worker = "liar";
  liar.errorCode = static_cast<int>(Code::kInvalidArgument);
  liar.errorMessage = "no model";
  snapshot.runs = {liar, run(compileAction(), RunState::kLeased), run(compileAction(), RunState::kLeased)};
  snapshot.results = {result(referenceAction(), "w1"), result(compileAction(), "w1")};
  snapshot.runs[1].state = RunState::kDone;
  expectStep<Wait>(nextStep(snapshot, three));
  snapshot.runs[2].state = RunState::kDone;
  snapshot.results.push_back(result(compileAction(), "w2"));
  auto publish = expectStep<Publish>(nextStep(snapshot, three));
  EXPECT_EQ(publish.evidence.size(), 2u);
  EXPECT_TRUE(publish.dissent.empty()) << "it left no receipt to be named";

  snapshot.results.back() = result(compileAction(), "w2", "other");
  EXPECT_EQ(expectStep<End>(nextStep(snapshot, three)).error->exitCode, 9) << "one each is no majority";
  snapshot.results.pop_back();
  snapshot.runs[2] = liar;
  const auto end = expectStep<End>(nextStep(snapshot, three));
  ASSERT_TRUE(end.error);
  EXPECT_NE(end.error->message.find("no model"), std::string::npos) << "now they are the majority";
}

TEST(NextStep, WhereAllMustAgreeAFailureWaitsForTheOthers) {
  auto snapshot = plannedJob();
  auto bad = [](const std::string& worker) {
    auto record = result(compileAction(), worker);
    record.exitCode = 4;
    record.result = resultBytes({}, 4, "");
    record.outputs = outputsDigest({});
    return record;
  };
  snapshot.runs = {run(compileAction(), RunState::kDone), run(compileAction(), RunState::kLeased)};
  snapshot.results = {result(referenceAction(), "w1"), bad("w1")};
  expectStep<Wait>(nextStep(snapshot, delivery(2)));
  snapshot.results.push_back(bad("w2"));
  EXPECT_EQ(expectStep<End>(nextStep(snapshot, delivery(2))).error->exitCode, 4);
  snapshot.results.back() = result(compileAction(), "w2");
  EXPECT_EQ(expectStep<End>(nextStep(snapshot, delivery(2))).error->exitCode, 9);
}

TEST(NextStep, OperatorsCountAmongThoseWhoAgree) {
  auto snapshot = plannedJob();
  DeliverySpec wanted = delivery(3, 2);
  wanted.majority = true;
  snapshot.results = {result(referenceAction(), "w1"), result(compileAction(), "w1", "one", "acme"),
                      result(compileAction(), "w2", "one", "acme"),
                      result(compileAction(), "w3", "two", "other")};
  auto queue = expectStep<QueueRuns>(nextStep(snapshot, wanted));
  ASSERT_EQ(queue.runs.size(), 1u) << "the dissenting operator does not vouch for the outputs";
  EXPECT_EQ(queue.runs[0].excludedWorkers, (std::vector<std::string>{"acme/w1", "acme/w2", "other/w3"}));
  EXPECT_EQ(queue.runs[0].countedOperators, (std::vector<std::string>{"acme", "acme"}));
}

TEST(NextStep, AMajorityOfFailuresIsTheToolsOwnReason) {
  auto snapshot = plannedJob();
  DeliverySpec three = delivery(3);
  three.majority = true;
  auto bad = [&](const std::string& worker) {
    auto record = result(compileAction(), worker);
    record.exitCode = 4;
    record.result = resultBytes({}, 4, "");
    record.outputs = outputsDigest({});
    return record;
  };
  snapshot.results = {result(referenceAction(), "w1"), bad("w1"), result(compileAction(), "w2")};
  snapshot.runs = {run(compileAction(), RunState::kLeased)};
  expectStep<Wait>(nextStep(snapshot, three));
  snapshot.results.push_back(bad("w3"));
  EXPECT_EQ(expectStep<End>(nextStep(snapshot, three)).error->exitCode, 4);
}

TEST(NextStep, AFailingToolFailsTheJobWithItsOwnReason) {
  auto snapshot = plannedJob();
  auto bad = result(compileAction(), "w1");
  bad.exitCode = 4;
  bad.result = resultBytes(
      {}, 4,
      "stage: capture\n"
      R"({"error":{"code":"UNIMPLEMENTED","message":"node f: operator Frob","details":{"unsupported":[]}}})"
      "\n");
  snapshot.runs = {run(compileAction(), RunState::kDone), run(referenceAction(), RunState::kLeased)};
  snapshot.results = {bad};
  const auto expectItsReason = [&] {
    auto end = expectStep<End>(nextStep(snapshot, delivery()));
    ASSERT_TRUE(end.error);
    EXPECT_EQ(end.error->exitCode, 4);
    EXPECT_EQ(end.error->code, static_cast<int>(Code::kUnimplemented));
    EXPECT_EQ(end.error->message, "node f: operator Frob");
    EXPECT_EQ(end.error->details, "{\"unsupported\":[]}");
  };
  const auto queue = expectStep<QueueRuns>(nextStep(snapshot, delivery()));
  ASSERT_EQ(queue.runs.size(), 1u) << "it is one builder's word: another is asked";
  EXPECT_EQ(queue.runs[0].excludedWorkers, std::vector<std::string>{"op/w1"});
  snapshot.runs.push_back(run(compileAction(), RunState::kLeased));
  expectStep<Wait>(nextStep(snapshot, delivery()));
  snapshot.runs.back().state = RunState::kFailed;
  expectItsReason();  // nobody else could be asked
  snapshot.runs.back().state = RunState::kDone;
  bad.worker = "w2";
  snapshot.results.push_back(bad);
  expectItsReason();  // and who was says the same
  snapshot.results.back().exitCode = 3;
  EXPECT_EQ(expectStep<End>(nextStep(snapshot, delivery())).error->exitCode, 9) << "they contradict";
}

TEST(NextStep, ALoneBuildersFailureIsOutvotedByWhoSucceeds) {
  auto snapshot = plannedJob();
  auto bad = [](const index::ActionRecord& action) {
    auto record = result(action, "liar");
    record.exitCode = 3;
    return record;
  };
  snapshot.results = {bad(referenceAction()), bad(compileAction())};
  EXPECT_EQ(expectStep<QueueRuns>(nextStep(snapshot, delivery())).runs.size(), 2u);
  snapshot.results.push_back(result(referenceAction(), "w2"));
  snapshot.results.push_back(result(compileAction(), "w2"));
  const auto publish = expectStep<Publish>(nextStep(snapshot, delivery()));
  ASSERT_EQ(publish.evidence.size(), 1u);
  EXPECT_EQ(publish.evidence[0].worker, "w2");
  EXPECT_EQ(publish.reference.worker, "w2");
  ASSERT_EQ(publish.dissent.size(), 1u);
  EXPECT_EQ(publish.dissent[0].worker, "liar");
}

// A reused result or a run that was under way may come after what failed.
TEST(NextStep, ASuccessStandsWhateverElseFailed) {
  const auto failure = [](const std::string& worker, int exitCode) {
    auto record = result(compileAction(), worker);
    record.exitCode = exitCode;
    return record;
  };
  for (const int other : {3, 4, 137}) {
    auto snapshot = plannedJob();
    snapshot.results = {result(referenceAction(), "w1"), failure("w1", 3), failure("w2", other),
                        result(compileAction(), "w3")};
    const auto publish = expectStep<Publish>(nextStep(snapshot, delivery()));
    ASSERT_EQ(publish.evidence.size(), 1u) << other;
    EXPECT_EQ(publish.evidence[0].worker, "w3");
    EXPECT_EQ(publish.dissent.size(), 2u);
  }
  auto snapshot = plannedJob();
  snapshot.runs = {run(compileAction(), RunState::kFailed)};
  snapshot.results = {result(referenceAction(), "w1"), result(compileAction(), "w3")};
  EXPECT_EQ(expectStep<Publish>(nextStep(snapshot, delivery())).evidence.size(), 1u);
}

TEST(NextStep, ARunOutOfAttemptsFailsWithTheLastReason) {
  auto snapshot = plannedJob();
  auto failed = run(compileAction(), RunState::kFailed);
  failed.attempts = 3;
  failed.worker = "w2";
  failed.errorCode = static_cast<int>(Code::kUnavailable);
  failed.errorMessage = "the lease expired";
  snapshot.runs = {failed};
  auto end = expectStep<End>(nextStep(snapshot, delivery()));
  ASSERT_TRUE(end.error);
  EXPECT_EQ(end.error->exitCode, 7);
  EXPECT_NE(end.error->message.find("3 times, last on worker w2: the lease expired"), std::string::npos);
}

TEST(NextStep, ARunThatNobodyCouldTryAgainSaysSo) {
  auto snapshot = plannedJob();
  auto failed = run(compileAction(), RunState::kFailed);
  failed.worker = "w2";
  failed.errorMessage = "gone";
  const auto messageAfter = [&](int attempts) {
    failed.attempts = attempts;
    snapshot.runs = {run(referenceAction(), RunState::kLeased), failed};
    return expectStep<End>(nextStep(snapshot, delivery())).error.value_or(index::JobErrorRecord{}).message;
  };
  EXPECT_NE(messageAfter(0).find("the compiler failed on worker w2, and no other can try it: gone"),
            std::string::npos)
      << messageAfter(0);
  EXPECT_NE(messageAfter(1).find("the compiler failed 1 time, last on worker w2: gone"), std::string::npos)
      << messageAfter(1);
}

TEST(NextStep, CancellationWinsOverEverything) {
  auto snapshot = plannedJob();
  snapshot.job.cancelWanted = true;
  EXPECT_EQ(expectStep<End>(nextStep(snapshot, delivery())).state, index::JobState::kCancelled);
  snapshot.job.state = index::JobState::kSucceeded;
  expectStep<Wait>(nextStep(snapshot, delivery()));
}

}  // namespace
}  // namespace kiln::jobs
