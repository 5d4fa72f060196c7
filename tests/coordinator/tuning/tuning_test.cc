// Tuning on the farm: what is planned, measured, believed, kept, given to compiles and found again.
#include "coordinator/audit/affected.h"
#include "coordinator/recall/recalls.h"
#include "coordinator/tuning/tuning_documents.h"
#include "manifest/artifact/oci.h"
#include "manifest/statement/provenance.h"
#include "signing/bundle/bundle.h"
#include "signing/keys/files.h"
#include "storage/index/artifacts/artifact_repository.h"
#include "storage/index/tuning/tuning_repository.h"
#include "tests/coordinator/farm/farm_fixture.h"
#include "tests/support/sample_tuning.h"

namespace kiln::service {
namespace {

using namespace testing;
using testing_support::FakeWorker;
using testing_support::ToolOutcome;

constexpr char kTarget[] = "cpu:x86-64-v3";

class Tuning : public FarmTest {
 protected:
  Tuning() { EXPECT_TRUE(addToolchain(putToolchain()).ok()); }

  // Compiles, and measures on its processor.
  std::unique_ptr<FakeWorker> tuning(const std::string& name) {
    auto out = worker(name);
    v1::Device cpu;
    cpu.set_id("cpu");
    cpu.set_kind("cpu");
    cpu.set_healthy(true);
    cpu.add_runs(kTarget);
    *out->description.add_devices() = cpu;
    out->tamper = [this](const v1::Lease& lease, ToolOutcome& outcome) {
      ++runs_[lease.kind()];
      if (lease.kind() == v1::ACTION_TUNE) tuned_.assign(lease.devices().begin(), lease.devices().end());
      if (change_) change_(lease, outcome);
    };
    EXPECT_TRUE(out->synchronize({}));
    return out;
  }
  v1::SubmitJobRequest asking(const std::string& key, const char* mode, bool noCache = false,
                              const std::string& model = "a model") {
    v1::SubmitJobRequest out = request(key, 1, model);
    DeliverySpec delivery;
    delivery.noCache = noCache;
    if (mode != std::string("off"))
      delivery.tuning = TuningRequest{.search = mode == std::string("search"), .budgetSeconds = 30};
    out.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
    return out;
  }
  // The job's end, whatever it is.
  v1::Job ended(const v1::SubmitJobRequest& request, std::initializer_list<FakeWorker*> workers) {
    const v1::Job job = submitted(request);
    for (int i = 0; i < 4 && get(job.id()).state() < v1::JOB_SUCCEEDED; ++i) {
      settle(job.id(), workers);
      clock_.advance(std::chrono::minutes(1));
    }
    return get(job.id());
  }
  v1::Job built(const v1::SubmitJobRequest& request, std::initializer_list<FakeWorker*> workers) {
    v1::Job job = ended(request, workers);
    EXPECT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
    return job;
  }
  Manifest manifestOf(const v1::Job& job) {
    const Digest digest = *fromProto(artifact(job.artifacts(0).digest()).manifest());
    const auto oci = parseOciManifest(storage::getBlob(*blobs_, "default", digest, 1 << 20).value());
    return Manifest::fromJson(
               parseCanonicalJson(storage::getBlob(*blobs_, "default", oci->config, 1 << 20).value()).value())
        .value();
  }
  int count(const std::string& what) {
    auto rows = pool_.execute("SELECT count(*) AS n FROM " + what);
    return rows ? (*rows)[0].get<int>("n") : -1;
  }
  // The lease of this kind of a search that is cancelled while the worker has it.
  v1::Lease cancelledWith(v1::ActionKind kind, FakeWorker& worker) {
    const v1::Job job = submitted(asking("k", "search"));
    std::vector<v1::Lease> leases = worker.poll();
    while (!leases.empty() && leases[0].kind() != kind) {
      std::vector<v1::LeaseReport> reports;
      for (const v1::Lease& lease : leases) reports.push_back(worker.run(lease).value());
      EXPECT_TRUE(worker.synchronize(reports));
      EXPECT_TRUE(advance(job.id()));
      leases = worker.poll();
    }
    EXPECT_EQ(leases.size(), 1u);
    grpc::ClientContext context;
    v1::GetJobRequest request;
    request.set_instance("default");
    request.set_id(job.id());
    v1::Job cancelled;
    EXPECT_TRUE(jobStub_->CancelJob(&context, request, &cancelled).ok());
    EXPECT_TRUE(advance(job.id()));
    EXPECT_EQ(get(job.id()).state(), v1::JOB_CANCELLED);
    return leases.empty() ? v1::Lease() : leases[0];
  }
  // Changes the records that workers leave.
  void tamper(std::function<void(Json&)> change) {
    change_ = [change = std::move(change)](const v1::Lease& lease, ToolOutcome& outcome) {
      if (lease.kind() != v1::ACTION_TUNE) return;
      Json record = parseCanonicalJson(outcome.files[kTuningRecordFile]).value();
      change(record);
      outcome.files[kTuningRecordFile] = toCanonicalJson(record).value();
    };
  }

