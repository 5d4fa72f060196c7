// A farm of an earlier release: its database as dumped then, its blobs, its trust root. This release migrates
// it, shows it, verifies what was signed, and rebuilds the same bytes. KILN_ACCEPT_GOLDEN=1 writes the set of
// this release to a directory of its own; older sets are never rewritten.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "signing/verify/verify.h"
#include "storage/index/jobs/job_repository.h"
#include "storage/index/toolchains/toolchain_repository.h"
#include "tests/coordinator/farm/farm_fixture.h"
#include "tests/support/golden.h"

namespace kiln::service {
namespace {

using namespace testing;
using testing_support::readGolden;

// The last one is this release's.
const std::vector<std::string>& sets() {
  static const std::vector<std::string> names{"farm-v1"};
  return names;
}

std::string at(const std::string& set, const std::string& name) {
  return std::string(KILN_GOLDEN) + "/" + set + "/" + name;
}

std::string pgDump(const std::string& conninfo) {
  std::string line = "$(ls /usr/lib/postgresql/*/bin/pg_dump | sort -V | tail -1) --inserts --no-owner -d '" +
                     conninfo + "'";
  FILE* pipe = ::popen(line.c_str(), "re");
  std::string out;
  char buffer[4096];
  while (std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, got);
  EXPECT_EQ(::pclose(pipe), 0);
  return out;
}

// Without comments and psql's own commands: what any session can execute.
std::string plainSql(const std::string& dump) {
  std::string out;
  for (std::size_t begin = 0; begin < dump.size();) {
    std::size_t end = std::min(dump.find('\n', begin), dump.size());
    std::string_view line(dump.data() + begin, end - begin);
    if (!line.empty() && !line.starts_with("--") && !line.starts_with("\\")) out += std::string(line) + "\n";
    begin = end + 1;
  }
  return out;
}

postgres::ConnectionOptions loadedDatabase(const std::string& set) {
  postgres::ConnectionOptions options{.conninfo = testing_support::PostgresServer::shared().createDatabase()};
  auto session = postgres::Connection::open(options).value();
  Status loaded = session.executeScript(readGolden(at(set, "database.sql")));
  EXPECT_TRUE(loaded) << loaded.error().message;
  return options;
}

class GoldenFarm : public FarmTest {};

// Not a check: it makes what the checks below compare with.
TEST_F(GoldenFarm, IsWrittenWhenAccepted) {
  if (!testing_support::acceptsGolden()) GTEST_SKIP() << "KILN_ACCEPT_GOLDEN=1 writes this release's set";
  const std::string& set = sets().back();
  std::filesystem::create_directories(at(set, "blobs"));
  ASSERT_TRUE(addToolchain(putToolchain()).ok());
  auto one = worker("w1"), two = worker("w2", "other");
  v1::Job job = submitted(request("golden", 2));
  settle(job.id(), {one.get(), two.get()});
  job = get(job.id());
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  testing_support::writeGolden(at(set, "database.sql"), plainSql(pgDump(pool_.options().conninfo)));
  testing_support::writeGolden(
      at(set, "root.json"),
      toCanonicalJson(signing::developmentRoot(key_.publicKey(), kBuilderId, clock_.now()).toJson()).value());
  testing_support::writeGolden(at(set, "artifact"), job.artifacts(0).digest() + "\n");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_ / "store/blobs"))
    if (entry.is_regular_file())
      testing_support::writeGolden(at(set, "blobs/" + entry.path().filename().string()),
                                   readGolden(entry.path()));
}

class OldFarm : public FarmTest {
 protected:
  explicit OldFarm(const std::string& set) : FarmTest(loadedDatabase(set)), set_(set) {
    for (const auto& entry : std::filesystem::directory_iterator(at(set, "blobs")))
      put(readGolden(entry.path()));
    artifact_ = readGolden(at(set, "artifact")).substr(0, 71);
    auto connection = pool_.acquire().value();
    Status migrated = postgres::migrate(*connection, index::migrations());
    EXPECT_TRUE(migrated) << migrated.error().message;
    EXPECT_GT(index::openGeneration(*connection).value(), 1u) << "another database than it was";
  }

