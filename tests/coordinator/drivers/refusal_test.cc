// What bad submissions, toolchains and workers get.
#include "google/rpc/status.pb.h"
#include "tests/coordinator/farm/farm_fixture.h"

namespace kiln::service {
namespace {

using namespace testing;
using testing_support::ToolOutcome;

class Refusal : public FarmTest {
 protected:
  Refusal() {
    EXPECT_TRUE(addToolchain(putToolchain()).ok());
    signer_.calls = 0;
  }

  // The JobError that travels with a refused submission.
  v1::JobError errorOf(const v1::SubmitJobRequest& bad, grpc::StatusCode code) {
    v1::Job job;
    grpc::Status status = submit(bad, &job);
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    google::rpc::Status rich;
    v1::JobError error;
    EXPECT_TRUE(rich.ParseFromString(status.error_details()));
    EXPECT_EQ(rich.details_size(), 1);
    if (rich.details_size() == 1) rich.details(0).UnpackTo(&error);
    return error;
  }

  // What one run's report leads to; the run's error as the job shows it after the last attempt.
  std::string attemptError(const std::string& job) {
    auto rows = pool_.execute(
        "SELECT error FROM attempts a JOIN runs r ON r.instance = a.instance AND r.id = a.run_id "
        "WHERE r.job_id = $1 AND a.outcome = 'failed' ORDER BY a.ended DESC LIMIT 1",
        {job});
    auto error = rows->first([](const postgres::Row& row) { return row.get<std::string>("error"); });
    return error && *error ? **error : "no attempt failed";
  }
};

TEST_F(Refusal, BlobsThatAreNotUploadedAreListed) {
  auto one = worker("w1");
  v1::SubmitJobRequest bad = request("k1");
  *bad.mutable_sources(0)->mutable_blob() = toProto(digestOf(std::string_view("never uploaded")));
  v1::JobError error = errorOf(bad, grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_NE(error.details_json().find(digestOf(std::string_view("never uploaded")).text()),
            std::string::npos);
  EXPECT_NE(error.details_json().find("\"missing\""), std::string::npos);
}

TEST_F(Refusal, MoreThanTheQuotaMayWaitIsToComeAgain) {
  auto one = worker("w1");
  farm_.leasing.quotas->replace(
      quota::QuotaRules::parse(
          R"({"apiVersion": "kiln/v1", "kind": "Quotas", "instances": {"default": {"queued": 2}}})")
          .value());
  const v1::Job job = submitted(request("k1"));  // a reference and a compile
  const v1::JobError error = errorOf(request("k2", 1, "another model"), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(error.exit_code(), 7);
  EXPECT_EQ(error.details_json(), R"({"retryAfterSeconds":30})");
  EXPECT_NE(error.message().find("default has 2 runs queued"), std::string::npos) << error.message();
  submitted(request("k1"));  // what is known already is no new one
  settle(job.id(), {one.get()});
  submitted(request("k3", 1, "another model"));
}

TEST_F(Refusal, WhoHasUsedUpWhatIsCountedIsToComeAgain) {
  auto one = worker("w1");
  const v1::Job job = submitted(request("k1"));
  settle(job.id(), {one.get()});
  const auto allow = [&](const std::string& quota) {
    farm_.leasing.quotas->replace(
        quota::QuotaRules::parse(R"({"apiVersion": "kiln/v1", "kind": "Quotas", "default": {)" + quota + "}}")
            .value());
  };
  allow(R"("logEntriesPerDay": 1)");
  v1::JobError error = errorOf(request("k2", 1, "another model"), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(error.exit_code(), 7);
  EXPECT_NE(error.message().find("logEntriesPerDay"), std::string::npos) << error.message();
  EXPECT_NE(error.details_json().find("retryAfterSeconds"), std::string::npos) << error.details_json();
  EXPECT_TRUE(submitted(request("k3")).artifacts(0).cached()) << "what is cached is signed already";
  clock_.advance(std::chrono::hours(24));
  ASSERT_TRUE(one->synchronize({}));
  submitted(request("k4", 1, "another model"));

  ASSERT_TRUE(garbage_.collect(Duration::zero(), false));
  allow(R"("storedBytes": 10)");
  error = errorOf(request("k5", 1, "a third model"), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(error.message().find("storedBytes"), std::string::npos) << error.message();
  allow(R"("storedBytes": 1000000000, "gpuMinutesPerDay": 0)");
  submitted(request("k6", 1, "a third model"));
}

TEST_F(Refusal, ATargetNobodyServesEndsWithFour) {
  EXPECT_EQ(errorOf(request("k1"), grpc::StatusCode::UNIMPLEMENTED).exit_code(), 4) << "no worker at all";
  auto one = worker("w1");
  v1::SubmitJobRequest bad = request("k2");
  bad.set_targets(0, "cuda:sm_90a");
  EXPECT_EQ(errorOf(bad, grpc::StatusCode::UNIMPLEMENTED).exit_code(), 4);
  EXPECT_EQ(errorOf(request("k3", 2), grpc::StatusCode::UNIMPLEMENTED).exit_code(), 4)
      << "two builders, one worker";
}

TEST_F(Refusal, JustAfterAStartItIsUnavailableInstead) {
  farm_.leasing.graceUntil = clock_.now() + std::chrono::seconds(5);
  EXPECT_EQ(errorOf(request("k1"), grpc::StatusCode::UNAVAILABLE).exit_code(), 7);
}

TEST_F(Refusal, AnUnknownToolchainNamesThoseThatExist) {
  auto one = worker("w1");
  v1::SubmitJobRequest bad = request("k1");
  bad.set_toolchain("kiln-9");
  v1::JobError error = errorOf(bad, grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(error.exit_code(), 6);
  EXPECT_NE(error.message().find(kLabel), std::string::npos);
}

TEST_F(Refusal, AToolchainLabelNeverChanges) {
  EXPECT_TRUE(addToolchain(putToolchain()).ok()) << "the same again";
  EXPECT_EQ(addToolchain(putToolchain(kLabel, "another compiler")).error_code(),
            grpc::StatusCode::ALREADY_EXISTS);
  auto tampered = pool_.execute("UPDATE toolchains SET hash = decode(repeat('00', 32), 'hex')");
  EXPECT_FALSE(tampered);
}

TEST_F(Refusal, AToolchainIsExamined) {
  storage::TreeBuilder empty;
  ASSERT_TRUE(empty.addFile("bin/kiln-cc", put("x"), true));
  storage::BuiltTree tree = empty.build();
  ASSERT_TRUE(storage::uploadMissing(*blobs_, "default", tree.directories));
  EXPECT_EQ(addToolchain(tree.root).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(addToolchain(putToolchain("kiln-1"), "kiln-2").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(addToolchain(digestOf(std::string_view("nothing"))).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(Refusal, ACertificateOfAnotherAuthorityIsNotAWorker) {
  auto other = signing::Authority::create(clock_.now()).value();
  testing_support::FakeWorker rogue(channel_, *blobs_, other, directory_.path(), "rogue", "op", clock_.now());
  EXPECT_EQ(rogue.synchronize({}).error().code, Code::kUnauthenticated);
  rogue.description.set_certificate_pem("nonsense");
  EXPECT_EQ(rogue.synchronize({}).error().code, Code::kUnauthenticated);
}

TEST_F(Refusal, TheNameComesFromTheCertificate) {
  auto one = worker("w1", "acme");
  one->description.set_name("someone-else");
  one->description.set_operator_("nobody");
  one->description.add_toolchains("changed");
  ASSERT_TRUE(one->synchronize({}));
  grpc::ClientContext context;
  v1::ListWorkersRequest request;
  request.set_instance("default");
  v1::ListWorkersResponse response;
  ASSERT_TRUE(fleetStub_->ListWorkers(&context, request, &response).ok());
  ASSERT_EQ(response.workers_size(), 1);
  EXPECT_EQ(response.workers(0).description().name(), "w1");
  EXPECT_EQ(response.workers(0).description().operator_(), "acme");
}

// Bytes that are not what the report declares.
TEST_F(Refusal, Case01DigestsWithoutTheirBytes) {
  auto one = worker("w1");
  v1::Job job = submitted(request("k1"));
  one->tamper = [](const v1::Lease&, ToolOutcome& outcome) { outcome.files["extra"] = "honest"; };
  one->forge = [&](const v1::Lease&, v1::Finished& report) {
    for (auto& file : *report.mutable_result()->mutable_output_files())
      if (file.path() == "output/extra")
        *file.mutable_digest() = toProto(digestOf(std::string_view("not there")));
  };
  auto leases = one->poll();
  ASSERT_FALSE(leases.empty());
  auto response = one->synchronize({*one->run(leases[0])});
  ASSERT_TRUE(response);
  EXPECT_EQ(response->forget_size(), 1);
  EXPECT_NE(attemptError(job.id()).find("receipt lists other outputs"), std::string::npos)
      << attemptError(job.id());
  EXPECT_TRUE(pool_.execute("SELECT * FROM action_results")->empty());
}

// With a receipt that agrees with the lie: the blob itself is asked for.
TEST_F(Refusal, Case01AnOutputThatIsNotInTheStore) {
  auto one = worker("w1");
  v1::Job job = submitted(request("k1"));
  auto leases = one->poll();
  auto report = one->run(leases[0]);
  ASSERT_TRUE(report);
  Digest first = *fromProto(report->finished().result().output_files(0).digest());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_ / "store"))
    if (entry.is_regular_file() && entry.path().string().find(first.hex()) != std::string::npos)
      std::filesystem::remove(entry.path());
  ASSERT_TRUE(one->synchronize({*report}));
  EXPECT_TRUE(pool_.execute("SELECT * FROM action_results")->empty());
  EXPECT_NE(attemptError(job.id()).find("output "), std::string::npos) << attemptError(job.id());
}

// A manifest for other parameters than those asked for.
TEST_F(Refusal, Case02AManifestOfAnotherSpec) {
  auto one = worker("w1");
  v1::Job job = submitted(request("k1"));
  one->tamper = [](const v1::Lease& lease, ToolOutcome& outcome) {
    if (lease.kind() != v1::ACTION_COMPILE) return;
    CompileSpec other = testing_support::sampleSpec();
    Manifest manifest = makeManifest(other, testing_support::sampleEvidence()).value();
    outcome.files["manifest.json"] = toCanonicalJson(manifest.toJson()).value();
  };
  for (int attempt = 0; attempt < 3; ++attempt) {
    ASSERT_TRUE(one->work());
    clock_.advance(std::chrono::seconds(31));
  }
  ASSERT_TRUE(advance(job.id()));
  job = get(job.id());
  ASSERT_EQ(job.state(), v1::JOB_FAILED);
  EXPECT_NE(job.error().message().find("manifest.json is not what the spec"), std::string::npos)
      << job.error().message();
  EXPECT_EQ(signer_.calls, 0);
}

// Evidence that names other bytes than were uploaded.
TEST_F(Refusal, Case02AProgramThatIsNotTheOneInTheEvidence) {
  auto one = worker("w1");
  v1::Job job = submitted(request("k1"));
  one->tamper = [](const v1::Lease&, ToolOutcome& outcome) {
    if (outcome.files.contains("program.so")) outcome.files["program.so"] = "a backdoor";
  };
  ASSERT_TRUE(one->work());
  EXPECT_NE(attemptError(job.id()).find("program.so"), std::string::npos) << attemptError(job.id());
}

// Fixtures that are not those of their list would never be signed, so they are not taken.
TEST_F(Refusal, FixturesThatAreNotAsListed) {
  auto refused = [&](const std::string& key, const std::function<void(ToolOutcome&)>& damage) {
    auto one = worker("w-" + key);
    v1::Job job = submitted(request(key, 1, "model " + key));
    one->tamper = [&](const v1::Lease& lease, ToolOutcome& outcome) {
      if (lease.kind() == v1::ACTION_REFERENCE) damage(outcome);
    };
    EXPECT_TRUE(one->work());
    return attemptError(job.id());
  };
  auto has = [](const std::string& error, const char* part) {
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  has(refused("k1", [](ToolOutcome& o) { o.files["default/input_0.npy"] = "x"; }), "not among the outputs");
  has(refused("k2", [](ToolOutcome& o) { o.files.erase("default/input_0.npy"); }), "not among the outputs");
  has(refused("k3", [](ToolOutcome& o) { o.files["extra.npy"] = "x"; }), "does not list");
  has(refused("k4", [](ToolOutcome& o) { o.files["fixtures.json"] = "{}"; }), "fixtures.json");
  has(refused("k5", [](ToolOutcome& o) { o.files.erase("fixtures.json"); }), "lack fixtures.json");
}

// A good result of one job reported for another.
TEST_F(Refusal, Case03AResultOfAnotherLease) {
  auto one = worker("w1");
  submitted(request("k1", 1, "model a"));
  auto first = one->poll();
  ASSERT_EQ(first.size(), 2u);
  std::vector<v1::LeaseReport> good;
  for (const auto& lease : first) good.push_back(*one->run(lease));
  ASSERT_TRUE(one->synchronize(good));
  v1::Job second = submitted(request("k2", 1, "model b"));
  auto leases = one->poll();
  ASSERT_EQ(leases.size(), 2u);
  v1::LeaseReport stolen = good[0];
  stolen.set_lease_id(leases[0].id());
  stolen.set_epoch(leases[0].epoch());
  ASSERT_TRUE(one->synchronize({stolen}));
  EXPECT_NE(attemptError(second.id()).find("another lease or action"), std::string::npos)
      << attemptError(second.id());
}

TEST_F(Refusal, AReceiptByAnotherKey) {
  auto one = worker("w1"), two = worker("w2");
  v1::Job job = submitted(request("k1"));
  auto leases = one->poll();
  auto report = two->run(leases[0]);
  ASSERT_TRUE(one->synchronize({*report}));
  EXPECT_NE(attemptError(job.id()), "no attempt failed");
  EXPECT_TRUE(pool_.execute("SELECT * FROM action_results")->empty());
}

TEST_F(Refusal, ASandboxPolicyThatNobodyCanRead) {
  auto one = worker("w1");
  one->uploadsPolicy = false;
  v1::Job job = submitted(request("k1"));
  auto leases = one->poll();
  ASSERT_TRUE(one->synchronize({*one->run(leases[0])}));
  EXPECT_NE(attemptError(job.id()).find("sandbox policy"), std::string::npos) << attemptError(job.id());
  EXPECT_TRUE(pool_.execute("SELECT * FROM action_results")->empty());
}

TEST_F(Refusal, AReportForALeaseOfAnotherWorkerIsForgotten) {
  auto one = worker("w1"), two = worker("w2");
  submitted(request("k1"));
  auto leases = one->poll();
  auto response = two->synchronize({*two->run(leases[0])});
  ASSERT_TRUE(response);
  EXPECT_EQ(response->forget_size(), 1);
  EXPECT_TRUE(pool_.execute("SELECT * FROM action_results")->empty());
}

// The index is changed by hand. What is signed does not follow it.
TEST_F(Refusal, Case24ATamperedResultRowIsNotPublished) {
  auto one = worker("w1");
  v1::Job job = submitted(request("k1"));
  ASSERT_TRUE(one->work());
  Digest other = put("other bytes");
  auto rows = pool_.execute(
      "SELECT run_id, result FROM action_results r JOIN actions a ON a.hash = r.action_hash "
      "WHERE a.kind = 3");
  auto bytes =
      *rows->first([](const postgres::Row& row) { return row.get<std::vector<std::uint8_t>>("result"); });
  reapi::ActionResult result;
  ASSERT_TRUE(result.ParseFromArray(bytes->data(), static_cast<int>(bytes->size())));
  for (auto& file : *result.mutable_output_files())
    if (file.path() == "output/program.so") *file.mutable_digest() = toProto(other);
  std::string changed = result.SerializeAsString();
  ASSERT_TRUE(
      pool_.execute("UPDATE action_results r SET result = $1 FROM actions a WHERE a.hash = r.action_hash AND "
                    "a.kind = 3",
                    {asBytes(changed)}));
  ASSERT_TRUE(advance(job.id()));
  job = get(job.id());
  EXPECT_EQ(job.state(), v1::JOB_FAILED);
  EXPECT_EQ(job.error().exit_code(), 5) << job.error().message();
  EXPECT_EQ(signer_.calls, 0);
}

// Rows that agree among themselves make another model's artifact the answer to this one.
TEST_F(Refusal, Case17ACacheRowThatPointsAtAnotherArtifactIsNoHit) {
  auto one = worker("w1");
  v1::Job mine = submitted(request("k1")), other = submitted(request("k2", 1, "another model"));
  settle(mine.id(), {one.get()});
  settle(other.id(), {one.get()});
  std::string right = get(mine.id()).artifacts(0).digest(), wrong = get(other.id()).artifacts(0).digest();
  ASSERT_NE(right, wrong);
  Digest model = put("a model"), planted = Digest::parse(wrong, 0).value();
  ASSERT_TRUE(pool_.execute("UPDATE materials SET hash = $1 WHERE kind = 'model'", {Bytes(model.hash)}));
  ASSERT_TRUE(pool_.execute("UPDATE artifact_actions SET artifact_hash = $1", {Bytes(planted.hash)}));
  v1::Job again = submitted(request("k3"));
  settle(again.id(), {one.get()});
  EXPECT_EQ(get(again.id()).artifacts(0).digest(), right);
}

// The coordinator's clock is set while a worker is at work: that is no time in which it was silent.
class SetClock : public Refusal {
 protected:
  void goesBy(Duration time) {
    clock_.advance(time);
    steady_.advance(time);
    ASSERT_TRUE(watching_.sweep());
  }
  void setBy(Duration by) {
    auto one = worker("w1");
    ASSERT_TRUE(watching_.sweep());
    v1::Job job = submitted(request("k1"));
    auto leases = one->poll();
    ASSERT_EQ(leases.size(), 2u);
    goesBy(std::chrono::seconds(1));
    clock_.advance(by);
    goesBy(std::chrono::seconds(1));
    goesBy(std::chrono::seconds(28));
    auto response = one->synchronize({*one->run(leases[0]), *one->run(leases[1])});
    ASSERT_TRUE(response) << response.error().message;
    EXPECT_EQ(results(), 2) << "the leases still hold";
    settle(job.id(), {one.get()});
    EXPECT_EQ(get(job.id()).state(), v1::JOB_SUCCEEDED) << get(job.id()).error().message();

    job = submitted(request("k2", 1, "another model"));
    leases = one->poll();
    ASSERT_EQ(leases.size(), 2u);
    goesBy(std::chrono::seconds(31));
    response = one->synchronize({*one->run(leases[0]), *one->run(leases[1])});
    ASSERT_TRUE(response);
    EXPECT_EQ(results(), 2) << "time that went by still counts";
  }
  int results() { return pool_.execute("SELECT FROM action_results")->size(); }

  testing_support::ManualClock steady_;
  JobDriver watching_{farm_.planning, farm_.leasing, farm_.observers, {.steady = &steady_}};
};

TEST_F(SetClock, ForwardEndsNoLease) {
  setBy(std::chrono::hours(5));
}

TEST_F(SetClock, BackEndsNoLease) {
  setBy(-std::chrono::minutes(30));
}

TEST_F(Refusal, AStaleEpochIsForgottenAndTheNewLeaseStands) {
  auto one = worker("w1");
  v1::Job job = submitted(request("k1"));
  auto stale = one->poll();
  ASSERT_EQ(stale.size(), 2u);
  auto two = worker("w2");
  clock_.advance(std::chrono::seconds(31));
  ASSERT_TRUE(driver_.sweep());  // the first sweep after a start gives every lease a full term
  clock_.advance(std::chrono::seconds(31));
  ASSERT_TRUE(driver_.sweep());
  auto current = two->poll();
  ASSERT_EQ(current.size(), 2u);
  auto response = one->synchronize({*one->run(stale[0]), *one->run(stale[1])});
  ASSERT_TRUE(response);
  EXPECT_EQ(response->forget_size(), 2);
  EXPECT_TRUE(pool_.execute("SELECT * FROM action_results")->empty());
  ASSERT_TRUE(two->synchronize({*two->run(current[0]), *two->run(current[1])}));
  ASSERT_TRUE(advance(job.id()));
  EXPECT_EQ(get(job.id()).state(), v1::JOB_SUCCEEDED);
}

}  // namespace
}  // namespace kiln::service
