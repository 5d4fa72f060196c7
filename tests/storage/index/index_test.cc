#include <fmt/format.h>

#include <algorithm>

#include "storage/index/artifacts/artifact_repository.h"
#include "storage/index/artifacts/ir_repository.h"
#include "storage/index/artifacts/verdict_repository.h"
#include "storage/index/fleet/worker_repository.h"
#include "storage/index/jobs/job_changes.h"
#include "storage/index/jobs/result_repository.h"
#include "storage/index/toolchains/toolchain_repository.h"
#include "tests/storage/index/index_fixture.h"

namespace kiln::index {
namespace {

using namespace testing;
using postgres::Connection;

class IndexTest : public ::testing::Test {
 protected:
  Connection connection_ = std::move(*Connection::open(newIndex()));

  PublicationRecord publication(const std::string& name, const std::string& uri = "") {
    PublicationRecord out;
    out.artifact.instance = "default";
    out.artifact.digest = digestOf("artifact " + name);
    out.artifact.config = digestOf("config " + name);
    out.artifact.target = "cpu:x86-64-v3";
    out.artifact.toolchainLabel = "kiln";
    out.artifact.toolchainDigest = digestOf(std::string_view("toolchain"));
    out.artifact.published = kStart;
    out.artifact.files = {{"program.so", "application/x", digestOf("program " + name)}};
    out.action = compileOf(name).action;
    out.bundle = {digestOf("payload " + name + uri), digestOf("bundle " + name + uri), "type", "j", kStart};
    out.materials = {{"model", "input/model.onnx", uri, digestOf("model " + name)}};
    out.builders = {{"w1", "op1"}, {"w2", "op2"}};
    return out;
  }
  void insert(const PublicationRecord& record) {
    auto status = connection_.transact([&](Connection& c) -> Status {
      KILN_TRY(addActions(c, {"default", "j"}, 0, {}));
      KILN_TRY(c.execute("INSERT INTO actions VALUES ('default', $1, $2, 3, '') ON CONFLICT DO NOTHING",
                         {Bytes(record.action.hash), record.action.size}));
      return insertPublication(c, record);
    });
    ASSERT_TRUE(status) << status.error().message;
  }
};

TEST_F(IndexTest, MigrationsMayBeRepeated) {
  EXPECT_TRUE(postgres::migrate(connection_, migrations()));
}

// A coordinator says it each second: a row that is locked for it would be written to the disk each time.
TEST_F(IndexTest, ABasisThatStandsIsLeftAlone) {
  const Digest basis{digestOf(std::string_view("b")).hash, 0};
  ASSERT_TRUE(setBasis(connection_, "default", basis, kStart));
  const auto touched = [&] {
    return connection_.execute("SELECT xmin::text || ' ' || xmax::text AS v FROM instance_policies")
        ->first([](const postgres::Row& row) { return row.get<std::string>("v"); })
        .value()
        .value();
  };
  const std::string before = touched();
  ASSERT_TRUE(setBasis(connection_, "default", basis, kStart));
  EXPECT_EQ(touched(), before);
  ASSERT_TRUE(setBasis(connection_, "default", {digestOf(std::string_view("c")).hash, 0}, kStart));
  EXPECT_NE(touched(), before);
}

// By which a coordinator that starts knows whether workers could report meanwhile.
TEST_F(IndexTest, AnotherCoordinatorIsSeenByItsSessions) {
  const std::string name = kCoordinatorSession;
  postgres::ConnectionOptions options = newIndex();
  const Connection log = Connection::open(options).value();
  options.applicationName = name + "1";
  Connection ours = Connection::open(options).value();
  const Connection more = Connection::open(options).value();
  EXPECT_FALSE(anotherListens(ours, Duration::zero()).value()) << "its own are no other coordinator's";
  options.applicationName = name + "2";
  const Connection other = Connection::open(options).value();
  EXPECT_TRUE(anotherListens(ours, Duration::zero()).value());
  EXPECT_FALSE(anotherListens(ours, std::chrono::hours(1)).value()) << "it has only just come";
}

TEST_F(IndexTest, AJobComesBackAsItWasStored) {
  JobSnapshot job = jobWithRuns("a", "a", 2);
  job.sources.push_back({"data.bin", {}, GitSource{"https://h/r", std::string(40, 'a'), "d"}, {}});
  job.targets.push_back({"cpu:x86-64-v4", digestOf(std::string_view("artifact")), true, {"w1", "w2"}});
  job.actions.push_back({ActionKind::kFetch, "", digestOf(std::string_view("fetch")), 1});
  ASSERT_TRUE(connection_.transact([&](Connection& c) { return insertJob(c, job); }));
  auto loaded = *loadJob(connection_, job.job.key, Evidence::kWith);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->job.submitted, job.job.submitted);
  EXPECT_EQ(loaded->job.toolchainDigest, job.job.toolchainDigest);
  ASSERT_EQ(loaded->sources.size(), 2u);
  EXPECT_EQ(loaded->sources[0].blob, job.sources[0].blob);
  EXPECT_FALSE(loaded->sources[0].git);
  EXPECT_FALSE(loaded->sources[1].blob);
  EXPECT_EQ(loaded->sources[1].git, job.sources[1].git);
  ASSERT_EQ(loaded->targets.size(), 2u);
  EXPECT_FALSE(loaded->targets[0].artifact);
  EXPECT_TRUE(loaded->targets[0].builders.empty());
  EXPECT_EQ(loaded->targets[1].builders, (std::vector<std::string>{"w1", "w2"}));
  ASSERT_EQ(loaded->actions.size(), 2u);
  EXPECT_EQ(loaded->actions[1].source, 1);
  EXPECT_EQ(loaded->runs.size(), 2u);
  EXPECT_GT(loaded->job.revision, 0u);
}

TEST_F(IndexTest, EveryChangeRaisesTheRevision) {
  ASSERT_TRUE(insertJob(connection_, jobWithRuns("a", "a", 1)));
  auto revision = [&] { return (*loadJob(connection_, {"default", "a"}, Evidence::kWithout))->job.revision; };
  std::uint64_t first = revision();
  ASSERT_TRUE(connection_.execute("UPDATE runs SET stage = 'codegen'"));
  std::uint64_t second = revision();
  EXPECT_GT(second, first);
  ASSERT_TRUE(connection_.execute("UPDATE runs SET expires = $1", {kStart}));
  EXPECT_EQ(revision(), second) << "extending a lease is no change";
  ASSERT_TRUE(wantCancel(connection_, {"default", "a"}));
  EXPECT_GT(revision(), second);
}

TEST_F(IndexTest, AnArtifactHasOneIrWhoseFilesAreItsBlobs) {
  ASSERT_TRUE(insertJob(connection_, jobWithRuns("j", "a", 0)));
  const PublicationRecord record = publication("a");
  insert(record);
  const Digest artifact = record.artifact.digest;
  EXPECT_FALSE(irOf(connection_, "default", artifact).value());
  const IrRecord ir{artifact,
                    {digestOf(std::string_view("ir")).hash, 0},
                    {record.bundle.payload.hash, 0},
                    {{"01-capture.mlir", digestOf("a module")}, {"10-program.ll", digestOf("a program")}}};
  ASSERT_TRUE(insertIr(connection_, "default", ir));
  IrRecord other = ir;
  other.ir = {digestOf(std::string_view("another")).hash, 0};
  other.files.push_back({"11.ll", digestOf("more")});
  ASSERT_TRUE(insertIr(connection_, "default", other)) << "changes nothing";
  const auto kept = irOf(connection_, "default", artifact).value();
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->artifact, artifact);
  EXPECT_EQ(kept->ir, ir.ir);
  EXPECT_EQ(kept->statement, ir.statement);
  EXPECT_EQ(kept->files, ir.files);
  EXPECT_EQ(findIr(connection_, "default", ir.ir).value()->files, ir.files);
  EXPECT_FALSE(findIr(connection_, "default", other.ir).value());
  EXPECT_FALSE(irOf(connection_, "another", artifact).value());
  for (const ModelFile& file : ir.files) {
    EXPECT_EQ(findPublishedBlob(connection_, "default", file.digest).value(), file.digest) << file.path;
    EXPECT_EQ(findArtifactsOf(connection_, "default", file.digest).value(), std::vector{artifact});
    EXPECT_FALSE(findPublishedBlob(connection_, "another", file.digest).value());
  }
  const auto target = [&] {
    return loadJob(connection_, {"default", "j"}, Evidence::kWithout).value()->targets[0];
  };
  EXPECT_FALSE(target().ir);
  ASSERT_TRUE(setTargetIr(connection_, {"default", "j"}, 0));
  EXPECT_TRUE(target().ir);
}