  // Once in a test.
  void recall(signing::RecallKind kind, const std::string& what) {
    const std::string trustRoot = directory_ / "recall-root.json";
    const auto recallKey = signing::PrivateKey::create().value();
    signing::TrustRoot root = signing::developmentRoot(key_.publicKey(), kBuilderId, clock_.now());
    root.recallKeys = signing::RecallKeys{{1, {recallKey.publicKey()}}, 1, 10};
    ASSERT_TRUE(signing::writeTextFile(trustRoot, root.toJson().dump()));
    const signing::Recall entry{kind, what, "bad", clock_.now(), {}, {}, {}, {}, true};
    const auto text = signing::Recalls::issue(nullptr, entry, std::array{recallKey}, clock_.now(),
                                              clock_.now() + std::chrono::days(7), "");
    ASSERT_TRUE(putInForce({trustRoot, nullptr}, text.value()));
  }
  // What a record says beside its choice, so that there may be many.
  void timed(int nanoseconds) {
    tamper([=](Json& record) {
      record["kernels"][0]["candidates"][1]["medianNanoseconds"] = std::to_string(nanoseconds);
    });
  }

  std::map<int, int> runs_;  // by kind
  std::vector<std::string> tuned_;
  std::function<void(const v1::Lease&, ToolOutcome&)> change_;
};

TEST_F(Tuning, ASearchMeasuresOnADeviceAndItsCompileGetsWhatWasFaster) {
  auto one = tuning("w1");
  const v1::Job untuned = built(asking("off", "off"), {one.get()});
  EXPECT_FALSE(manifestOf(untuned).spec.tuning);
  const v1::Job job = built(asking("search", "search"), {one.get()});
  EXPECT_EQ(runs_[v1::ACTION_PLAN], 1);
  EXPECT_EQ(runs_[v1::ACTION_TUNE], 1);
  EXPECT_EQ(tuned_, std::vector<std::string>{"cpu"}) << "its lease holds the device";
  EXPECT_NE(job.artifacts(0).digest(), untuned.artifacts(0).digest());
  const Manifest manifest = manifestOf(job);
  ASSERT_TRUE(manifest.spec.tuning);
  const auto entries = readTuningEntries(*blobs_, "default", *manifest.spec.tuning);
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->entries.size(), 1u) << "of the two kernels one got faster";
  EXPECT_EQ(entries->entries[0].schedule, (Schedule{{"tile", {48, 128}}}));
  EXPECT_EQ(entries->target, kTarget);
  EXPECT_EQ(count("tuning_records"), 1);
  EXPECT_EQ(count("tuning_entries WHERE entry = ''"), 1) << "that the default is best is known, too";
  // The statement about the record is signed by the farm.
  auto row = pool_.execute("SELECT bundle_hash, bundle_size FROM tuning_records");
  const auto bundleHash = (*row)[0].get<std::vector<std::uint8_t>>("bundle_hash");
  Digest bundle{{}, (*row)[0].get<std::uint64_t>("bundle_size")};
  std::copy(bundleHash.begin(), bundleHash.end(), bundle.hash.begin());
  const auto parsed =
      signing::parseBundle(storage::getBlob(*blobs_, "default", bundle, 1 << 20).value()).value();
  EXPECT_TRUE(signing::verifyEnvelope(parsed.envelope, std::array{key_.publicKey()}));
  const auto said = parseStatement(parsed.envelope.payload).value();
  EXPECT_EQ(said.predicateType, kTuneType);
  EXPECT_EQ(TuneStatement::fromJson(said.predicate)->faster, 1u);
}

TEST_F(Tuning, TheProvenanceNamesTheEntries) {
  auto one = tuning("w1");
  const v1::Job job = built(asking("k", "search"), {one.get()});
  const Digest tuning = *manifestOf(job).spec.tuning;
  bool named = false;
  const v1::Artifact published = artifact(job.artifacts(0).digest());
  for (const auto& bundle : published.bundles()) {
    const auto parsed =
        signing::parseBundle(storage::getBlob(*blobs_, "default", *fromProto(bundle), 1 << 20).value())
            .value();
    const auto said = parseStatement(parsed.envelope.payload).value();
    if (said.predicateType != kProvenanceType) continue;
    const auto provenance = Provenance::fromJson(said.predicate);
    for (const Material& material : provenance->resolvedDependencies)
      named = named || (material.name == "input/tuning.json" && material.digest == tuning);
  }
  EXPECT_TRUE(named);
}

TEST_F(Tuning, WhatIsKnownIsFoundAgainAndNotMeasuredTwice) {
  auto one = tuning("w1");
  const v1::Job first = built(asking("k1", "search"), {one.get()});
  const v1::Job reused = built(asking("k2", "reuse"), {one.get()});
  EXPECT_EQ(reused.artifacts(0).digest(), first.artifacts(0).digest());
  const v1::Job again = built(asking("k3", "search"), {one.get()});
  EXPECT_EQ(again.artifacts(0).digest(), first.artifacts(0).digest());
  // Entries belong to kernels, not to models.
  const v1::Job other = built(asking("k4", "search", false, "another model"), {one.get()});
  EXPECT_EQ(manifestOf(other).spec.tuning, manifestOf(first).spec.tuning);
  EXPECT_EQ(runs_[v1::ACTION_TUNE], 1);
  EXPECT_EQ(built(asking("k5", "search", true), {one.get()}).artifacts(0).digest(),
            first.artifacts(0).digest());
  EXPECT_EQ(runs_[v1::ACTION_TUNE], 2) << "a build that wants nothing from the cache measures afresh";
}

TEST_F(Tuning, NothingIsKnownFromARecalledWorker) {
  auto one = tuning("w1"), two = tuning("w2");
  EXPECT_TRUE(manifestOf(built(asking("k1", "search"), {one.get()})).spec.tuning);
  recall(signing::RecallKind::kWorker, "w1");
  const v1::Job reused = built(asking("k2", "reuse", false, "another model"), {two.get()});
  EXPECT_FALSE(manifestOf(reused).spec.tuning);
  tamper([](Json& record) { record["kernels"][0]["candidates"][1]["medianNanoseconds"] = "799"; });
  const v1::Job searched = built(asking("k3", "search", false, "another model"), {two.get()});
  EXPECT_TRUE(manifestOf(searched).spec.tuning) << "measured anew, by another worker";
  EXPECT_EQ(runs_[v1::ACTION_TUNE], 2);
}

TEST_F(Tuning, WhatARecordChoseLeadsToTheArtifactsMadeWithIt) {
  auto one = tuning("measurer"), two = worker("builder");
  const std::string untuned = built(asking("k0", "off"), {two.get()}).artifacts(0).digest();
  // Measured by one, and what is known of it compiled by another.
  const std::string searched = built(asking("k1", "search"), {one.get()}).artifacts(0).digest();
  const std::string reused =
      built(asking("k2", "reuse", false, "another model"), {two.get()}).artifacts(0).digest();
  ASSERT_NE(reused, searched);
  const auto affected = [&](auto name) {
    v1::ListAffectedRequest request;
    request.set_instance("default");
    request.set_page_size(100);
    name(request);
    auto connection = pool_.acquire();
    const auto found = listAffected(*blobs_, **connection, request);
    EXPECT_TRUE(found) << found.error().message;
    std::set<std::string> artifacts;
    if (found)
      for (const auto& entry : found->affected()) artifacts.insert(entry.artifact());
    return artifacts;
  };
  auto rows = pool_.execute("SELECT record_hash FROM tuning_records");
  const auto hash = (*rows)[0].get<std::vector<std::uint8_t>>("record_hash");
  const std::string record = "sha256:" + toHex(hash);
  const std::set<std::string> both = {searched, reused};
  EXPECT_EQ(affected([&](auto& request) { request.set_source(record); }), both);
  EXPECT_EQ(affected([&](auto& request) { request.set_worker("measurer"); }), both);
  const auto byBuilder = affected([&](auto& request) { request.set_worker("builder"); });
  EXPECT_TRUE(byBuilder.contains(reused) && byBuilder.contains(untuned));
  EXPECT_FALSE(byBuilder.contains(searched));
}

TEST_F(Tuning, WhereNothingIsKnownAReuseIsTheUntunedBuild) {
  auto one = tuning("w1");
  const v1::Job untuned = built(asking("k1", "off"), {one.get()});
  const v1::Job reused = built(asking("k2", "reuse"), {one.get()});
  EXPECT_EQ(reused.artifacts(0).digest(), untuned.artifacts(0).digest());
  EXPECT_EQ(runs_[v1::ACTION_COMPILE], 1) << "the very same action";
}

TEST_F(Tuning, ALaterRecordDecidesAnew) {
  auto one = tuning("w1");
  const v1::Job first = built(asking("k1", "search"), {one.get()});
  tamper([](Json& record) {
    Json& kernel = record["kernels"][0];
    kernel["candidates"][1]["medianNanoseconds"] = "1100";
    kernel["chosen"] = 0;
    kernel["reason"] = "default is best";
  });
  const v1::Job second = built(asking("k2", "search", true), {one.get()});
  EXPECT_FALSE(manifestOf(second).spec.tuning);
  EXPECT_NE(second.artifacts(0).digest(), first.artifacts(0).digest());
}

TEST_F(Tuning, ADeviceTooNoisyToDecideLeavesTheDefault) {
  auto one = tuning("w1");
  const v1::Job untuned = built(asking("k1", "off"), {one.get()});
  tamper([](Json& record) {
    Json& kernel = record["kernels"][0];
    kernel["candidates"][0]["spreadNanoseconds"] = "400";
    kernel["chosen"] = 0;
    kernel["reason"] = "too noisy";
  });
  const v1::Job noisy = built(asking("k2", "search"), {one.get()});
  EXPECT_FALSE(manifestOf(noisy).spec.tuning);
  EXPECT_EQ(noisy.artifacts(0).digest(), untuned.artifacts(0).digest());
  EXPECT_EQ(count("tuning_entries"), 1) << "the other kernel's default, nothing of the noisy one";
}

TEST_F(Tuning, BadRecordsAreRefusedByName) {
  const auto refused = [&](const std::string& key, std::function<void(Json&)> change,
                           const std::string& part) {
    auto one = tuning("w-" + key);
    tamper(std::move(change));
    const v1::Job job = ended(asking(key, "search", true), {one.get()});
    EXPECT_EQ(job.state(), v1::JOB_FAILED) << key;
    EXPECT_NE(job.error().message().find(part), std::string::npos) << key << ": " << job.error().message();
  };
  refused(
      "target", [](Json& record) { record["target"] = "cpu:x86-64-v4"; },
      "the tuning record is for cpu:x86-64-v4, the program is for cpu:x86-64-v3");
  refused(
      "foreign", [](Json& record) { record["kernels"][1]["signature"] = testing_support::hashOf('9'); },
      "the tuning record has kernel " + testing_support::hashOf('9') + ", which the program does not have");
  refused(
      "figure", [](Json& record) { record["kernels"][0]["candidates"][1]["medianNanoseconds"] = "1100"; },
      "a figure or the choice was changed");
  refused(
      "default", [](Json& record) { record["kernels"][0]["candidates"][0]["schedule"] = {{"tile", {1, 2}}}; },
      "does not begin with its default schedule");
  refused(
      "knob", [](Json& record) { record["kernels"][0]["candidates"][1]["schedule"] = {{"tile", {7, 7}}}; },
      "the knob tile 7x7 is outside of what the plan lists");
  refused(
      "numerics",
      [](Json& record) { record["kernels"][0]["candidates"][1]["schedule"]["winograd"] = Json::array({4}); },
      "its template contraction has no knob winograd");
  refused(
      "device", [](Json& record) { record["device"]["kind"] = "emulated"; },
      "of a device of kind emulated, but one of kind cpu was leased");
  EXPECT_EQ(count("tuning_entries"), 0);
}

TEST_F(Tuning, AForgedPlanIsRefusedByName) {
  auto one = tuning("w1");
  std::string forged;
  change_ = [&](const v1::Lease& lease, ToolOutcome& outcome) {
    if (lease.kind() != v1::ACTION_PLAN) return;
    const auto module = std::ranges::find_if(
        outcome.files, [](const auto& file) { return file.first.starts_with("kernels/"); });
    module->second += " and more";
    forged = module->first.substr(8, 64);
  };
  const v1::Job job = ended(asking("k", "search"), {one.get()});
  EXPECT_EQ(job.state(), v1::JOB_FAILED);
  EXPECT_NE(job.error().message().find("the plan's module of kernel sha256:" + forged), std::string::npos)
      << job.error().message();
  EXPECT_EQ(runs_[v1::ACTION_TUNE], 0);
}

TEST_F(Tuning, BuildersMustAgreeOnAPlan) {
  auto one = tuning("w1"), two = tuning("w2");
  bool isFirst = true;
  change_ = [&](const v1::Lease& lease, ToolOutcome& outcome) {
    if (lease.kind() != v1::ACTION_PLAN || !std::exchange(isFirst, false)) return;
    Json plan = parseCanonicalJson(outcome.files[kKernelPlanFile]).value();
    plan["kernels"][0]["count"] = "13";
    outcome.files[kKernelPlanFile] = toCanonicalJson(plan).value();
  };
  v1::SubmitJobRequest wanted = asking("k", "reuse");
  DeliverySpec delivery;
  delivery.builders = 2;
  delivery.tuning = TuningRequest{};
  wanted.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
  const v1::Job job = ended(wanted, {one.get(), two.get()});
  EXPECT_EQ(job.state(), v1::JOB_FAILED);
  EXPECT_NE(job.error().message().find("builders disagree"), std::string::npos) << job.error().message();
  EXPECT_EQ(runs_[v1::ACTION_PLAN], 2);
  EXPECT_EQ(runs_[v1::ACTION_COMPILE], 0);
}

TEST_F(Tuning, ACompileThatDoesNotUseWhatItWasGivenIsRefused) {
  auto one = tuning("w1");
  change_ = [](const v1::Lease& lease, ToolOutcome& outcome) {
    if (lease.kind() != v1::ACTION_COMPILE) return;
    Json evidence = parseCanonicalJson(outcome.files["evidence.json"]).value();
    Json manifest = parseCanonicalJson(outcome.files["manifest.json"]).value();
    for (Json* document : {&evidence, &manifest}) document->at("stages").erase("schedule");
    outcome.files["evidence.json"] = toCanonicalJson(evidence).value();
    outcome.files["manifest.json"] = toCanonicalJson(manifest).value();
  };
  const v1::Job job = ended(asking("k", "search"), {one.get()});
  EXPECT_EQ(job.state(), v1::JOB_FAILED);
  EXPECT_NE(job.error().message().find("no kernel of the manifest is made by tuning entry"),
            std::string::npos)
      << job.error().message();
}

TEST_F(Tuning, ATunedArtifactIsRebuiltWithItsEntriesByAWorkerWithoutTheDevice) {
  auto one = tuning("w1");
  const v1::Job job = built(asking("k", "search"), {one.get()});
  auto plain = worker("w2");
  v1::SubmitJobRequest again = request("rebuild");
  DeliverySpec delivery;
  delivery.noCache = true;
  delivery.rebuild = RebuildRequest{*fromProto(artifact(job.artifacts(0).digest()).manifest()), {}};
  again.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
  const v1::Job rebuilt = built(again, {plain.get()});
  EXPECT_EQ(rebuilt.artifacts(0).digest(), job.artifacts(0).digest());
}

TEST_F(Tuning, AWorkerThatTunesDoesNothingElse) {
  auto one = tuning("w1");
  const v1::Job job = submitted(asking("k", "search"));
  settle(job.id(), {});
  std::vector<v1::Lease> leases;
  for (int i = 0; i < 10; ++i) {
    leases = one->poll();
    if (leases.size() == 1 && leases[0].kind() == v1::ACTION_TUNE) break;
    std::vector<v1::LeaseReport> reports;
    for (const v1::Lease& lease : leases) reports.push_back(one->run(lease).value());
    ASSERT_TRUE(one->synchronize(reports));
    ASSERT_TRUE(advance(job.id()));
  }
  ASSERT_EQ(leases.size(), 1u);
  ASSERT_EQ(leases[0].kind(), v1::ACTION_TUNE);
  EXPECT_EQ(leases[0].time_limit().seconds(), 30 + 120) << "the budget bounds it";
  submitted(asking("other", "off", false, "another model"));
  const auto beside =
      one->synchronize({FakeWorker::running(leases[0], "tune: kernel 1/2 gemm best 1 of default 2")});
  ASSERT_TRUE(beside);
  EXPECT_EQ(beside->run_size(), 1) << "it has a second slot";
  std::string stage;
  const v1::Job now = get(job.id());
  for (const auto& action : now.actions())
    if (action.kind() == v1::ACTION_TUNE) stage = action.stage();
  EXPECT_EQ(stage, "tune: kernel 1/2 gemm best 1 of default 2");
}

TEST_F(Tuning, WhatACancelledSearchMeasuredIsKept) {
  auto one = tuning("w1");
  const v1::Lease lease = cancelledWith(v1::ACTION_TUNE, *one);
  const auto answer = one->synchronize({one->run(lease).value()});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->forget_size(), 1);
  EXPECT_EQ(count("tuning_records"), 1);
  EXPECT_TRUE(manifestOf(built(asking("k2", "reuse"), {one.get()})).spec.tuning);
}

