// An empty index in the program's PostgreSQL server, and jobs to put into it.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "storage/index/fleet/farm_repository.h"
#include "storage/index/jobs/job_repository.h"
#include "storage/index/schema.h"
#include "storage/postgres/connection.h"
#include "tests/support/postgres_server.h"

namespace kiln::index::testing {

inline postgres::ConnectionOptions newIndex() {
  postgres::ConnectionOptions options;
  options.conninfo = testing_support::PostgresServer::shared().createDatabase();
  auto connection = postgres::Connection::open(options);
  EXPECT_TRUE(connection);
  Status migrated = postgres::migrate(*connection, migrations());
  EXPECT_TRUE(migrated) << migrated.error().message;
  auto generation = openGeneration(*connection);
  EXPECT_TRUE(generation) << generation.error().message;
  return options;
}

inline const TimePoint kStart{std::chrono::hours(500'000)};

inline ActionRecord compileOf(const std::string& name) {
  return {ActionKind::kCompile, "cpu:x86-64-v3", digestOf("action " + name), {}};
}

// One model, one target, one compile action named `action`, and `builders` queued runs of it.
inline JobSnapshot jobWithRuns(const std::string& id, const std::string& action, int builders,
                               const std::string& instance = "default", TimePoint queued = kStart) {
  JobSnapshot snapshot;
  snapshot.job.key = {instance, id};
  snapshot.job.idempotencyKey = "key " + id;
  snapshot.job.request = digestOf("request " + id);
  snapshot.job.submitted = queued;
  snapshot.job.toolchainLabel = "kiln-0.1.0";
  snapshot.job.toolchainDigest = digestOf(std::string_view("toolchain"));
  snapshot.job.spec = "{}";
  snapshot.job.delivery = "{}";
  snapshot.job.modelName = "m.onnx";
  snapshot.sources.push_back({"model.onnx", digestOf(std::string_view("model")), {}, {}});
  snapshot.targets.push_back({"cpu:x86-64-v3", {}, false, {}});
  snapshot.actions = {compileOf(action)};
  for (int i = 0; i < builders; ++i) {
    RunRecord run;
    run.instance = instance;
    run.id = id + "-r" + std::to_string(i);
    run.jobId = id;
    run.action = snapshot.actions[0].action;
    run.target = "cpu:x86-64-v3";
    run.toolchainDigest = snapshot.job.toolchainDigest;
    run.queued = queued;
    snapshot.runs.push_back(run);
  }
  return snapshot;
}

inline ResultRecord resultOf(const RunRecord& run, const std::string& content = "out") {
  ResultRecord result;
  result.instance = run.instance;
  result.runId = run.id;
  result.epoch = run.epoch;
  result.jobId = run.jobId;
  result.action = run.action;
  result.worker = run.worker;
  result.operatorName = run.operatorName;
  result.outputs = digestOf(content);
  result.result = content;
  result.receipt = "receipt";
  result.certificate = "certificate";
  result.leased = kStart;
  result.recorded = kStart;
  return result;
}

}  // namespace kiln::index::testing