// A list says of each job what the job alone says, but for what was submitted, and keeps jobs apart.
TEST_F(IndexTest, JobsAreListedWithAllThatAListShows) {
  for (const char* id : {"a", "b", "c"}) {
    JobSnapshot job = jobWithRuns(id, id, 2, "default", kStart + std::chrono::seconds(id[0]));
    job.targets.push_back({"cpu:x86-64-v4", digestOf(std::string("artifact ") + id), true, {"w1"}});
    job.actions.push_back({ActionKind::kFetch, "", digestOf(std::string("fetch ") + id), 1});
    ASSERT_TRUE(connection_.transact([&](Connection& c) { return insertJob(c, job); }));
  }
  ASSERT_TRUE(insertJob(connection_, jobWithRuns("z", "z", 1, "another")));
  ASSERT_TRUE(connection_.execute(
      "UPDATE runs SET stage = 'codegen', state = 1, epoch = 2, attempts = 2 WHERE id = 'b-r1'"));
  for (const std::uint64_t epoch : {1, 2})
    ASSERT_TRUE(connection_.execute(
        "INSERT INTO attempts (instance, run_id, epoch, worker, operator, leased) VALUES ('default', "
        "'b-r1', $1, 'w1', 'op1', $2)",
        {epoch, kStart + std::chrono::seconds(epoch)}));
  const auto listed = listJobs(connection_, "default", 2, "");
  ASSERT_TRUE(listed) << listed.error().message;
  ASSERT_EQ(listed->size(), 2u);
  EXPECT_EQ(listed->front().job.key.id, "c");
  for (const JobSnapshot& job : *listed) {
    const JobSnapshot alone = **loadJob(connection_, job.job.key, Evidence::kWithout);
    EXPECT_EQ(job.job.revision, alone.job.revision);
    EXPECT_EQ(job.job.toolchainDigest, alone.job.toolchainDigest);
    ASSERT_EQ(job.targets.size(), 2u);
    EXPECT_EQ(job.targets[0].target, "cpu:x86-64-v3");
    EXPECT_EQ(job.targets[1].artifact->hash, alone.targets[1].artifact->hash);
    ASSERT_EQ(job.actions.size(), 2u);
    EXPECT_EQ(job.actions[0].action, alone.actions[0].action);
    EXPECT_EQ(job.actions[1].action, alone.actions[1].action);
    ASSERT_EQ(job.runs.size(), 2u);
    EXPECT_EQ(job.runs[0].id, alone.runs[0].id);
    EXPECT_EQ(job.runs[1].stage, job.job.key.id == "b" ? "codegen" : "");
    EXPECT_EQ(job.leasedSince, alone.leasedSince);
    EXPECT_EQ(job.leasedSince.size(), job.job.key.id == "b" ? 1u : 0u);
    if (job.job.key.id == "b") EXPECT_EQ(job.leasedSince.at("b-r1"), kStart + std::chrono::seconds(2));
    EXPECT_TRUE(job.sources.empty());
    EXPECT_EQ(job.job.spec + job.job.delivery, "");
  }
  const auto next = listJobs(connection_, "default", 2, listed->back().job.key.id);
  ASSERT_EQ(next->size(), 1u);
  EXPECT_EQ(next->front().job.key.id, "a");
  EXPECT_TRUE(listJobs(connection_, "nobody's", 2, "")->empty());
}