// Its worker may measure on, or make figures up: no other report of the same lease counts.
TEST_F(Tuning, OneReportOfACancelledSearchCounts) {
  auto one = tuning("w1");
  const v1::Lease lease = cancelledWith(v1::ACTION_TUNE, *one);
  timed(800);
  const v1::LeaseReport first = one->run(lease).value();
  ASSERT_TRUE(one->synchronize({first}));
  EXPECT_EQ(count("tuning_records"), 1);
  const int signatures = signer_.calls;
  for (int i = 1; i < 4; ++i) {
    timed(800 - i);
    const auto answer = one->synchronize({one->run(lease).value()});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->forget_size(), 1);
  }
  ASSERT_TRUE(one->synchronize({first}));
  EXPECT_EQ(count("tuning_records"), 1);
  EXPECT_EQ(signer_.calls, signatures);
}

TEST_F(Tuning, ACancelledSearchIsOverWhenItsLeaseWouldBe) {
  auto one = tuning("w1");
  const v1::Lease lease = cancelledWith(v1::ACTION_TUNE, *one);
  const v1::LeaseReport report = one->run(lease).value();
  clock_.advance(std::chrono::seconds(lease.time_limit().seconds()) + queue::Settings{}.overhead);
  const auto answer = one->synchronize({report});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->forget_size(), 1);
  EXPECT_EQ(count("tuning_records"), 0);
}

