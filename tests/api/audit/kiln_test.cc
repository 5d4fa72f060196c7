// `kiln affected`, `kiln provenance` and `kiln audit` as a user runs them, against a real index.
#include <algorithm>
#include <fstream>
#include <set>

#include "coordinator/rpc/audit_service.h"
#include "storage/remote/byte_stream_service.h"
#include "storage/remote/cas_service.h"
#include "tests/api/audit/logged_farm.h"
#include "tests/api/cli/kiln_process.h"

namespace kiln::audit {
namespace {

using namespace testing;
using testing_support::KilnResult;

class KilnAsksTheIndex : public LoggedFarm {
 protected:
  KilnAsksTheIndex() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(endpoint_, grpc::InsecureServerCredentials());
    for (grpc::Service* service : std::initializer_list<grpc::Service*>{&audits, &artifacts, &cas, &streams})
      builder.RegisterService(service);
    server = builder.BuildAndStart();
    // The command reads the machine's clock, the farm another one: the root holds for both.
    const TimePoint now = SystemClock().now();
    signing::TrustRoot root = root_;
    root.keys[0].validFrom = std::min(now, clock_.now()) - std::chrono::hours(1);
    root.logs[0].validFrom = root.keys[0].validFrom;
    root.logs[0].validUntil = root.keys[0].validUntil = root.expires =
        std::max(now, clock_.now()) + std::chrono::hours(1000);
    std::ofstream(directory_ / "root.json") << toCanonicalJson(root.toJson()).value();
    std::ofstream(directory_ / "policy.json")
        << R"({"allowDevelopment":true,"apiVersion":"kiln/v1","builderIds":["*"],"kind":"Policy","minBuilders":1,"minOperators":1,"name":"test","targets":["*"],"toolchains":["*"]})";
  }
  ~KilnAsksTheIndex() override { server->Shutdown(); }

  KilnResult kiln(std::vector<std::string> arguments) {
    return testing_support::runKiln(arguments,
                                    {{"KILN_ENDPOINT", endpoint_},
                                     {"KILN_TRUST_ROOT", directory_ / "root.json"},
                                     {"KILN_POLICY", directory_ / "policy.json"}},
                                    directory_.path());
  }
  Json jsonOf(std::vector<std::string> arguments, int exit = 0) {
    arguments.push_back("--json");
    const KilnResult result = kiln(std::move(arguments));
    EXPECT_EQ(result.exit, exit) << result.out << result.err;
    return parseJson(result.out).value_or(Json::object());
  }
  std::set<std::string> affected(std::vector<std::string> conditions) {
    conditions.insert(conditions.begin(), "affected");
    std::set<std::string> out;
    const Json found = jsonOf(std::move(conditions));
    for (const Json& entry : found.at("affected")) out.insert(entry.at("artifact").get<std::string>());
    return out;
  }

