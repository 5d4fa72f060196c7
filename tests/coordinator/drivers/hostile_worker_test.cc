// A worker with a real certificate and a real key that lies in what it signs.
#include <fmt/format.h>

#include <map>

#include "coordinator/jobs/evidence.h"
#include "tests/coordinator/farm/farm_fixture.h"

namespace kiln::service {
namespace {

using namespace testing;
using testing_support::ToolOutcome;

class HostileWorker : public FarmTest {
 protected:
  HostileWorker() { EXPECT_TRUE(addToolchain(putToolchain()).ok()); }

  int resultsKept() { return pool_.execute("SELECT 1 FROM action_results")->size(); }

  // Reports what `change` makes of the outputs, with a receipt that agrees.
  void resign(testing_support::FakeWorker& worker, std::function<void(jobs::Outputs&)> change) {
    worker.forge = [this, &worker, change](const v1::Lease& lease, v1::Finished& report) {
      jobs::Outputs outputs = jobs::readOutputs(report.result()).value();
      change(outputs);
      signing::Receipt receipt;
      receipt.action = fromProto(lease.action()).value();
      receipt.lease = lease.id();
      receipt.epoch = lease.epoch();
      receipt.sandboxPolicy = digestOf(worker.sandboxPolicy);
      report.mutable_result()->clear_output_files();
      for (const jobs::OutputFile& file : outputs.files) {
        auto* out = report.mutable_result()->add_output_files();
        out->set_path("output/" + file.path);
        *out->mutable_digest() = toProto(file.digest);
        receipt.outputs.push_back({"output/" + file.path, file.digest});
      }
      auto identity = signing::WorkerIdentity::load(directory_ / "w1.pem", directory_ / "w1.key").value();
      report.set_receipt_json(identity.sign(receipt).value());
    };
  }