class RecalledTuner : public Tuning, public ::testing::WithParamInterface<signing::RecallKind> {
 protected:
  void recalls(const FakeWorker& worker) {
    const auto certificate = signing::Certificate::fromPem(worker.description.certificate_pem()).value();
    recall(GetParam(), GetParam() == signing::RecallKind::kWorker     ? certificate.commonName()
                       : GetParam() == signing::RecallKind::kOperator ? certificate.organisation()
                                                                      : certificate.publicKey().id());
  }
};

// The lease is older than the recall.
TEST_P(RecalledTuner, HasNothingSignedOfASearchThatWasCancelled) {
  auto one = tuning("w1");
  const v1::LeaseReport report = one->run(cancelledWith(v1::ACTION_TUNE, *one)).value();
  recalls(*one);
  const int signatures = signer_.calls;
  const auto answer = one->synchronize({report});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->forget_size(), 1);
  EXPECT_EQ(count("tuning_records"), 0);
  EXPECT_EQ(signer_.calls, signatures);
}

TEST_P(RecalledTuner, HasNothingSignedOfASearchThatGoesOn) {
  auto one = tuning("w1");
  change_ = [&](const v1::Lease& lease, ToolOutcome&) {
    if (lease.kind() == v1::ACTION_TUNE) recalls(*one);
  };
  const v1::Job job = ended(asking("k", "search"), {one.get()});
  EXPECT_EQ(job.state(), v1::JOB_FAILED);
  EXPECT_EQ(job.error().exit_code(), 5);
  EXPECT_NE(job.error().message().find("recalled on"), std::string::npos) << job.error().message();
  EXPECT_EQ(count("tuning_records"), 0);
  EXPECT_EQ(count("tuning_history"), 0);
  EXPECT_EQ(count("signatures WHERE convert_from(payload, 'UTF8') LIKE '%predicate:tune:%'"), 0);
}

