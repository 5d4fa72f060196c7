// From submission to a published, verifiable artifact.
#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "kiln/v1/job.pb.h"
#include "manifest/artifact/oci.h"
#include "manifest/statement/compile_summary.h"
#include "manifest/statement/image_statement.h"
#include "manifest/statement/provenance.h"
#include "signing/bundle/bundle.h"
#include "storage/index/artifacts/image_repository.h"
#include "tests/coordinator/farm/farm_fixture.h"
#include "tests/support/sample_fixtures.h"

namespace kiln::service {
namespace {

using namespace testing;
using testing_support::ToolOutcome;

class JobFlow : public FarmTest {
 protected:
  JobFlow() { EXPECT_TRUE(addToolchain(putToolchain()).ok()); }

  // Its signed statements of this type, oldest first.
  std::vector<Statement> statementsOf(const v1::Artifact& artifact, const std::string& type) {
    std::vector<Statement> out;
    for (const auto& bundle : artifact.bundles()) {
      auto text = storage::getBlob(*blobs_, "default", *fromProto(bundle), 1 << 20).value();
      auto parsed = signing::parseBundle(text).value();
      EXPECT_TRUE(signing::verifyEnvelope(parsed.envelope, std::array{key_.publicKey()}));
      auto statement = parseStatement(parsed.envelope.payload).value();
      if (statement.predicateType == type) out.push_back(std::move(statement));
    }
    return out;
  }
  Provenance provenanceOf(const v1::Artifact& artifact, std::size_t number = 0) {
    return Provenance::fromJson(statementsOf(artifact, kProvenanceType).at(number).predicate).value();
  }

  void removeBlob(const Digest& digest) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_ / "store"))
      if (entry.is_regular_file() && entry.path().string().find(digest.hex()) != std::string::npos &&
          entry.path().string().find("refs") == std::string::npos)
        std::filesystem::remove(entry.path());
  }

  // The fixtures.json of the tree that the artifact comes with.
  std::optional<Digest> fixtureListIn(const v1::Artifact& artifact) {
    auto root = storage::getBlob(*blobs_, "default", *fromProto(artifact.fixtures()), 1 << 20).value();
    reapi::Directory directory;
    EXPECT_TRUE(directory.ParseFromString(root));
    for (const auto& file : directory.files())
      if (file.name() == kFixtureList) return *fromProto(file.digest());
    return {};
  }
  v1::SubmitJobRequest withoutCache(const std::string& key) {
    v1::SubmitJobRequest out = request(key);
    DeliverySpec delivery;
    delivery.noCache = true;
    out.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
    return out;
  }
};