TEST_F(IndexTest, OpenJobsAreListedInPiecesInTheOrderOfTheirKeys) {
  for (const char* id : {"b", "a", "c"}) ASSERT_TRUE(insertJob(connection_, jobWithRuns(id, id, 1)));
  ASSERT_TRUE(insertJob(connection_, jobWithRuns("z", "z", 1, "another")));
  ASSERT_TRUE(connection_.transact([&](postgres::Connection& c) {
    return endJob(c, {"default", "b"}, JobState::kSucceeded, {}, kStart);
  }));
  const auto first = listOpenJobs(connection_, {}, 2);
  EXPECT_EQ(*first, (std::vector<JobKey>{{"another", "z"}, {"default", "a"}}));
  EXPECT_EQ(*listOpenJobs(connection_, first->back(), 2), (std::vector<JobKey>{{"default", "c"}}));
}

TEST_F(IndexTest, AnIdempotencyKeyIsUsedOncePerInstance) {
  ASSERT_TRUE(insertJob(connection_, jobWithRuns("a", "a", 0)));
  JobSnapshot second = jobWithRuns("b", "b", 0);
  second.job.idempotencyKey = "key a";
  EXPECT_EQ(insertJob(connection_, second).error().code, Code::kAlreadyExists);
  second.job.key.instance = "other";
  EXPECT_TRUE(insertJob(connection_, second));
}