// The plan is somebody else's than the record.
TEST_P(RecalledTuner, HasNothingSignedThatRestsOnItsPlan) {
  auto planner = tuning("w1"), other = tuning("w2");
  planner->description.clear_kinds();
  planner->description.add_kinds(v1::ACTION_PLAN);
  other->description.clear_kinds();
  for (const auto kind : {v1::ACTION_REFERENCE, v1::ACTION_COMPILE, v1::ACTION_TUNE})
    other->description.add_kinds(kind);
  change_ = [&](const v1::Lease& lease, ToolOutcome&) {
    if (lease.kind() == v1::ACTION_TUNE) recalls(*planner);
  };
  ASSERT_TRUE(planner->synchronize({}));
  ASSERT_TRUE(other->synchronize({}));
  const v1::Job job = ended(asking("k", "search"), {planner.get(), other.get()});
  EXPECT_EQ(job.state(), v1::JOB_FAILED);
  EXPECT_EQ(job.error().exit_code(), 5);
  EXPECT_EQ(count("tuning_records"), 0);
}

INSTANTIATE_TEST_SUITE_P(EachKind, RecalledTuner,
                         ::testing::Values(signing::RecallKind::kWorker, signing::RecallKind::kOperator,
                                           signing::RecallKind::kKey));

TEST_F(Tuning, ARecallLetsTheEarlierRecordCountAgain) {
  auto honest = tuning("w1"), liar = tuning("w2");
  const Digest known = *manifestOf(built(asking("k1", "search"), {honest.get()})).spec.tuning;
  tamper([](Json& record) {
    Json& kernel = record["kernels"][0];
    kernel["candidates"][1]["medianNanoseconds"] = "1100";
    kernel["chosen"] = 0;
    kernel["reason"] = "default is best";
  });
  EXPECT_FALSE(manifestOf(built(asking("k2", "search", true), {liar.get()})).spec.tuning);
  recall(signing::RecallKind::kWorker, "w2");
  const v1::Job again = built(asking("k3", "reuse", false, "another model"), {honest.get()});
  EXPECT_EQ(manifestOf(again).spec.tuning, known);
  EXPECT_EQ(runs_[v1::ACTION_TUNE], 2) << "nobody measures anew";
}

