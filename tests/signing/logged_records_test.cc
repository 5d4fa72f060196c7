// The signer's records in a real database: signed and taken in, or neither; once.
#include "signing/server/logged_records.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "signing/bundle/bundle.h"
#include "signing/log/leaf.h"
#include "storage/index/log/log_repository.h"
#include "storage/index/schema.h"
#include "tests/support/manual_clock.h"
#include "tests/support/postgres_server.h"

namespace kiln::signing {
namespace {

class LoggedRecordsTest : public testing::Test {
 protected:
  LoggedRecordsTest() {
    auto connection = pool_.acquire().value();
    EXPECT_TRUE(postgres::migrate(*connection, index::migrations()));
  }
  Envelope envelope(const std::string& payload) {
    return signEnvelope(kInTotoPayload, payload, key_).value();
  }
  Result<std::string> add(const std::string& payload) {
    return records_.add("default", envelope(payload), key_.publicKey(), "");
  }
  std::int64_t rows() {
    return pool_.execute("SELECT count(*) AS n FROM signatures")
        ->first([](const postgres::Row& row) { return row.get<std::int64_t>("n"); })
        .value()
        .value();
  }
  void run(const std::string& sql) { EXPECT_TRUE(pool_.acquire().value()->executeScript(sql)) << sql; }

  testing_support::ManualClock clock_;
  testing_support::TempDirectory directory_;
  PrivateKey key_ = PrivateKey::create().value();
  postgres::Pool pool_{{.conninfo = testing_support::PostgresServer::shared().createDatabase()}, 8};
  LoggedRecords records_{pool_, LegacyRecords(directory_.path()), key_.publicKey(), clock_};
};

TEST_F(LoggedRecordsTest, TheFirstSignatureStays) {
  EXPECT_FALSE(records_.find("{}").value());
  const std::string first = add("{}").value();
  EXPECT_EQ(add("{}").value(), first);
  EXPECT_EQ(records_.find("{}").value(), first);
  EXPECT_EQ(records_.find(digestOf("{}")).value(), first);
  EXPECT_EQ(rows(), 1);
}

TEST_F(LoggedRecordsTest, ConcurrentSignaturesOfOnePayloadAreOne) {
  std::array<std::string, 6> bundles;
  std::vector<std::thread> threads;
  for (std::string& bundle : bundles) threads.emplace_back([&] { bundle = add("{}").value(); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& bundle : bundles) EXPECT_EQ(bundle, bundles[0]);
  EXPECT_EQ(rows(), 1);
}

TEST_F(LoggedRecordsTest, ADamagedRecordIsNotReplaced) {
  ASSERT_TRUE(add("{}"));
  run("UPDATE signatures SET leaf = 'x'");
  EXPECT_EQ(records_.find("{}").error().code, Code::kDataLoss);
  EXPECT_EQ(records_.find(digestOf("{}")).error().code, Code::kDataLoss);
  EXPECT_EQ(add("{}").error().code, Code::kDataLoss);
}

// Rows cut behind the farm's back: whoever asks is told what is lost, and that it is no mistake of his.
TEST_F(LoggedRecordsTest, ACheckpointThatIsGoneIsNamed) {
  const std::string bundle = add("{}").value();
  run("INSERT INTO log_checkpoints VALUES (1, sha256('x'), 'a note'); UPDATE signatures SET log_index = 0, "
      "tree_size = 1, proof = ''");
  EXPECT_EQ(records_.find("{}").value(), bundle);
  run("SET session_replication_role = replica; DELETE FROM log_checkpoints; SET session_replication_role = "
      "origin");
  auto connection = pool_.acquire().value();
  const Digest byLog{logDigest(kInTotoPayload, "{}"), 0};
  for (const auto& found : {index::findSignature(*connection, byLog),
                            index::findSignatureOfPayload(*connection, digestOf("{}"))}) {
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Code::kDataLoss);
    EXPECT_NE(found.error().message.find("checkpoint of 1 entries"), std::string::npos)
        << found.error().message;
  }
}

TEST_F(LoggedRecordsTest, WhatHasItsPlaceDoesNotChange) {
  ASSERT_TRUE(add("{}"));
  run("UPDATE signatures SET log_index = 0");
  auto connection = pool_.acquire().value();
  for (const char* sql : {"UPDATE signatures SET log_index = 1", "UPDATE signatures SET leaf = 'x'",
                          "UPDATE signatures SET log_index = NULL", "DELETE FROM signatures"})
    EXPECT_FALSE(connection->executeScript(sql)) << sql;
}

// Signer and log are upgraded before the first coordinator, which migrates.
TEST_F(LoggedRecordsTest, ADatabaseWithoutTracesTakesInAndPlaces) {
  run("ALTER TABLE signatures DROP COLUMN trace");
  ASSERT_TRUE(add("{}"));
  auto connection = pool_.acquire().value();
  const std::uint64_t epoch =
      index::openLog(*connection, "log.example.org", {.note = "a note"}).value().epoch;
  const auto place = [&] {
    return connection->transact([&](postgres::Connection& c) { return index::placeLeaves(c, epoch, 10); })
        .value();
  };
  EXPECT_EQ(place().at(0).trace, "");
  run("ALTER TABLE signatures ADD COLUMN trace text NOT NULL DEFAULT 't'");
  EXPECT_EQ(place().at(0).trace, "t") << "read as soon as it is there";
}

TEST_F(LoggedRecordsTest, ALeafKnownFromTheLogAloneIsTheFirstSignature) {
  const Envelope first = envelope("{}");
  const Leaf leaf = leafOf(first, key_.publicKey()).value();
  auto connection = pool_.acquire().value();
  ASSERT_TRUE(index::adoptLeaves(*connection, {{{leaf.digest, 0}, {0, leaf.text()}}}, clock_.now()));
  EXPECT_FALSE(records_.find(digestOf("{}")).value());
  EXPECT_EQ(records_.find("{}").value(), makeBundle(first, key_.publicKey()).value());
  EXPECT_TRUE(records_.find(digestOf("{}")).value());  // it has learnt its payload
  EXPECT_EQ(rows(), 1);
}

TEST_F(LoggedRecordsTest, WhatWasSignedBeforeThereWasALogIsTakenIn) {
  const std::string bundle = makeBundle(envelope("{}"), key_.publicKey()).value();
  const std::string path = directory_ / (digestOf("{}").hex() + ".json");
  std::ofstream(path) << bundle;
  EXPECT_EQ(records_.find(digestOf("{}")).value(), bundle);
  EXPECT_EQ(rows(), 0);
  EXPECT_EQ(records_.find("{}").value(), bundle);
  EXPECT_EQ(rows(), 1);
  EXPECT_EQ(add("{}").value(), bundle);
  std::ofstream(directory_ / (digestOf("[]").hex() + ".json")) << "{}";
  EXPECT_EQ(records_.find("[]").error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace kiln::signing