  const std::string endpoint_ = "unix:" + (directory_ / "s");
  service::AuditService audits{farm_.stores};
  service::ArtifactService artifacts{pool_};
  storage::CasService cas{*blobs_};
  storage::ByteStreamService streams{*blobs_};
  std::unique_ptr<grpc::Server> server;
};

TEST_F(KilnAsksTheIndex, WhatWasTouchedByWhat) {
  const std::set<std::string> both{first_, second_};
  EXPECT_EQ(affected({"--toolchain", kLabel}), both);
  EXPECT_EQ(affected({"--component", "kiln-cc@0.1.0", "--worker", "w1"}), both);
  EXPECT_EQ(affected({"--operator", "other", "--since", "2000-01-01", "--target", "cpu:x86-64-v3"}),
            std::set{first_});
  EXPECT_TRUE(affected({"--key", key_.publicKey().id(), "--until", "2000-01-01T00:00:00Z"}).empty());
  EXPECT_EQ(jsonOf({"affected", "--component", "kiln-cc"}).at("admissions").size(), 1u);

  const Json page = jsonOf({"affected", "--toolchain", kLabel, "--limit", "1"});
  ASSERT_EQ(page.at("affected").size(), 1u);
  EXPECT_EQ(
      affected({"--toolchain", kLabel, "--page-token", page.at("nextPageToken").get<std::string>()}).size(),
      1u);
  const KilnResult text = kiln({"affected", "--artifact", first_});
  EXPECT_NE(text.out.find(first_ + "  cpu:x86-64-v3"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("provenance"), std::string::npos) << text.out;

  EXPECT_EQ(kiln({"affected"}).exit, 2);
  EXPECT_EQ(kiln({"affected", "--worker", "w", "--since", "yesterday"}).exit, 2);
  EXPECT_EQ(kiln({"affected", "--worker", "w", "--page-token", "x"}).exit, 2);
  EXPECT_EQ(kiln({"affected", "--component", "unknown"}).exit, 6);
}

TEST_F(KilnAsksTheIndex, ProvenanceIsPrintedDrawnAndCompared) {
  const Json shown = jsonOf({"provenance", first_});
  EXPECT_EQ(shown.at("components").at(0).at("name"), "kiln-cc");
  EXPECT_EQ(shown.at("submissions").at(0).at("submitter"), "local");
  const std::string statement = shown.at("statements").at(0);
  const Json affected = jsonOf({"affected", "--artifact", first_}).at("affected");
  EXPECT_TRUE(std::ranges::any_of(affected, [&](const Json& each) {
    return each.at("statement").at("payload") == statement;
  })) << affected.dump();
  const KilnResult text = kiln({"provenance", first_});
  EXPECT_NE(text.out.find("statement   " + statement), std::string::npos) << text.out << text.err;
  const KilnResult svg = kiln({"provenance", first_, "--format", "svg"});
  EXPECT_TRUE(svg.out.starts_with("<svg")) << svg.out << svg.err;
  EXPECT_NE(svg.out.find("kiln-cc 0.1.0"), std::string::npos);
  EXPECT_NE(kiln({"provenance", first_, "--format", "dot"}).out.find("worker w2"), std::string::npos);
  EXPECT_EQ(kiln({"provenance", first_, "--format", "png"}).exit, 2);

  const Json changed = jsonOf({"provenance", first_, "--against", second_});
  std::set<std::string> names;
  for (const Json& each : changed.at("differences"))
    names.insert(each.at("what").get<std::string>() + " " + each.at("name").get<std::string>());
  EXPECT_TRUE(names.contains("builder w2"));
  EXPECT_TRUE(names.contains("parameter model"));
  EXPECT_FALSE(names.contains("parameter target"));
  EXPECT_NE(kiln({"provenance", first_, "--against", first_}).out.find("in the same way"), std::string::npos);
}

// Who does not answer is named, and nobody else.
TEST_F(KilnAsksTheIndex, AnOutageIsOfItsOwnPlace) {
  const std::string log = "http://127.0.0.1:1/log";
  const KilnResult noLog = kiln({"audit", "--log", log});
  EXPECT_EQ(noLog.exit, 7) << noLog.err;
  EXPECT_NE(noLog.err.find("the log at " + log), std::string::npos) << noLog.err;
  EXPECT_EQ(noLog.err.find("coordinator"), std::string::npos) << noLog.err;
  const KilnResult waited = kiln({"log", "checkpoint", "--log", log, "--wait", "1s"});
  EXPECT_EQ(waited.exit, 7) << waited.err;
  EXPECT_NE(waited.err.find("waiting up to 1s for the log (--wait): the log at " + log), std::string::npos)
      << waited.err;
  server->Shutdown();
  const KilnResult noFarm = kiln({"audit", "--log", tiles_});
  EXPECT_EQ(noFarm.exit, 7) << noFarm.err;
  EXPECT_NE(noFarm.err.find("coordinator not reachable at " + endpoint_), std::string::npos) << noFarm.err;
}

TEST_F(KilnAsksTheIndex, AuditNamesWhatWasTamperedWithAndEndsWith5) {
  const std::string seen = directory_ / "seen.checkpoint";
  const std::vector<std::string> audit{"audit", "--log", tiles_, "--checkpoint", seen};
  const Json clean = jsonOf(audit);
  EXPECT_EQ(clean.at("findingCount"), 0) << clean.dump(1);
  EXPECT_EQ(clean.at("artifacts"), 2);
  EXPECT_EQ(clean.at("logRequired"), true);
  EXPECT_EQ(clean.at("logEntries"), clean.at("statements").get<int>() + 1) << "an admission";
  const KilnResult text = kiln(audit);
  EXPECT_EQ(text.exit, 0) << text.err;
  EXPECT_NE(text.out.find("1 toolchain, 2 artifacts"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("index, signatures and log agree"), std::string::npos) << text.out;
  EXPECT_EQ(kiln({"audit"}).exit, 2) << "the root names a log, and nobody says where it is";

  const std::string entries = std::to_string(clean.at("logEntries").get<int>());
  const auto since = [&](const std::string& entry) {
    return kiln({"audit", "--log", tiles_, "--since-entry", entry});
  };
  EXPECT_EQ(since(entries).exit, 0) << "nothing is new since then";
  for (const std::string& wrong : {entries + "0", std::string("-1"), std::string("x")}) {
    const KilnResult refused = since(wrong);
    EXPECT_EQ(refused.exit, 2) << wrong << refused.out;
    EXPECT_NE(refused.err.find("--since-entry"), std::string::npos) << refused.err;
  }

  run("UPDATE builders SET operator = 'innocent' WHERE worker = 'w2'");
  const Json found = jsonOf(audit, 5);
  ASSERT_EQ(found.at("findings").size(), 1u);
  EXPECT_EQ(found.at("findings").at(0).at("table"), "builders");
  EXPECT_EQ(found.at("findings").at(0).at("kind"), "tampered-row");
  EXPECT_NE(kiln(audit).out.find("tampered-row in builders: sha256:"), std::string::npos);
  run("UPDATE builders SET operator = 'other' WHERE worker = 'w2'");

  run("DELETE FROM statements WHERE predicate_type LIKE '%tombstone%'");
  const Json missing = jsonOf(audit, 5).at("findings");
  ASSERT_EQ(missing.size(), 1u) << missing.dump(1);
  EXPECT_EQ(missing.at(0).at("kind"), "missing-statement");
  EXPECT_NE(missing.at(0).at("what").get<std::string>().find(second_), std::string::npos);

  // Checkpoints that the database has lost are findings like others.
  run("CREATE TABLE kept AS SELECT * FROM log_checkpoints; DELETE FROM log_checkpoints WHERE size < 4");
  const KilnResult cut = kiln(audit);
  EXPECT_EQ(cut.exit, 5) << cut.out << cut.err;
  EXPECT_NE(cut.out.find("missing-statement in log_checkpoints: checkpoint of "), std::string::npos)
      << cut.out << cut.err;
  EXPECT_EQ(cut.err.find("NULL"), std::string::npos) << cut.err;
  run("INSERT INTO log_checkpoints SELECT * FROM kept ON CONFLICT DO NOTHING; DROP TABLE kept");

  // The log that is shown ends before the checkpoint that the file remembers.
  signing::TreeHash root;
  root.fill(7);
  std::ofstream(seen, std::ios::trunc)
      << signing::signCheckpoint({kOrigin, 1000, root}, sequenced_.key).value().toString();
  const KilnResult truncated = kiln(audit);
  EXPECT_EQ(truncated.exit, 5);
  EXPECT_NE(truncated.out.find("the log had 1000 entries and has 8: it was truncated"), std::string::npos)
      << truncated.out;
}

}  // namespace
}  // namespace kiln::audit