// However many records one worker makes, and however many workers there are.
TEST_F(Tuning, WhatIsKeptOfAKernelIsBoundedAndNobodyDrivesOutTheOthers) {
  auto connection = pool_.acquire().value();
  const std::vector<std::string> kernels{testing_support::hashOf('1'), testing_support::hashOf('2')};
  const auto recorded = [&](const std::string& worker, int number) {
    clock_.advance(std::chrono::seconds(1));
    index::TuningRecordRow row;
    row.instance = "default";
    row.record = digestOf(worker + std::to_string(number));
    row.target = kTarget;
    row.worker = worker;
    row.operatorName = "op";
    row.recorded = clock_.now();
    ASSERT_TRUE(index::insertTuningRecord(*connection, row));
    ASSERT_TRUE(index::putTuningEntries(*connection, row, {{kernels[0], ""}, {kernels[1], ""}}));
  };
  const auto known = [&](const std::string& worker) {
    const auto found = index::findTuningEntries(*connection, "default", kTarget, kernels).value();
    return std::ranges::count_if(found, [&](const auto& one) { return one.record.worker == worker; });
  };
  recorded("honest", 1);
  for (int i = 0; i < 50; ++i) recorded("liar", i);
  EXPECT_EQ(known("honest"), 2) << "of each kernel one";
  EXPECT_EQ(known("liar"), 4) << "of each kernel two";
  EXPECT_EQ(index::findTuningEntries(*connection, "default", kTarget, kernels).value()[0].record.worker,
            "liar")
      << "the latest comes first";
  for (int i = 0; i < 50; ++i) recorded("w" + std::to_string(i), 1);
  EXPECT_EQ(count("tuning_history"), 64);
  // What a coordinator of the release before writes.
  ASSERT_TRUE(connection->execute("DELETE FROM tuning_history"));
  ASSERT_TRUE(connection->execute("UPDATE tuning_entries SET entry = entry"));
  EXPECT_EQ(known("w49"), 2);
}