TEST_F(IndexTest, OnlyUndisputedSuccessesOfTheInstanceAreReused) {
  Digest action = compileOf("a").action;
  for (const char* id : {"a", "b"}) ASSERT_TRUE(insertJob(connection_, jobWithRuns(id, "a", 1)));
  auto store = [&](const std::string& job, const std::string& worker, int exitCode) {
    RunRecord run;
    run.instance = "default";
    run.id = job + "-r0";
    run.jobId = job;
    run.action = action;
    run.worker = worker;
    ResultRecord result = resultOf(run);
    result.epoch = static_cast<std::uint64_t>(worker.back());
    result.exitCode = exitCode;
    ASSERT_TRUE(insertResult(connection_, result));
  };
  store("a", "w1", 0);
  store("a", "w2", 4);
  EXPECT_EQ(reusableResults(connection_, "default", {action})->size(), 1u);
  EXPECT_TRUE(reusableResults(connection_, "other", {action})->empty());
  EXPECT_EQ(resultsOfJob(connection_, {"default", "b"}, true)->size(), 1u);
  EXPECT_TRUE(resultsOfJob(connection_, {"default", "b"}, false)->empty());
  EXPECT_EQ(resultsOfJob(connection_, {"default", "a"}, false)->size(), 2u) << "its own failures count";
  ASSERT_TRUE(markDisputed(connection_, *reusableResults(connection_, "default", {action})));
  EXPECT_TRUE(reusableResults(connection_, "default", {action})->empty()) << "these alone";
  store("b", "w3", 0);
  EXPECT_EQ(reusableResults(connection_, "default", {action})->size(), 1u);
  ASSERT_TRUE(markDisputed(connection_, "default", action));
  EXPECT_TRUE(reusableResults(connection_, "default", {action})->empty());
}

TEST_F(IndexTest, PublishingTwiceChangesNothing) {
  insert(publication("a"));
  insert(publication("a"));
  auto artifact = *loadArtifact(connection_, "default", digestOf("artifact a"));
  ASSERT_TRUE(artifact);
  EXPECT_EQ(artifact->bundles.size(), 1u);
  EXPECT_EQ(artifact->files.size(), 1u);
  EXPECT_EQ(artifact->builders.size(), 2u);
  insert(publication("a", "git+https://h/r@c#m"));
  EXPECT_EQ((*loadArtifact(connection_, "default", digestOf("artifact a")))->bundles.size(), 2u);
}

TEST_F(IndexTest, AListNamesTheFirstJobsOfEachArtifactAlone) {
  insert(publication("a"));
  for (int n = 0; n < 2 * kListedJobs; ++n) {
    const std::string id = fmt::format("j{:03}", n);
    ASSERT_TRUE(insertJob(connection_, jobWithRuns(id, id, 0)));
  }
  ASSERT_TRUE(
      connection_.execute("UPDATE job_targets SET artifact_hash = $1", {Bytes(digestOf("artifact a").hash)}));
  const auto alone = *loadArtifact(connection_, "default", digestOf("artifact a"));
  ASSERT_EQ(alone->jobs.size(), 2u * kListedJobs);
  const auto list = listArtifacts(connection_, "default", 9);
  ASSERT_EQ(list->size(), 1u);
  EXPECT_EQ(list->front().jobs, std::vector(alone->jobs.begin(), alone->jobs.begin() + kListedJobs));
}