TEST_F(JobFlow, EqualJobsAreBuiltOnce) {
  auto one = worker("w1"), two = worker("w2");
  const v1::Job first = submitted(request("k1")), second = submitted(request("k2"));
  driver_.start();
  for (int round = 0; round < 200 && (index::isOpen(static_cast<index::JobState>(get(first.id()).state())) ||
                                      index::isOpen(static_cast<index::JobState>(get(second.id()).state())));
       ++round) {
    for (auto* worker : {one.get(), two.get()}) ASSERT_TRUE(worker->work());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  driver_.stop();
  EXPECT_EQ(get(first.id()).state(), v1::JOB_SUCCEEDED);
  const v1::Job again = get(second.id());
  ASSERT_EQ(again.state(), v1::JOB_SUCCEEDED) << again.error().message();
  EXPECT_EQ(again.artifacts(0).digest(), get(first.id()).artifacts(0).digest());
  const auto attempts = pool_.execute("SELECT count(*)::integer AS n FROM attempts");
  EXPECT_EQ(*attempts->first([](const postgres::Row& row) { return row.get<int>("n"); }), 2)
      << "one reference and one compile";
}

TEST_F(JobFlow, SweepsLookAtTheOpenJobsInTurns) {
  auto one = worker("w1");
  for (const char* key : {"k1", "k2", "k3"}) submitted(request(key, 1, std::string("model of ") + key));
  JobDriver driver(farm_.planning, farm_.leasing, farm_.observers, {.sweptAtOnce = 2});
  const auto open = [&] {
    for (const auto& family : registry_->Collect())
      if (family.name == "kiln_jobs_open") return family.metric.at(0).gauge.value;
    return -1.0;
  };
  ASSERT_TRUE(driver.sweep());
  EXPECT_EQ(open(), 0) << "the turn has not ended";
  ASSERT_TRUE(driver.sweep());
  EXPECT_EQ(open(), 3);
  ASSERT_TRUE(driver.sweep());
  ASSERT_TRUE(driver.sweep());
  EXPECT_EQ(open(), 3) << "the next turn begins with the first job";
}

TEST_F(JobFlow, ASubmissionBecomesAPublishedArtifact) {
  auto one = worker("w1");
  v1::Job job = submitted(request("k1"));
  EXPECT_EQ(job.state(), v1::JOB_QUEUED);
  EXPECT_EQ(job.toolchain_label(), kLabel);
  ASSERT_EQ(job.actions_size(), 2);
  settle(job.id(), {one.get()});
  job = get(job.id());
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  ASSERT_EQ(job.artifacts_size(), 1);
  EXPECT_FALSE(job.artifacts(0).cached());
  EXPECT_EQ(job.artifacts(0).builders(0), "w1");

  v1::Artifact published = artifact(job.artifacts(0).digest());
  auto oci = parseOciManifest(
      storage::getBlob(*blobs_, "default", *fromProto(published.manifest()), 1 << 20).value());
  ASSERT_TRUE(oci) << oci.error().message;
  EXPECT_EQ(oci->digest.text(), job.artifacts(0).digest());
  ASSERT_EQ(oci->layers.size(), 2u);
  ASSERT_EQ(published.bundles_size(), 3);
  const auto images = statementsOf(published, kImageType);
  ASSERT_EQ(images.size(), 1u);
  const auto said = readImageStatement(images[0], *fromProto(published.manifest()), "cpu:x86-64-v3");
  ASSERT_TRUE(said) << said.error().message;
  const auto served = index::listImages(*pool_.acquire().value(), "default", oci->digest).value();
  ASSERT_EQ(served.size(), 1u);
  EXPECT_EQ(served[0].image, said->image);
  EXPECT_EQ(served[0].digest.hash, said->digest.hash);
  const auto compiled = statementsOf(published, kCompileType);
  ASSERT_EQ(compiled.size(), 1u);
  EXPECT_EQ(compiled[0].subjects.at(0).sha256, oci->digest.hash);
  EXPECT_EQ(compiled[0].predicate.at("manifest").at("digest"), oci->config.text());
  Provenance provenance = provenanceOf(published);
  EXPECT_EQ(provenance.builderId, kBuilderId);
  EXPECT_EQ(provenance.invocationId, job.id());
  EXPECT_EQ(provenance.externalParameters.at("toolchainLabel"), kLabel);
  ASSERT_EQ(provenance.builders.size(), 1u);
  EXPECT_EQ(provenance.builders[0].worker, "w1");
  EXPECT_EQ(provenance.internalParameters.at("sandboxPolicy"), digestOf(one->sandboxPolicy).text());
  EXPECT_TRUE(published.has_fixtures());
  EXPECT_EQ(fixtureListIn(published), provenance.fixtures());
  EXPECT_EQ(published.jobs(0), job.id());
}

TEST_F(JobFlow, TheSameSubmissionAgainIsTheSameJob) {
  auto one = worker("w1");
  v1::Job first = submitted(request("k1"));
  EXPECT_EQ(submitted(request("k1")).id(), first.id());
  v1::Job other;
  EXPECT_EQ(submit(request("k1", 1, "another model"), &other).error_code(), grpc::StatusCode::ALREADY_EXISTS);
}

TEST_F(JobFlow, SubmittingTwiceAtOnceMakesOneJob) {
  auto one = worker("w1");
  v1::SubmitJobRequest same = request("k1");
  std::vector<std::string> ids(4);
  std::vector<std::thread> threads;
  for (std::string& id : ids) threads.emplace_back([&] { id = submitted(same).id(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::count(ids.begin(), ids.end(), ids[0]), 4);
}

TEST_F(JobFlow, AKnownResultIsACacheHitWithoutAnyWork) {
  auto one = worker("w1");
  v1::Job first = submitted(request("k1"));
  settle(first.id(), {one.get()});
  int signatures = signer_.calls;
  v1::Job second = submitted(request("k2"));
  EXPECT_EQ(second.state(), v1::JOB_SUCCEEDED);
  EXPECT_TRUE(second.artifacts(0).cached());
  EXPECT_EQ(second.artifacts(0).digest(), get(first.id()).artifacts(0).digest());
  EXPECT_EQ(second.artifacts(0).builders(0), "w1");
  EXPECT_EQ(signer_.calls, signatures);
  EXPECT_TRUE(one->poll().empty());
}

TEST_F(JobFlow, WithoutCacheItIsBuiltAgainToTheSameArtifact) {
  auto one = worker("w1");
  v1::Job first = submitted(request("k1"));
  settle(first.id(), {one.get()});
  v1::Job second = submitted(withoutCache("k2"));
  EXPECT_EQ(second.state(), v1::JOB_QUEUED);
  settle(second.id(), {one.get()});
  second = get(second.id());
  EXPECT_FALSE(second.artifacts(0).cached());
  EXPECT_EQ(second.artifacts(0).digest(), get(first.id()).artifacts(0).digest());
  const v1::Artifact published = artifact(second.artifacts(0).digest());
  EXPECT_EQ(statementsOf(published, kProvenanceType).size(), 2u)
      << "a second statement, not a second artifact";
  EXPECT_EQ(statementsOf(published, kCompileType).size(), 1u) << "the Manifest is the same";
  EXPECT_EQ(statementsOf(published, kImageType).size(), 1u) << "and the image stays what it was";
}

TEST_F(JobFlow, OtherFixturesComeWithAStatementOfTheirOwn) {
  auto one = worker("w1");
  v1::Job first = submitted(request("k1"));
  settle(first.id(), {one.get()});
  const std::string digest = get(first.id()).artifacts(0).digest();
  const auto firstList = fixtureListIn(artifact(digest));
  clock_.advance(std::chrono::seconds(1));  // statements are listed by age
  one->tamper = [](const v1::Lease& lease, ToolOutcome& outcome) {
    if (lease.kind() != v1::ACTION_REFERENCE) return;
    outcome.files = {{"default/input_0.npy", "of a newer generator"}};
    outcome.files[kFixtureList] = testing_support::fixtureListOf(outcome.files);
  };
  v1::Job second = submitted(withoutCache("k2"));
  settle(second.id(), {one.get()});
  second = get(second.id());
  ASSERT_EQ(second.state(), v1::JOB_SUCCEEDED) << second.error().message();
  EXPECT_EQ(second.artifacts(0).digest(), digest);
  v1::Artifact published = artifact(digest);
  ASSERT_EQ(published.bundles_size(), 4);
  EXPECT_NE(fixtureListIn(published), firstList);
  EXPECT_EQ(provenanceOf(published, 0).fixtures(), firstList);
  EXPECT_EQ(provenanceOf(published, 1).fixtures(), fixtureListIn(published));
}

TEST_F(JobFlow, ACorruptCachedBlobIsBuiltAfresh) {
  auto one = worker("w1");
  v1::Job first = submitted(request("k1"));
  settle(first.id(), {one.get()});
  removeBlob(digestOf(std::string_view(testing_support::kSampleProgram)));
  v1::Job second = submitted(request("k2"));
  EXPECT_EQ(second.state(), v1::JOB_QUEUED);
  settle(second.id(), {one.get()});
  EXPECT_EQ(get(second.id()).artifacts(0).digest(), get(first.id()).artifacts(0).digest());
}

TEST_F(JobFlow, AResultWhosePolicyIsGoneIsNotUsedAgain) {
  auto one = worker("w1"), two = worker("w2");
  const std::string today = one->sandboxPolicy;
  one->sandboxPolicy = testing_support::samplePolicyText("yesterday's");
  v1::Job first = submitted(request("k1"));
  settle(first.id(), {one.get()});
  removeBlob(digestOf(one->sandboxPolicy));
  one->sandboxPolicy = today;
  clock_.advance(std::chrono::seconds(1));  // statements are listed by age
  v1::Job second = submitted(request("k2", 2));
  settle(second.id(), {one.get(), two.get()});
  second = get(second.id());
  ASSERT_EQ(second.state(), v1::JOB_SUCCEEDED) << second.error().message();
  const Provenance provenance = provenanceOf(artifact(second.artifacts(0).digest()), 1);
  EXPECT_EQ(provenance.builders.size(), 2u);
  EXPECT_EQ(provenance.internalParameters.at("sandboxPolicy"), digestOf(today).text());
}

TEST_F(JobFlow, TwoBuildersAreTwoWorkersAndOneDigest) {
  auto one = worker("w1"), two = worker("w2");
  v1::Job job = submitted(request("k1", 2));
  auto ran = one->work();
  ASSERT_TRUE(ran);
  ASSERT_TRUE(advance(job.id()));
  EXPECT_NE(get(job.id()).state(), v1::JOB_SUCCEEDED) << "one worker is not two builders";
  const v1::Job waiting = get(job.id());
  for (const auto& action : waiting.actions())
    if (action.kind() == v1::ACTION_COMPILE)
      EXPECT_EQ(action.state() + ", " + action.stage(), "queued, a further builder is wanted beside 1");
  settle(job.id(), {one.get(), two.get()});
  job = get(job.id());
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  std::vector<std::string> builders(job.artifacts(0).builders().begin(), job.artifacts(0).builders().end());
  std::sort(builders.begin(), builders.end());
  EXPECT_EQ(builders, (std::vector<std::string>{"w1", "w2"}));
  EXPECT_EQ(provenanceOf(artifact(job.artifacts(0).digest())).builders.size(), 2u);
}

TEST_F(JobFlow, TheStatementNamesEverySandboxPolicyOnce) {
  auto one = worker("w1"), two = worker("w2"), three = worker("w3");
  three->sandboxPolicy = testing_support::samplePolicyText("with less memory");
  v1::Job job = submitted(request("k1", 3));
  settle(job.id(), {one.get(), two.get(), three.get()});
  job = get(job.id());
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  const Provenance provenance = provenanceOf(artifact(job.artifacts(0).digest()));
  EXPECT_EQ(provenance.builders.size(), 3u);
  const Digest usual = digestOf(one->sandboxPolicy), other = digestOf(three->sandboxPolicy);
  EXPECT_EQ(provenance.internalParameters.at("sandboxPolicy"), sandboxPolicyText({usual, other}));
  for (const Digest& policy : {usual, other})
    EXPECT_TRUE(storage::getBlob(*blobs_, "default", policy, 1 << 16)) << "auditors can read it";
}

TEST_F(JobFlow, OnlyMissingBuildersRun) {
  auto one = worker("w1"), two = worker("w2");
  v1::Job first = submitted(request("k1"));
  settle(first.id(), {one.get()});
  v1::Job second = submitted(request("k2", 2));
  EXPECT_EQ(second.state(), v1::JOB_QUEUED);
  EXPECT_TRUE(one->poll().empty()) << "its evidence counts already";
  EXPECT_EQ(two->poll().size(), 1u);
  settle(second.id(), {one.get(), two.get()});
  second = get(second.id());
  EXPECT_EQ(second.artifacts(0).builders_size(), 2);
}

TEST_F(JobFlow, DisagreeingBuildersFailWithExitNineAndKeepTheEvidence) {
  auto one = worker("w1"), two = worker("w2");
  two->tamper = [](const v1::Lease& lease, ToolOutcome& outcome) {
    if (lease.kind() == v1::ACTION_COMPILE) outcome.files["notes.txt"] = "time: 12:00";
  };
  const int signatures = signer_.calls;
  v1::Job job = submitted(request("k1", 2));
  settle(job.id(), {one.get(), two.get()});
  job = get(job.id());
  ASSERT_EQ(job.state(), v1::JOB_FAILED);
  EXPECT_EQ(job.error().exit_code(), 9);
  EXPECT_NE(job.error().message().find("notes.txt"), std::string::npos);
  EXPECT_EQ(signer_.calls, signatures);
  auto rows = pool_.execute("SELECT count(*) AS n FROM action_results WHERE disputed");
  EXPECT_EQ(*rows->first([](const postgres::Row& row) { return row.get<int>("n"); }), 2);
}

TEST_F(JobFlow, TheCompilersReasonAndExitCodeReachTheJob) {
  auto one = worker("w1");
  one->tamper = [](const v1::Lease& lease, ToolOutcome& outcome) {
    if (lease.kind() != v1::ACTION_COMPILE) return;
    outcome = {4,
               "stage: capture\n{\"error\":{\"code\":\"UNIMPLEMENTED\",\"message\":\"node n1: operator Foo\","
               "\"details\":{\"unsupported\":[{\"node\":\"n1\"}]}}}\n",
               {}};
  };
  v1::Job job = submitted(request("k1"));
  settle(job.id(), {one.get()});
  job = get(job.id());
  ASSERT_EQ(job.state(), v1::JOB_FAILED);
  EXPECT_EQ(job.error().exit_code(), 4);
  EXPECT_EQ(job.error().message(), "node n1: operator Foo");
  EXPECT_EQ(job.error().details_json(), R"({"unsupported":[{"node":"n1"}]})");
  // Whoever follows the job or lists it is told so too, though neither reads what the builders left.
  v1::ListJobsRequest all;
  all.set_instance(job.instance());
  v1::ListJobsResponse listed;
  grpc::ClientContext context;
  ASSERT_TRUE(jobStub_->ListJobs(&context, all, &listed).ok());
  ASSERT_EQ(listed.jobs_size(), 1);
  for (const v1::Job* view : std::initializer_list<const v1::Job*>{&job, &listed.jobs(0)}) {
    const auto compile = std::ranges::find(view->actions(), v1::ACTION_COMPILE, &v1::JobAction::kind);
    ASSERT_NE(compile, view->actions().end());
    EXPECT_EQ(compile->state(), "failed");
  }
}

TEST_F(JobFlow, AnotherSourceOfTheSameBytesGainsAStatement) {
  auto one = worker("w1");
  v1::Job first = submitted(request("k1"));
  settle(first.id(), {one.get()});
  clock_.advance(std::chrono::seconds(1));
  v1::SubmitJobRequest claimed = request("k2");
  auto* origin = claimed.mutable_sources(0)->mutable_origin();
  origin->set_url("file:///models");
  origin->set_commit(std::string(40, 'c'));
  origin->set_path("m.onnx");
  v1::Job second = submitted(claimed);
  settle(second.id(), {one.get()});
  second = get(second.id());
  ASSERT_EQ(second.state(), v1::JOB_SUCCEEDED);
  EXPECT_TRUE(second.artifacts(0).cached());
  EXPECT_EQ(second.artifacts(0).digest(), get(first.id()).artifacts(0).digest());
  v1::Artifact published = artifact(second.artifacts(0).digest());
  ASSERT_EQ(published.bundles_size(), 4);
  Provenance provenance = provenanceOf(published, 1);
  EXPECT_EQ(provenance.resolvedDependencies[1].annotations.at("claimedOrigin"),
            "git+file:///models@" + std::string(40, 'c') + "#m.onnx");
  EXPECT_EQ(submitted([&] {
              v1::SubmitJobRequest third = claimed;
              third.set_idempotency_key("k3");
              return third;
            }())
                .state(),
            v1::JOB_SUCCEEDED)
      << "now it is stated, so it is a plain hit";
}

TEST_F(JobFlow, AGitSourceIsFetchedThenBuiltAndNamedInTheProvenance) {
  auto one = worker("w1");
  v1::SubmitJobRequest git = request("k1");
  git.mutable_sources(0)->clear_blob();
  auto* source = git.mutable_sources(0)->mutable_git();
  source->set_url("https://git.example/models.git");
  source->set_commit(std::string(40, 'a'));
  source->set_path("dir/m.onnx");
  v1::Job job = submitted(git);
  ASSERT_EQ(job.actions_size(), 1);
  EXPECT_EQ(job.actions(0).kind(), v1::ACTION_FETCH);
  v1::GitSource asked;
  one->tamper = [&](const v1::Lease& lease, ToolOutcome&) {
    if (lease.kind() == v1::ACTION_FETCH) asked = lease.git();
  };
  settle(job.id(), {one.get()});
  EXPECT_EQ(asked.url(), source->url());
  EXPECT_EQ(asked.commit(), source->commit());
  EXPECT_EQ(asked.path(), source->path());
  job = get(job.id());
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  EXPECT_EQ(job.actions_size(), 3);
  Provenance provenance = provenanceOf(artifact(job.artifacts(0).digest()));
  std::string uri = "git+https://git.example/models.git@" + std::string(40, 'a') + "#dir/m.onnx";
  EXPECT_EQ(provenance.externalParameters.at("modelSource"), uri);
  EXPECT_EQ(provenance.resolvedDependencies[1].uri, uri);
  EXPECT_EQ(provenance.resolvedDependencies[1].digest, digestOf(std::string_view("fetched model")));
}

TEST_F(JobFlow, OfAFolderTheModelIsBuiltWithTheWeightsBesideIt) {
  auto one = worker("w1");
  v1::SubmitJobRequest git = request("k1");
  git.mutable_sources(0)->clear_blob();
  git.mutable_sources(0)->set_path("models");
  auto* source = git.mutable_sources(0)->mutable_git();
  source->set_url("https://git.example/models.git");
  source->set_commit(std::string(40, 'a'));
  source->set_path(".");
  one->tamper = [&](const v1::Lease& lease, ToolOutcome& outcome) {
    if (lease.kind() == v1::ACTION_FETCH)
      outcome.files = {{"model/onnx/p.mlir", "program"}, {"weights/w-1", "first"}, {"weights/w-2", "second"}};
  };
  v1::Job job = submitted(git);
  settle(job.id(), {one.get()});
  job = get(job.id());
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  const Provenance provenance = provenanceOf(artifact(job.artifacts(0).digest()));
  const std::string uri = "git+https://git.example/models.git@" + std::string(40, 'a') + "#";
  EXPECT_EQ(provenance.externalParameters.at("modelSource"), uri + "onnx/p.mlir");
  EXPECT_EQ(provenance.externalParameters.at("parameters"), R"(["params/0","params/1"])");
  const std::pair<std::string, std::string> materials[] = {
      {"onnx/p.mlir", "program"}, {"w-1", "first"}, {"w-2", "second"}};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(provenance.resolvedDependencies[i + 1].uri, uri + materials[i].first);
    EXPECT_EQ(provenance.resolvedDependencies[i + 1].digest, digestOf(materials[i].second));
  }
  // Whoever names weights gets those alone.
  git.set_idempotency_key("k2");
  auto* own = git.add_sources();
  own->set_path("params/0");
  *own->mutable_blob() = toProto(put("own"));
  git.set_spec_json(R"({"parameters":["params/0"]})");
  job = submitted(git);
  settle(job.id(), {one.get()});
  job = get(job.id());
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  const Provenance named = provenanceOf(artifact(job.artifacts(0).digest()));
  EXPECT_EQ(named.resolvedDependencies[2].digest, digestOf("own"));
  EXPECT_EQ(named.externalParameters.at("parameters"), R"(["params/0"])");
}

TEST_F(JobFlow, WhatAFetchBringsStandsForNothingThatWasGiven) {
  auto one = worker("w1");
  const auto refusal = [&](const std::string& key, std::map<std::string, std::string> left,
                           const std::string& path) {
    v1::SubmitJobRequest git = request(key);
    git.mutable_sources(0)->clear_blob();
    v1::Source* model = git.mutable_sources(0);
    model->mutable_git()->set_url("https://git.example/models.git");
    model->mutable_git()->set_commit(std::string(40, 'b'));
    model->mutable_git()->set_path(key);
    auto* given = git.add_sources();
    given->set_path(path);
    *given->mutable_blob() = toProto(put("given"));
    one->tamper = [&](const v1::Lease& lease, ToolOutcome& outcome) {
      if (lease.kind() == v1::ACTION_FETCH) outcome.files = left;
    };
    const v1::Job job = submitted(git);
    settle(job.id(), {one.get()});
    return get(job.id()).error().message();
  };
  EXPECT_THAT(refusal("m.onnx", {{"m.onnx", "x"}, {"w.bin", "theirs"}}, "w.bin"),
              ::testing::HasSubstr("brings \"w.bin\""));
  EXPECT_THAT(refusal("folder", {{"model/p.mlir", "x"}, {"weights/w", "theirs"}}, "params/0"),
              ::testing::HasSubstr("brings \"params/0\""));
}

TEST_F(JobFlow, ASignerThatIsAwayHoldsTheJobAndLosesNothing) {
  auto one = worker("w1");
  v1::Job job = submitted(request("k1"));
  signer_.away = true;
  ASSERT_TRUE(one->work());
  EXPECT_EQ(advance(job.id()).error().code, Code::kUnavailable);
  EXPECT_EQ(get(job.id()).state(), v1::JOB_PUBLISHING);
  signer_.away = false;
  ASSERT_TRUE(advance(job.id()));
  EXPECT_EQ(get(job.id()).state(), v1::JOB_SUCCEEDED);
}

TEST_F(JobFlow, CancellingStopsTheWork) {
  auto one = worker("w1");
  v1::Job job = submitted(request("k1"));
  auto leases = one->poll();
  ASSERT_EQ(leases.size(), 2u);
  v1::GetJobRequest which;
  which.set_instance("default");
  which.set_id(job.id());
  grpc::ClientContext context;
  v1::Job cancelled;
  ASSERT_TRUE(jobStub_->CancelJob(&context, which, &cancelled).ok());
  EXPECT_EQ(cancelled.state(), v1::JOB_CANCELLED);
  auto response = one->synchronize({testing_support::FakeWorker::running(leases[0], "codegen")});
  ASSERT_TRUE(response);
  ASSERT_EQ(response->forget_size(), 1);
  EXPECT_EQ(response->forget(0), leases[0].id());
  EXPECT_EQ(response->run_size(), 0);
}

TEST_F(JobFlow, WatchStreamsStagesAndEnds) {
  auto one = worker("w1");
  queue::ChangeFeed& feed = feed_;
  v1::Job job = submitted(request("k1"));
  v1::GetJobRequest which;
  which.set_instance("default");
  which.set_id(job.id());
  grpc::ClientContext context;
  auto stream = jobStub_->WatchJob(&context, which);
  v1::Job seen;
  ASSERT_TRUE(stream->Read(&seen));
  EXPECT_EQ(seen.state(), v1::JOB_QUEUED);
  auto leases = one->poll();
  ASSERT_EQ(leases.size(), 2u);
  std::vector<v1::LeaseReport> reports;
  for (const v1::Lease& lease : leases)
    reports.push_back(testing_support::FakeWorker::running(lease, "codegen"));
  ASSERT_TRUE(one->synchronize(reports));
  feed.publishJob({"default", job.id()});
  bool sawStage = false;
  while (!sawStage && stream->Read(&seen))
    for (const auto& action : seen.actions()) sawStage = sawStage || action.stage() == "codegen";
  EXPECT_TRUE(sawStage);
  std::vector<v1::LeaseReport> finished;
  for (const v1::Lease& lease : leases) finished.push_back(*one->run(lease));
  ASSERT_TRUE(one->synchronize(finished));
  ASSERT_TRUE(advance(job.id()));
  feed.publishJob({"default", job.id()});
  std::uint64_t revision = seen.revision();
  while (stream->Read(&seen)) {
    EXPECT_GT(seen.revision(), revision);
    revision = seen.revision();
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(seen.state(), v1::JOB_SUCCEEDED);
}

// Who has what now and since when; a page of jobs says it as the job alone does.
TEST_F(JobFlow, AJobSaysWhoHasWhatNow) {
  auto one = worker("w1"), two = worker("w2", "op2");
  const v1::Job job = submitted(request("k1", 2));
  const auto compileOf = [](const v1::Job& seen) {
    return *std::ranges::find(seen.actions(), v1::ACTION_COMPILE, &v1::JobAction::kind);
  };
  const auto secondsOf = [](TimePoint time) {
    return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  };
  EXPECT_EQ(compileOf(get(job.id())).running_size(), 0);
  const TimePoint first = clock_.now();
  const auto compileLeased = [](testing_support::FakeWorker& worker) {
    std::vector<v1::Lease> leases;  // all that it has, once the compile is among them
    for (int calls = 0; calls < 9; ++calls) {
      leases = worker.poll();
      if (std::ranges::find(leases, v1::ACTION_COMPILE, &v1::Lease::kind) != leases.end()) break;
      // A new worker with a lease leaves the next one to an idle worker: it ends what it has first.
      std::vector<v1::LeaseReport> finished;
      for (const v1::Lease& lease : leases) finished.push_back(*worker.run(lease));
      EXPECT_TRUE(worker.synchronize(finished));
    }
    return leases;
  };
  const auto mine = compileLeased(*one);
  clock_.advance(std::chrono::seconds(3));
  const TimePoint second = clock_.now();
  const auto theirs = compileLeased(*two);
  const auto leaseOf = [](const std::vector<v1::Lease>& leases) {
    return std::ranges::find(leases, v1::ACTION_COMPILE, &v1::Lease::kind);
  };
  ASSERT_NE(leaseOf(mine), mine.end());
  ASSERT_NE(leaseOf(theirs), theirs.end());
  ASSERT_TRUE(two->synchronize({testing_support::FakeWorker::running(*leaseOf(theirs), "codegen")}));
  v1::ListJobsRequest all;
  all.set_instance("default");
  v1::ListJobsResponse listed;
  grpc::ClientContext context;
  ASSERT_TRUE(jobStub_->ListJobs(&context, all, &listed).ok());
  for (const v1::Job& seen : {get(job.id()), listed.jobs(0)}) {
    const v1::JobAction compile = compileOf(seen);
    ASSERT_EQ(compile.running_size(), 2);
    EXPECT_EQ(compile.running(0).worker(), "w1");
    EXPECT_EQ(compile.running(1).worker(), "w2");
    EXPECT_EQ(compile.running(1).stage(), "codegen");
    EXPECT_EQ(compile.running(1).attempt(), 1);
    EXPECT_EQ(compile.running(0).leased().seconds(), secondsOf(first));
    EXPECT_EQ(compile.running(1).leased().seconds(), secondsOf(second));
    EXPECT_EQ(compile.ended_attempts(), 0);
  }
  std::vector<v1::LeaseReport> finished;
  for (const v1::Lease& lease : mine) finished.push_back(*one->run(lease));
  ASSERT_TRUE(one->synchronize(finished));
  const v1::JobAction compile = compileOf(get(job.id()));
  ASSERT_EQ(compile.running_size(), 1);
  EXPECT_EQ(compile.running(0).worker(), "w2");
  EXPECT_EQ(compile.ended_attempts(), 1);
}

TEST_F(JobFlow, ArtifactsAreListedNewestFirstAndPaged) {
  auto one = worker("w1");
  std::vector<std::string> digests;
  for (int i = 0; i < 3; ++i) {
    const std::string name = std::to_string(i);
    const v1::Job job = submitted(request("k" + name, 1, "model " + name));
    settle(job.id(), {one.get()});
    digests.push_back(get(job.id()).artifacts(0).digest());
    clock_.advance(std::chrono::seconds(1));
  }
  const auto list = [&](int limit, const std::string& before, const std::string& instance = "default") {
    v1::ListArtifactsRequest request;
    request.set_instance(instance);
    request.set_limit(limit);
    request.set_before(before);
    grpc::ClientContext context;
    v1::ListArtifactsResponse response;
    const grpc::Status status = artifactStub_->ListArtifacts(&context, request, &response);
    std::vector<std::string> out;
    for (const v1::Artifact& one : response.artifacts()) {
      EXPECT_EQ(one.SerializeAsString(), artifact(one.digest()).SerializeAsString());
      EXPECT_EQ(one.models_size(), 1);
      out.push_back(one.digest());
    }
    return std::pair(status.error_code(), out);
  };
  using Digests = std::vector<std::string>;
  EXPECT_EQ(list(2, ""), std::pair(grpc::StatusCode::OK, Digests{digests[2], digests[1]}));
  EXPECT_EQ(list(2, digests[1]), std::pair(grpc::StatusCode::OK, Digests{digests[0]}));
  EXPECT_EQ(list(2, digests[0]), std::pair(grpc::StatusCode::OK, Digests{}));
  EXPECT_EQ(list(2, "sha256:" + std::string(64, '0')).first, grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(list(2, digests[1], "other").first, grpc::StatusCode::NOT_FOUND) << "another tenant's";
  EXPECT_EQ(list(2, "nothing").first, grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(JobFlow, JobsAreListedNewestFirstAndPaged) {
  auto one = worker("w1");
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(submitted(request("k" + std::to_string(i))).id());
    clock_.advance(std::chrono::seconds(1));
  }
  auto list = [&](int limit, const std::string& before) {
    v1::ListJobsRequest request;
    request.set_instance("default");
    request.set_limit(limit);
    request.set_before(before);
    grpc::ClientContext context;
    v1::ListJobsResponse response;
    EXPECT_TRUE(jobStub_->ListJobs(&context, request, &response).ok());
    std::vector<std::string> out;
    for (const v1::Job& job : response.jobs()) out.push_back(job.id());
    return out;
  };
  EXPECT_EQ(list(2, ""), (std::vector<std::string>{ids[2], ids[1]}));
  EXPECT_EQ(list(2, ids[1]), (std::vector<std::string>{ids[0]}));
}

TEST_F(JobFlow, InstancesDoNotSeeEachOther) {
  auto one = worker("w1");
  v1::Job job = submitted(request("k1"));
  v1::GetJobRequest which;
  which.set_instance("other");
  which.set_id(job.id());
  grpc::ClientContext context;
  EXPECT_EQ(jobStub_->GetJob(&context, which, &job).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(JobFlow, AListGoesOnBehindAJobThatThereIs) {
  const auto one = worker("w1");
  const v1::Job first = submitted(request("k1"));
  clock_.advance(std::chrono::seconds(1));
  const v1::Job second = submitted(request("k2"));
  const auto behind = [&](const std::string& before, const std::string& instance = "default") {
    v1::ListJobsRequest asked;
    asked.set_instance(instance);
    asked.set_before(before);
    grpc::ClientContext context;
    v1::ListJobsResponse jobs;
    const grpc::Status status = jobStub_->ListJobs(&context, asked, &jobs);
    return std::pair(status.error_code(), jobs.jobs_size());
  };
  EXPECT_EQ(behind(""), std::pair(grpc::StatusCode::OK, 2));
  EXPECT_EQ(behind(second.id()), std::pair(grpc::StatusCode::OK, 1));
  EXPECT_EQ(behind(first.id()), std::pair(grpc::StatusCode::OK, 0));
  EXPECT_EQ(behind("nothing").first, grpc::StatusCode::NOT_FOUND) << "and not a list from the start";
  EXPECT_EQ(behind(first.id(), "other").first, grpc::StatusCode::NOT_FOUND) << "another tenant's";
}

}  // namespace
}  // namespace kiln::service