TEST_F(Tuning, WhileTheSignerIsAwayTheWorkerKeepsWhatACancelledSearchMeasured) {
  auto one = tuning("w1");
  const v1::LeaseReport report = one->run(cancelledWith(v1::ACTION_TUNE, *one)).value();
  signer_.away = true;
  const auto later = one->synchronize({report});
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().code, Code::kUnavailable);
  signer_.away = false;
  const auto answer = one->synchronize({report});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->forget_size(), 1);
  EXPECT_EQ(count("tuning_records"), 1);
}

TEST_F(Tuning, WhatIsNoGoodResultOfACancelledSearchIsForgotten) {
  const std::pair<const char*, std::function<void(v1::LeaseReport&)>> reports[] = {
      {"an error", [](v1::LeaseReport& report) { report.mutable_finished()->set_error_code(14); }},
      {"no receipt", [](v1::LeaseReport& report) { report.mutable_finished()->clear_receipt_json(); }},
      {"another epoch", [](v1::LeaseReport& report) { report.set_epoch(report.epoch() + 1); }},
  };
  auto one = tuning("w1");
  const v1::LeaseReport good = one->run(cancelledWith(v1::ACTION_TUNE, *one)).value();
  const auto expectForgotten = [&](const v1::LeaseReport& report, const char* what) {
    const auto answer = one->synchronize({report});
    ASSERT_TRUE(answer) << what << ": " << answer.error().message;
    EXPECT_EQ(answer->forget_size(), 1) << what;
    EXPECT_EQ(count("tuning_records"), 0) << what;
  };
  for (const auto& [what, change] : reports) {
    v1::LeaseReport report = good;
    change(report);
    expectForgotten(report, what);
  }
  signer_.refusing = true;
  expectForgotten(good, "what the signer refuses");
}