// A list says of each artifact what the artifact alone says, but for its files, keeps artifacts apart, and
// goes on behind any of them; of the same time the lower hash comes first.
TEST_F(IndexTest, ArtifactsAreListedWithAllThatAListShows) {
  for (const char* id : {"j", "k"}) {
    JobSnapshot job = jobWithRuns(id, id, 0);
    job.job.modelName = std::string("models/") + id + ".onnx";
    ASSERT_TRUE(insertJob(connection_, job));
  }
  for (const char* name : {"a", "b", "c", "d"}) {
    PublicationRecord record = publication(name);
    record.artifact.published = kStart + std::chrono::seconds(name[0] == 'd' ? 9 : 5);
    if (name[0] == 'b') record.builders.pop_back();
    insert(record);
  }
  PublicationRecord another = publication("z");
  another.artifact.instance = "another";
  another.bundle.payload = digestOf(std::string_view("payload of another"));
  ASSERT_TRUE(connection_.transact([&](Connection& c) -> Status {
    KILN_TRY(c.execute("INSERT INTO actions VALUES ('another', $1, $2, 3, '') ON CONFLICT DO NOTHING",
                       {Bytes(another.action.hash), another.action.size}));
    return insertPublication(c, another);
  }));
  ASSERT_TRUE(
      connection_.execute("UPDATE job_targets SET artifact_hash = $1", {Bytes(digestOf("artifact b").hash)}));
  const auto all = listArtifacts(connection_, "default", 9);
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->size(), 4u);
  EXPECT_EQ(all->front().digest, digestOf("artifact d"));
  EXPECT_TRUE(std::ranges::is_sorted(all->begin() + 1, all->end(), {},
                                     [](const ArtifactRecord& one) { return one.digest.hash; }));
  for (const ArtifactRecord& listed : *all) {
    const ArtifactRecord alone = **loadArtifact(connection_, "default", listed.digest);
    const bool isB = listed.digest == digestOf("artifact b");
    EXPECT_EQ(listed.bundles.size(), 1u);
    EXPECT_EQ(listed.bundles.at(0).payload, alone.bundles.at(0).payload);
    EXPECT_EQ(listed.builders, alone.builders);
    EXPECT_EQ(listed.builders.size(), isB ? 1u : 2u);
    EXPECT_EQ(listed.jobs, alone.jobs);
    EXPECT_EQ(listed.jobs, isB ? (std::vector<std::string>{"j", "k"}) : std::vector<std::string>{});
    EXPECT_EQ(listed.models, alone.models);
    EXPECT_EQ(listed.models, isB ? (std::vector<std::string>{"models/j.onnx", "models/k.onnx"})
                                 : std::vector<std::string>{});
    EXPECT_TRUE(listed.files.empty());
    EXPECT_EQ(alone.files.size(), 1u);
    EXPECT_EQ(listed.published, alone.published);
  }
  std::vector<Digest> paged;
  std::optional<Digest> before;
  for (auto page = listArtifacts(connection_, "default", 1); page && !page->empty();
       page = listArtifacts(connection_, "default", 1, before)) {
    before = page->front().digest;
    paged.push_back(*before);
  }
  ASSERT_EQ(paged.size(), 4u);
  for (std::size_t i = 0; i < paged.size(); ++i) EXPECT_EQ(paged[i], (*all)[i].digest);
  EXPECT_TRUE(listArtifacts(connection_, "default", 9, digestOf("artifact z"))->empty())
      << "another tenant's";
  // Whoever holds the index against the log reads them by hash, with their files.
  const auto byHash = listArtifactsByHash(connection_, "default", Digest{}, 9);
  ASSERT_EQ(byHash->size(), 4u);
  for (const ArtifactRecord& one : *byHash) EXPECT_EQ(one.files.size(), 1u);
}

// Of the database's administrator. Who compares it with what is signed finds it; nobody's list ends there.
TEST_F(IndexTest, ASizeBelowZeroReadsAsNone) {
  insert(publication("a"));
  ASSERT_TRUE(connection_.execute("UPDATE artifact_files SET size = -size"));
  ASSERT_TRUE(connection_.execute("UPDATE artifacts SET size = -size, config_size = -config_size"));
  const auto artifact = loadArtifact(connection_, "default", digestOf("artifact a"));
  ASSERT_TRUE(artifact) << artifact.error().message;
  EXPECT_EQ((*artifact)->digest.size, 0u);
  EXPECT_EQ((*artifact)->config.size, 0u);
  EXPECT_EQ((*artifact)->files[0].digest.size, 0u);
}