  // All leases of `worker` run and reported at once.
  void runAll(testing_support::FakeWorker& worker) {
    std::vector<v1::LeaseReport> reports;
    for (const v1::Lease& lease : worker.poll()) reports.push_back(worker.run(lease).value());
    ASSERT_FALSE(reports.empty());
    ASSERT_TRUE(worker.synchronize(reports));
  }
};

TEST_F(HostileWorker, FilesThatNoTreeCanHoldAreRefusedBeforeAnyoneReusesThem) {
  auto one = worker("w1");
  v1::Job job = submitted(request("k1"));
  one->tamper = [](const v1::Lease&, ToolOutcome& outcome) { outcome.files["fixtures.json/x"] = "planted"; };
  runAll(*one);
  one->tamper = nullptr;
  clock_.advance(std::chrono::minutes(1));
  settle(job.id(), {one.get()});
  EXPECT_EQ(get(job.id()).state(), v1::JOB_SUCCEEDED) << get(job.id()).error().message();
}

TEST_F(HostileWorker, HundredsOfThousandsOfOutputsAreRefused) {
  auto one = worker("w1");
  submitted(request("k1"));
  one->forge = [](const v1::Lease&, v1::Finished& report) {
    for (int i = 0; i < 60000; ++i)
      report.mutable_result()->add_output_files()->set_path("output/" + std::to_string(i));
  };
  runAll(*one);
  EXPECT_EQ(resultsKept(), 0);
}

// Rehashing every path would read 100 GB, long past the deadline of the worker's call.
TEST_F(HostileWorker, OneBlobUnderThousandsOfNamesIsReadOnce) {
  auto one = worker("w1");
  submitted(request("k1"));
  Digest large = put(std::string(16 << 20, 'x'));
  resign(*one, [&](jobs::Outputs& outputs) {
    for (int i = 0; i < 3000; ++i) outputs.files.push_back({fmt::format("z/{:04}", i), large});
  });
  runAll(*one);
  EXPECT_EQ(resultsKept(), 1)
      << "the compile's; fixtures beyond their list are refused, but only after reading";
}

TEST_F(HostileWorker, OutputsBeyondAnySandboxAreNotRead) {
  auto one = worker("w1");
  v1::Job job = submitted(request("k1"));
  resign(*one, [&](jobs::Outputs& outputs) {
    outputs.files.push_back({"z", Digest{digestOf(std::string_view("z")).hash, 1ull << 40}});
  });
  runAll(*one);
  EXPECT_EQ(resultsKept(), 0);
  auto rows = pool_.execute("SELECT error FROM attempts");
  EXPECT_NE((*rows)[0].get<std::string>("error").find("64 GiB"), std::string::npos);
}

TEST_F(HostileWorker, OutputsOf64GiBAreTheMostThatIsRead) {
  auto one = worker("w1");
  int tries = 0;
  const auto refusal = [&](std::uint64_t beyond) {
    resign(*one, [&](jobs::Outputs& outputs) {
      std::map<Digest, std::uint64_t> sizes;
      for (const jobs::OutputFile& file : outputs.files) sizes[file.digest] = file.digest.size;
      std::uint64_t left = 64ull << 30;
      for (const auto& [digest, size] : sizes) left -= size;
      outputs.files.push_back({"z", Digest{digestOf("z").hash, left + beyond}});
    });
    submitted(request("k" + std::to_string(++tries)));
    runAll(*one);
    const auto rows = pool_.execute("SELECT error FROM attempts WHERE ended IS NOT NULL").value();
    const std::string error = rows.size() > 0 ? rows[0].get<std::string>("error") : "";
    EXPECT_TRUE(pool_.execute("DELETE FROM runs"));
    EXPECT_TRUE(pool_.execute("UPDATE jobs SET state = 6"));
    return error;
  };
  EXPECT_TRUE(refusal(0).starts_with("result refused: output z: ")) << "it is not in the store";
  EXPECT_NE(refusal(1).find("more than 64 GiB"), std::string::npos);
}

// Any blob passes for nothing but a blob.
TEST_F(HostileWorker, AReceiptsSandboxPolicyIsOneThatItsActionMayHave) {
  auto one = worker("w1");
  int tries = 0;
  const auto refusedWith = [&](const std::string& policy) {
    one->sandboxPolicy = policy;
    submitted(request("k" + std::to_string(++tries)));
    runAll(*one);
    EXPECT_EQ(resultsKept(), 0) << policy;
    auto rows = pool_.execute("SELECT error FROM attempts WHERE ended IS NOT NULL");
    std::string words = rows->size() ? (*rows)[0].get<std::string>("error") : "";
    EXPECT_TRUE(pool_.execute("DELETE FROM runs"));
    EXPECT_TRUE(pool_.execute("UPDATE jobs SET state = 6"));
    return words;
  };
  const auto contains = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  contains(refusedWith("the outputs' manifest, say"), "it is no policy");
  Json policy = testing_support::samplePolicy("open/1");
  policy["network"] = true;
  contains(refusedWith(toCanonicalJson(policy).value()), "gives the network to an action that is no fetch");
  policy = testing_support::samplePolicy("proc/1");
  policy["proc"] = true;
  contains(refusedWith(toCanonicalJson(policy).value()), "gives a /proc");
  policy = testing_support::samplePolicy("gpu/1");
  policy["gpu"] = true;
  contains(refusedWith(toCanonicalJson(policy).value()), "gives a GPU");
  const std::string good = testing_support::samplePolicyText("good/1");
  farm_.leasing.sandboxPolicies = {digestOf("another policy")};
  contains(refusedWith(good), "none of those that this farm allows");
  farm_.leasing.sandboxPolicies.push_back(digestOf(good));
  const v1::Job job = submitted(request("allowed"));
  settle(job.id(), {one.get()});
  EXPECT_EQ(get(job.id()).state(), v1::JOB_SUCCEEDED) << get(job.id()).error().message();
}

TEST_F(HostileWorker, WhatAWorkerSaysOfItselfIsBounded) {
  auto one = worker("w1");
  const auto refused = [&](const std::function<void(v1::WorkerDescription&)>& change) {
    const v1::WorkerDescription before = one->description;
    change(one->description);
    const auto answer = one->synchronize({});
    one->description = before;
    return !answer && answer.error().code == Code::kInvalidArgument;
  };
  EXPECT_TRUE(refused([](auto& d) { d.add_targets(std::string(3'900'000, 'x')); }));
  EXPECT_TRUE(refused([](auto& d) { d.add_targets(std::string(1025, 'x')); }));
  EXPECT_TRUE(refused([](auto& d) { d.add_targets("cpu:\x1b[31m"); }));
  EXPECT_TRUE(refused([](auto& d) { d.add_runs(std::string("a\0b", 3)); }));
  EXPECT_TRUE(refused([](auto& d) { d.add_toolchains(std::string(1025, 'a')); }));
  EXPECT_TRUE(refused([](auto& d) { d.set_host_level(std::string(1025, 'x')); }));
  EXPECT_TRUE(refused([](auto& d) { (*d.mutable_facts())["kernel"] = std::string(20'000, 'x'); }));
  EXPECT_TRUE(refused([](auto& d) {
    for (int i = 0; i < 300; ++i) (*d.mutable_facts())["f" + std::to_string(i)] = std::string(1000, 'x');
  })) << "each is short, all together are not";
  EXPECT_TRUE(one->synchronize({}));
  EXPECT_EQ(pool_.execute("SELECT 1 FROM fleet WHERE length(description) < 10000")->size(), 1u);
}

TEST_F(HostileWorker, WhatAWorkerSaysOfItselfMayBeAsLongAsItsBounds) {
  auto one = worker("w1");
  const auto accepted = [&](const std::function<void(v1::WorkerDescription&)>& change) {
    const v1::WorkerDescription before = one->description;
    change(one->description);
    const auto answer = one->synchronize({});
    one->description = before;
    EXPECT_TRUE(answer || answer.error().code == Code::kInvalidArgument) << answer.error().message;
    return bool(answer);
  };
  using Texts = google::protobuf::RepeatedPtrField<std::string>;
  using List = std::function<Texts*(v1::WorkerDescription&)>;
  for (const List& list : {List([](auto& d) { return d.mutable_targets(); }),
                           List([](auto& d) { return d.mutable_toolchains(); }),
                           List([](auto& d) { return d.mutable_runs(); })}) {
    const auto filled = [&](int count) {
      return [&list, count](v1::WorkerDescription& d) {
        while (list(d)->size() < count) *list(d)->Add() = "t" + std::to_string(list(d)->size());
      };
    };
    EXPECT_TRUE(accepted(filled(1024)));
    EXPECT_FALSE(accepted(filled(1025)));
    EXPECT_TRUE(accepted([&](auto& d) { *list(d)->Add() = std::string(1024, 'x'); }));
    EXPECT_FALSE(accepted([&](auto& d) { *list(d)->Add() = std::string(1025, 'x'); }));
  }
  const auto kinds = [](int count) {
    return [count](v1::WorkerDescription& d) {
      while (d.kinds_size() < count) d.add_kinds(v1::ACTION_COMPILE);
    };
  };
  EXPECT_TRUE(accepted(kinds(1024)));
  EXPECT_FALSE(accepted(kinds(1025)));
  const auto facts = [](int count) {
    return [count](v1::WorkerDescription& d) {
      d.clear_facts();
      for (int i = 0; i < count; ++i) (*d.mutable_facts())["f" + std::to_string(i)] = "x";
    };
  };
  EXPECT_TRUE(accepted(facts(1024)));
  EXPECT_FALSE(accepted(facts(1025)));
  EXPECT_TRUE(accepted([](auto& d) { (*d.mutable_facts())["kernel"] = std::string(16 << 10, 'x'); }));
  EXPECT_FALSE(accepted([](auto& d) { (*d.mutable_facts())["kernel"] = std::string((16 << 10) + 1, 'x'); }));
}

TEST_F(HostileWorker, TooManyReportsInOneCallAreRefused) {
  auto one = worker("w1");
  v1::LeaseReport nobodys;
  nobodys.set_lease_id("no such lease");
  nobodys.mutable_running();
  EXPECT_TRUE(one->synchronize(std::vector(1024, nobodys)));
  const auto refused = one->synchronize(std::vector(1025, nobodys));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
}

// Who waits for work calls again at once and is held; who has some, or wants none, is not hurried.
TEST_F(HostileWorker, WhoIsIdleIsHeldAndCallsAgainAtOnce) {
  auto one = worker("w1");
  const auto contact = [&] {
    const auto answer = one->synchronize({});
    EXPECT_TRUE(answer);
    return answer ? answer->next_contact().seconds() * 1000 + answer->next_contact().nanos() / 1'000'000 : -1;
  };
  EXPECT_EQ(contact(), 10);
  one->description.set_slots(0);
  EXPECT_EQ(contact(), 200);
  one->description.set_slots(1);
  EXPECT_EQ(contact(), 10);
  submitted(request("k1"));
  EXPECT_EQ(contact(), 200) << "it got a lease";
  EXPECT_EQ(contact(), 200) << "it still has it";
}

TEST_F(HostileWorker, AStageIsAShortLineForTerminals) {
  auto one = worker("w1");
  const v1::Job job = submitted(request("k1"));
  const std::vector<v1::Lease> leases = one->poll();
  ASSERT_FALSE(leases.empty());
  const auto shown = [&](const std::string& stage) {
    EXPECT_TRUE(one->synchronize({testing_support::FakeWorker::running(leases[0], stage)}));
    const v1::Job now = get(job.id());
    for (const auto& action : now.actions())
      if (action.kind() == leases[0].kind()) return action.stage();
    return std::string("no such action");
  };
  EXPECT_EQ(shown(" a~z "), " a~z ");
  EXPECT_EQ(shown("a\x1b[31m\x7f\n\xc3\xa9z"), "a[31mz");
  EXPECT_EQ(shown(std::string(161, 'x')), std::string(160, 'x'));
}

// Numbers that fit into the message and not into the database.
TEST_F(HostileWorker, AnEpochBeyondAllEpochsIsNobodysLease) {
  auto one = worker("w1");
  submitted(request("k1"));
  const std::vector<v1::Lease> leases = one->poll();
  ASSERT_FALSE(leases.empty());
  for (const std::uint64_t epoch : {std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    v1::LeaseReport running = testing_support::FakeWorker::running(leases[0], "codegen");
    v1::LeaseReport finished = one->run(leases[0]).value();
    running.set_epoch(epoch);
    finished.set_epoch(epoch);
    for (const v1::LeaseReport& report : {running, finished}) {
      const auto answered = one->synchronize({report});
      if (answered) continue;
      EXPECT_EQ(answered.error().code, Code::kInvalidArgument) << answered.error().message;
      EXPECT_EQ(answered.error().message.find("SQL"), std::string::npos) << answered.error().message;
    }
  }
  EXPECT_EQ(resultsKept(), 0);
}

TEST_F(HostileWorker, GarbageAsTheToolsLastWordsEndsTheJob) {
  auto one = worker("w1");
  v1::Job job = submitted(request("k1"));
  one->tamper = [](const v1::Lease&, ToolOutcome& outcome) {
    outcome.exitCode = 1;
    outcome.files.clear();
    outcome.standardError = "\xff\xfe\x1b]0;owned\x07";
  };
  runAll(*one);
  ASSERT_TRUE(advance(job.id()));
  job = get(job.id());
  EXPECT_EQ(job.state(), v1::JOB_FAILED);
  EXPECT_EQ(job.error().message().find('\x1b'), std::string::npos);
}

// As a forge: instead of what it ran, it says that this can never succeed.
void saysNever(const v1::Lease&, v1::Finished& report) {
  report.Clear();
  report.set_error_code(static_cast<int>(Code::kInvalidArgument));
  report.set_error_message("the model is invalid, says the liar");
}

TEST_F(HostileWorker, OneThatSaysNeverDoesNotEndAJobThatAnotherCanDo) {
  auto liar = worker("liar"), honest = worker("w2");
  liar->forge = saysNever;
  v1::Job job = submitted(request("k1"));
  ASSERT_TRUE(liar->work());
  ASSERT_TRUE(advance(job.id()));
  ASSERT_NE(get(job.id()).state(), v1::JOB_FAILED) << get(job.id()).error().message();
  EXPECT_TRUE(liar->poll().empty()) << "it is not asked again";
  settle(job.id(), {liar.get(), honest.get()});
  job = get(job.id());
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  EXPECT_EQ(job.artifacts(0).builders(0), "w2");
}

TEST_F(HostileWorker, OneThatSaysNeverIsOutvotedByTheMajority) {
  auto liar = worker("liar"), two = worker("w2"), three = worker("w3");
  liar->forge = saysNever;
  v1::SubmitJobRequest wanted = request("k1", 3);
  DeliverySpec delivery;
  delivery.builders = 3;
  delivery.majority = true;
  wanted.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
  ASSERT_TRUE(driver_.sweep());
  clock_.advance(std::chrono::seconds(31));
  for (auto* one : {liar.get(), two.get(), three.get()})  // every live worker has called since the start
    ASSERT_TRUE(one->synchronize({}));
  clock_.advance(std::chrono::seconds(1));
  ASSERT_TRUE(two->synchronize({}));  // when they called is stored for all of them, once a second
  v1::Job job = submitted(wanted);
  settle(job.id(), {liar.get(), two.get(), three.get()});
  EXPECT_NE(get(job.id()).state(), v1::JOB_SUCCEEDED) << "somebody else might take the share";
  ASSERT_TRUE(driver_.sweep());
  ASSERT_TRUE(advance(job.id()));
  job = get(job.id());
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  EXPECT_EQ(job.artifacts(0).builders_size(), 2);
  EXPECT_EQ(pool_.execute("SELECT 1 FROM attempts WHERE worker = 'liar' AND outcome = 'final'")->size(), 2u)
      << "what it said is counted";
}

// As a tamper: a tool that failed, under a receipt that says so.
void fails(const v1::Lease&, ToolOutcome& outcome) {
  outcome.exitCode = 3;
  outcome.files.clear();
  outcome.standardError = R"({"error":{"code":"INVALID_ARGUMENT","message":"no model, says the tool"}})";
}

TEST_F(HostileWorker, ASignedFailureDoesNotEndAJobThatAnotherCanDo) {
  auto liar = worker("liar"), honest = worker("w2");
  liar->tamper = fails;
  v1::Job job = submitted(request("k1"));
  runAll(*liar);
  ASSERT_TRUE(advance(job.id()));
  ASSERT_NE(get(job.id()).state(), v1::JOB_FAILED) << get(job.id()).error().message();
  settle(job.id(), {liar.get(), honest.get()});
  job = get(job.id());
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  ASSERT_EQ(job.artifacts(0).builders_size(), 1);
  EXPECT_EQ(job.artifacts(0).builders(0), "w2");
  EXPECT_EQ(pool_.execute("SELECT 1 FROM action_results WHERE worker = 'liar' AND disputed")->size(), 1u)
      << "its compile is outvoted, and the provenance names it";
}

TEST_F(HostileWorker, ASignedFailureThatAnotherConfirmsEndsTheJobWithTheToolsReason) {
  auto one = worker("w1"), two = worker("w2");
  one->tamper = two->tamper = fails;
  v1::Job job = submitted(request("k1"));
  settle(job.id(), {one.get(), two.get()});
  job = get(job.id());
  ASSERT_EQ(job.state(), v1::JOB_FAILED);
  EXPECT_EQ(job.error().exit_code(), 3);
  EXPECT_EQ(job.error().message(), "no model, says the tool");
}

// No clock moves and nothing is swept: nobody is waited for who is not there.
TEST_F(HostileWorker, WhereThereIsOneWorkerItsWordEndsTheJobAtOnce) {
  auto one = worker("w1");
  for (const bool isSigned : {true, false}) {
    one->tamper = nullptr;
    one->forge = nullptr;
    if (isSigned)
      one->tamper = fails;
    else
      one->forge = saysNever;
    v1::Job job = submitted(request(isSigned ? "k1" : "k2"));
    runAll(*one);
    ASSERT_TRUE(advance(job.id()));
    job = get(job.id());
    ASSERT_EQ(job.state(), v1::JOB_FAILED) << isSigned;
    EXPECT_EQ(job.error().exit_code(), isSigned ? 3 : 2) << job.error().message();
  }
}

TEST_F(HostileWorker, AFailureCutInTheMiddleOfACharacterEndsTheJob) {
  auto one = worker("w1");
  v1::Job job = submitted(request("k1"));
  std::string text = "x\x1b";
  while (text.size() < 9000) text += "\xc3\xa9";
  std::vector<v1::LeaseReport> reports;
  for (const v1::Lease& lease : one->poll()) {
    v1::LeaseReport report = testing_support::FakeWorker::running(lease, "");
    report.mutable_finished()->set_error_code(static_cast<int>(Code::kInternal));
    report.mutable_finished()->set_error_message(text);
    reports.push_back(report);
  }
  auto answered = one->synchronize(reports);
  ASSERT_TRUE(answered) << answered.error().message;
  ASSERT_TRUE(advance(job.id()));
  EXPECT_EQ(get(job.id()).state(), v1::JOB_FAILED);
  EXPECT_EQ(get(job.id()).error().message().find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace kiln::service