TEST_F(Tuning, ACancelledCompileLeavesNothing) {
  auto one = tuning("w1");
  const v1::Lease lease = cancelledWith(v1::ACTION_COMPILE, *one);
  const auto answer = one->synchronize({one->run(lease).value()});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->forget_size(), 1);
  EXPECT_EQ(count("action_results r JOIN actions a ON a.hash = r.action_hash WHERE a.kind = 3"), 0);
}

TEST_F(Tuning, WithoutADeviceASearchIsRefusedAtOnce) {
  auto plain = worker("w1");
  v1::Job job;
  const grpc::Status status = submit(asking("k", "search"), &job);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_NE(status.error_message().find("no worker has a healthy device for the tune for cpu:x86-64-v3"),
            std::string::npos)
      << status.error_message();
}

TEST_F(Tuning, GarbageLeavesWhatIsKnown) {
  auto one = tuning("w1");
  const v1::Job job = built(asking("k", "search"), {one.get()});
  clock_.advance(std::chrono::hours(24 * 30));
  const auto collected = garbage_.collect(Duration::zero(), false);
  ASSERT_TRUE(collected) << collected.error().message;
  auto rows = pool_.execute("SELECT record_hash, record_size FROM tuning_records");
  const auto hash = (*rows)[0].get<std::vector<std::uint8_t>>("record_hash");
  Digest record{{}, (*rows)[0].get<std::uint64_t>("record_size")};
  std::copy(hash.begin(), hash.end(), record.hash.begin());
  EXPECT_TRUE(readTuningRecord(*blobs_, "default", record));
  EXPECT_TRUE(readTuningEntries(*blobs_, "default", *manifestOf(job).spec.tuning));
}

}  // namespace
}  // namespace kiln::service