  void verifies() {
    v1::Artifact published = artifact(artifact_);
    auto text = [&](const reapi::Digest& digest) {
      return storage::getBlob(*blobs_, "default", *fromProto(digest), 1 << 20).value();
    };
    const std::string manifest = text(published.manifest());
    signing::VerifyRequest request{.artifactJson = manifest, .artifact = Digest::parse(artifact_, 0).value()};
    request.read = [&](const ArtifactFile& file, const std::function<Status(Bytes)>& sink) {
      return blobs_->read("default", file.digest, 0, 0, sink);
    };
    for (const auto& bundle : published.bundles()) request.bundles.push_back(text(bundle));
    signing::Policy policy{.name = "golden",
                           .allowDevelopment = true,
                           .builderIds = {kBuilderId},
                           .minBuilders = 2,
                           .minOperators = 2,
                           .targets = {"cpu:x86-64-v3"},
                           .toolchains = {"*"}};
    auto root = signing::TrustRoot::load(at(set_, "root.json")).value();
    auto verdict = signing::verifyArtifact(request, root, policy, clock_);
    EXPECT_TRUE(verdict.passed) << verdict.status().error().message;
  }
  void showsItsJobs() {
    v1::ListJobsRequest request;
    request.set_instance("default");
    v1::ListJobsResponse jobs;
    grpc::ClientContext context;
    ASSERT_TRUE(jobStub_->ListJobs(&context, request, &jobs).ok());
    ASSERT_EQ(jobs.jobs_size(), 1);
    EXPECT_EQ(jobs.jobs(0).state(), v1::JOB_SUCCEEDED);
    EXPECT_EQ(jobs.jobs(0).artifacts(0).digest(), artifact_);
    EXPECT_EQ(get(jobs.jobs(0).id()).actions_size(), 2);
  }
  // A label that no statement stands behind names nothing until somebody vouches for its tree again.
  void admitsItsToolchain() {
    v1::Job job;
    const grpc::Status refused = submit(request("unsigned", 1), &job);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::DATA_LOSS);
    EXPECT_NE(refused.error_message().find("kiln toolchain add"), std::string::npos)
        << refused.error_message();
    auto connection = pool_.acquire().value();
    ASSERT_TRUE(addToolchain(index::findToolchain(*connection, "default", "")->toolchainDigest).ok());
  }
  // By workers of today, signed by a key of today: the same bytes.
  void rebuilds() { EXPECT_EQ(built("again", ""), artifact_); }
  // Beside its own toolchain stands a newer one, which jobs get that name none.
  void rebuildsBesideANewerToolchain() {
    ASSERT_TRUE(addToolchain(putToolchain("kiln-new", "a newer compiler"), "", nullptr, {}, true).ok());
    const std::string newer = built("new", "");
    EXPECT_NE(newer, artifact_);
    EXPECT_EQ(built("pinned", kLabel), artifact_);
    EXPECT_EQ(built("current", "kiln-new"), newer);
  }
  // The artifact of a job that runs every action again.
  std::string built(const std::string& key, const std::string& toolchain) {
    auto one = worker(key + "1"), two = worker(key + "2", "other");
    v1::SubmitJobRequest wanted = request(key, 2);
    wanted.set_toolchain(toolchain);
    // As the release that built it had them by default.
    wanted.set_spec_json(R"({"numerics":{"contraction":"on","precision":"f32","reassociation":"off"}})");
    DeliverySpec delivery = DeliverySpec::fromJson(Json::parse(wanted.delivery_json())).value();
    delivery.noCache = true;
    wanted.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
    v1::Job job = submitted(wanted);
    settle(job.id(), {one.get(), two.get()});
    job = get(job.id());
    EXPECT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
    return job.state() == v1::JOB_SUCCEEDED ? job.artifacts(0).digest() : "";
  }
  void losesNothing() {
    clock_.advance(std::chrono::hours(8 * 24));
    auto report = garbage_.collect(Duration::zero(), false);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->damaged.empty());
    EXPECT_EQ(report->artifacts, 1u);
  }

  const std::string set_;
  std::string artifact_;
};

class OldFarms : public OldFarm, public ::testing::WithParamInterface<std::string> {
 protected:
  OldFarms() : OldFarm(GetParam()) {}
};

TEST_P(OldFarms, AreMigratedShownVerifiedCollectedAndRebuilt) {
  showsItsJobs();
  verifies();
  losesNothing();
  verifies();
  admitsItsToolchain();
  rebuilds();
  verifies();
  rebuildsBesideANewerToolchain();
  verifies();
}

INSTANTIATE_TEST_SUITE_P(Sets, OldFarms, ::testing::ValuesIn(sets()), [](const auto& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace kiln::service