TEST_F(IndexTest, ArtifactsAreFoundByTheBeginningOfTheirDigest) {
  const PublicationRecord a = publication("a");
  PublicationRecord near = publication("b");
  insert(a);
  const auto found = [&](std::size_t digits, const std::string& instance = "default") {
    const auto range = shortDigestRange(a.artifact.digest.text().substr(0, 7 + digits));
    return *findArtifactsIn(connection_, instance, *range);
  };
  EXPECT_EQ(found(12), std::vector{a.artifact.digest});
  EXPECT_EQ(found(63), std::vector{a.artifact.digest});
  EXPECT_TRUE(found(12, "other").empty()) << "another tenant's";
  near.artifact.digest = a.artifact.digest;
  near.artifact.digest.hash[31] ^= 0x10;
  insert(near);
  EXPECT_EQ(found(12).size(), 2u);
  EXPECT_EQ(found(63), std::vector{a.artifact.digest}) << "the last digit but one tells them apart";
}

TEST_F(IndexTest, OnlyPublishedBlobsAreFound) {
  insert(publication("a"));
  auto found = [&](const std::string& instance, const std::string& content) {
    return findPublishedBlob(connection_, instance, digestOf(content))->has_value();
  };
  for (const char* content : {"artifact a", "config a", "program a", "bundle a"})
    EXPECT_TRUE(found("default", content));
  EXPECT_FALSE(found("default", "model a")) << "a source is not handed out";
  EXPECT_FALSE(found("other", "program a"));
}

TEST_F(IndexTest, TheLastPublicationsFixturesCount) {
  auto fixtures = [&] { return (*loadArtifact(connection_, "default", digestOf("artifact a")))->fixtures; };
  PublicationRecord record = publication("a");
  insert(record);
  EXPECT_FALSE(fixtures());
  for (std::string_view tree : {"one", "two!"}) {
    record.artifact.fixtures = digestOf(tree);
    insert(record);
    EXPECT_EQ(fixtures(), digestOf(tree));
  }
}

TEST_F(IndexTest, ToolchainsAreFoundByLabelDigestAndDefault) {
  ToolchainRecord one{"default", "kiln-1", digestOf(std::string_view("tree 1")), "{}", {"cpu:x86-64-v3"},
                      false,     kStart};
  ToolchainRecord two = one;
  two.label = "kiln-2";
  two.toolchainDigest = digestOf(std::string_view("tree 2"));
  ASSERT_TRUE(addToolchain(connection_, one, false));
  ASSERT_TRUE(addToolchain(connection_, two, false));
  EXPECT_EQ(findToolchain(connection_, "default", "")->label, "kiln-1") << "the first is the default";
  EXPECT_EQ(findToolchain(connection_, "default", "kiln-2")->toolchainDigest, two.toolchainDigest);
  EXPECT_EQ(findToolchain(connection_, "default", two.toolchainDigest.text())->label, "kiln-2");
  ASSERT_TRUE(addToolchain(connection_, two, true));
  EXPECT_EQ(findToolchain(connection_, "default", "")->label, "kiln-2");
  auto unknown = findToolchain(connection_, "default", "kiln-3");
  EXPECT_EQ(unknown.error().code, Code::kNotFound);
  EXPECT_NE(unknown.error().message.find("did you mean \"kiln-1\" or \"kiln-2\"?"), std::string::npos);
  EXPECT_NE(unknown.error().message.find("there are: kiln-1, kiln-2"), std::string::npos);
  const auto far = findToolchain(connection_, "default", "something else");
  EXPECT_EQ(far.error().message.find("did you mean"), std::string::npos) << far.error().message;
  EXPECT_EQ(findToolchain(connection_, "other", "kiln-1").error().code, Code::kNotFound);
  EXPECT_EQ(findToolchain(connection_, "default", two.toolchainDigest.text().substr(0, 19))->label, "kiln-2");
  EXPECT_EQ(findToolchain(connection_, "other", two.toolchainDigest.text().substr(0, 19)).error().code,
            Code::kNotFound);
  ToolchainRecord near = two;
  near.label = "kiln-near";
  near.toolchainDigest.hash[31] ^= 1;
  ASSERT_TRUE(addToolchain(connection_, near, false));
  EXPECT_EQ(findToolchain(connection_, "default", two.toolchainDigest.text().substr(0, 19)).error().code,
            Code::kInvalidArgument)
      << "which of the two";
  EXPECT_EQ(findToolchain(connection_, "default", near.toolchainDigest.text())->label, "kiln-near");
  EXPECT_FALSE(connection_.execute("DELETE FROM toolchains"));
}

TEST_F(IndexTest, AWorkerIsStoredWholeAndKeepsItsFirstContact) {
  WorkerRecord worker{"w1",
                      "op",
                      digestOf(std::string_view("cert")),
                      "description",
                      {"cpu:x86-64-v3"},
                      {"cpu:x86-64-v3", "cpu:x86-64-v4"},
                      {"cuda:sm_90a"},
                      {ActionKind::kCompile, ActionKind::kFetch},
                      7,
                      true,
                      {},
                      kStart,
                      {digestOf(std::string_view("key")).hash, 0},
                      "10.0.0.1",
                      std::vector<std::string>{"one", "two"}};
  const auto stored = [&] {
    return *connection_.transact([&](postgres::Connection& c) {
      return upsertWorker(c, worker, worker.lastContact - std::chrono::seconds(30));
    });
  };
  EXPECT_TRUE(stored());
  worker.lastContact = kStart + std::chrono::seconds(9);
  EXPECT_TRUE(stored());
  worker.firstContact = kStart;
  const auto isStored = [&](const WorkerRecord& one) {
    return one.name == worker.name && one.operatorName == worker.operatorName &&
           one.certificate.hash == worker.certificate.hash && one.description == worker.description &&
           one.targets == worker.targets && one.runs == worker.runs && one.emulates == worker.emulates &&
           one.kinds == worker.kinds && one.slots == worker.slots && one.draining == worker.draining &&
           one.firstContact == worker.firstContact && one.lastContact == worker.lastContact &&
           one.key == worker.key && one.peerAddress == worker.peerAddress &&
           one.instances == worker.instances;
  };
  const auto workers = *listWorkers(connection_);
  ASSERT_EQ(workers.size(), 1u);
  EXPECT_TRUE(isStored(workers[0]));

  // Coordinators of the release before read another table.
  const auto before = connection_.execute(
      "SELECT * FROM workers WHERE name = $1 AND operator = $2 AND draining AND last_contact = $3",
      {worker.name, worker.operatorName, worker.lastContact});
  ASSERT_TRUE(before);
  EXPECT_EQ(before->size(), 1);
}

TEST_F(IndexTest, AWorkerSpeaksFromOnePlaceAtATime) {
  const auto call = [&](const std::string& operatorName, const std::string& place, int second,
                        const std::string& key = "key") {
    WorkerRecord worker;
    worker.name = "w1";
    worker.operatorName = operatorName;
    worker.peerAddress = place;
    worker.key = digestOf(key);
    worker.lastContact = kStart + std::chrono::seconds(second);
    return *connection_.transact([&](postgres::Connection& c) {
      return upsertWorker(c, worker, worker.lastContact - std::chrono::seconds(30));
    });
  };
  EXPECT_TRUE(call("op", "here", 0));
  EXPECT_FALSE(call("op", "there", 5)) << "a copy of its key";
  EXPECT_TRUE(call("other", "there", 5)) << "another operator's, of the same name";
  EXPECT_TRUE(call("op", "here", 10, "a renewed key"));
  EXPECT_FALSE(call("op", "there", 40)) << "30 seconds are not silence enough";
  EXPECT_TRUE(call("op", "there", 41)) << "it moved";
  EXPECT_FALSE(call("op", "here", 42));
  const auto workers = *listWorkers(connection_);
  ASSERT_EQ(workers.size(), 2u);
  EXPECT_EQ(workers[0].operatorName, "op");
  EXPECT_EQ(workers[0].peerAddress, "there");
}

TEST_F(IndexTest, AnInstanceHasTheWorkersThatServeIt) {
  for (const auto& [name, instances] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"a", {"one", "two"}}, {"b", {"two"}}, {"nobody's", {}}}) {
    WorkerRecord worker;
    worker.name = name;
    worker.instances = instances;
    EXPECT_TRUE(
        *connection_.transact([&](postgres::Connection& c) { return upsertWorker(c, worker, TimePoint()); }));
  }
  WorkerRecord worker;
  worker.name = "everybody's";
  EXPECT_TRUE(
      *connection_.transact([&](postgres::Connection& c) { return upsertWorker(c, worker, TimePoint()); }));
  const auto names = [&](const std::string& instance) {
    std::string out;
    const auto workers = *listWorkersOf(connection_, instance);
    for (const WorkerRecord& one : workers) out += one.name + " ";
    return out;
  };
  EXPECT_EQ(names("one"), "a everybody's ");
  EXPECT_EQ(names("two"), "a b everybody's ");
  EXPECT_EQ(names("three"), "everybody's ");
}

}  // namespace
}  // namespace kiln::index
