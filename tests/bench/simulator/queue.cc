#include "tests/bench/simulator/queue.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <map>
#include <thread>

#include "storage/blob/blob_store.h"
#include "storage/remote/status.h"
#include "tests/support/sample_request.h"

namespace kiln::fleet {
namespace {

constexpr std::size_t kCopiesAtOnce = 5000;

// Of the job $1/$2 and its compile, for each number of $3 with the priority beside it in $4. Their names
// begin with $5, and an action's hash is made of the name.
constexpr const char* kCopies[] = {
    "INSERT INTO jobs SELECT (jsonb_populate_record(j, jsonb_build_object('id', $5::text || n, "
    "'idempotency_key', "
    "$5::text || n))).* FROM jobs j, unnest($3::bigint[], $4::integer[]) AS c(n, priority) WHERE j.instance "
    "= $1 "
    "AND j.id = $2",
    "INSERT INTO sources SELECT (jsonb_populate_record(s, jsonb_build_object('job_id', $5::text || n))).* "
    "FROM "
    "sources s, unnest($3::bigint[], $4::integer[]) AS c(n, priority) WHERE s.instance = $1 AND s.job_id = "
    "$2",
    "INSERT INTO job_targets SELECT (jsonb_populate_record(t, jsonb_build_object('job_id', $5::text || "
    "n))).* FROM "
    "job_targets t, unnest($3::bigint[], $4::integer[]) AS c(n, priority) WHERE t.instance = $1 AND t.job_id "
    "= $2",
    "INSERT INTO actions SELECT (jsonb_populate_record(a, jsonb_build_object('hash', sha256(($5::text || "
    "n)::bytea)))).* FROM job_actions l JOIN actions a ON a.instance = l.instance AND a.hash = "
    "l.action_hash, "
    "unnest($3::bigint[], $4::integer[]) AS c(n, priority) WHERE l.instance = $1 AND l.job_id = $2 AND "
    "a.kind = 3",
    "INSERT INTO job_actions SELECT (jsonb_populate_record(l, jsonb_build_object('job_id', $5::text || n, "
    "'ordinal', "
    "0, 'action_hash', sha256(($5::text || n)::bytea)))).* FROM job_actions l JOIN actions a ON a.instance = "
    "l.instance AND a.hash = l.action_hash, unnest($3::bigint[], $4::integer[]) AS c(n, priority) WHERE "
    "l.instance "
    "= $1 AND l.job_id = $2 AND a.kind = 3",
    "INSERT INTO runs SELECT (jsonb_populate_record(r, jsonb_build_object('id', $5::text || n, 'job_id', "
    "$5::text || "
    "n, 'action_hash', sha256(($5::text || n)::bytea), 'priority', c.priority, 'queued', r.queued + n * "
    "interval '1 "
    "microsecond'))).* FROM runs r, unnest($3::bigint[], $4::integer[]) AS c(n, priority) WHERE r.instance = "
    "$1 AND "
    "r.job_id = $2 AND r.kind = 3"};

struct JobName {
  std::string instance, id;
};

struct Copies {
  std::vector<std::int64_t> numbers, priorities;
};

Status writeCopies(postgres::Connection& database, const JobName& from, const Copies& copies,
                   const std::string& name) {
  for (std::size_t first = 0; first < copies.numbers.size(); first += kCopiesAtOnce) {
    const auto part = [&](const std::vector<std::int64_t>& all) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
      return std::vector<std::int64_t>(
          begin, begin + static_cast<std::ptrdiff_t>(std::min(kCopiesAtOnce, all.size() - first)));
    };
    // At once: a coordinator that finds a job without its actions would make them.
    KILN_TRY(database.transact([&](postgres::Connection& transaction) -> Status {
      for (const char* sql : kCopies)
        KILN_TRY(transaction.execute(
            sql, {from.instance, from.id, part(copies.numbers), part(copies.priorities), name}));
      return {};
    }));
  }
  return {};
}

Result<v1::Job> submitModel(Farm& farm, const std::string& tenant, const std::string& name) {
  KILN_ASSIGN(const Digest model, storage::putBlob(farm.blobs(), tenant, asBytes("model " + name)));
  v1::SubmitJobRequest request = testing_support::sampleRequest(name, 1, model);
  request.set_instance(tenant);
  grpc::ClientContext context;
  v1::Job job;
  const grpc::Status status = v1::JobService::NewStub(farm.channel())->SubmitJob(&context, request, &job);
  if (!status.ok()) return fail(fromGrpc(status));
  return job;
}

}  // namespace

Result<Submitted> submit(Farm& farm, const MixedJob& job, const std::string& name) {
  const SteadyClock clock;
  const TimePoint begun = clock.now();
  KILN_ASSIGN(const v1::Job made, submitModel(farm, job.tenant, name));
  Submitted out;
  out.acknowledged = clock.now();
  out.seconds = std::chrono::duration<double>(out.acknowledged - begun).count();
  for (const v1::JobAction& action : made.actions()) out.actions.push_back(action.action().hash());
  return out;
}

Result<std::vector<Submitted>> submitAtRate(Farm& farm, const std::vector<MixedJob>& jobs, double perSecond) {
  const auto begun = std::chrono::steady_clock::now();
  std::vector<Submitted> out;
  for (const MixedJob& job : jobs) {
    std::this_thread::sleep_until(
        begun + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                    std::chrono::duration<double>(static_cast<double>(out.size()) / perSecond)));
    KILN_ASSIGN(Submitted one, submit(farm, job, "arrival-" + std::to_string(out.size())));
    out.push_back(std::move(one));
  }
  return out;
}

Status queueCopies(Farm& farm, const std::vector<MixedJob>& jobs, const std::string& name) {
  std::map<std::string, Copies> byTenant;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Copies& copies = byTenant[jobs[i].tenant];
    copies.numbers.push_back(static_cast<std::int64_t>(i));
    copies.priorities.push_back(jobs[i].priority);
  }
  std::map<std::string, std::string> models;
  for (const auto& [tenant, copies] : byTenant) {
    KILN_ASSIGN(const v1::Job job, submitModel(farm, tenant, name + "model"));
    models[tenant] = job.id();
  }
  constexpr const char* kTables[] = {"jobs", "runs"};
  for (const char* table : kTables)
    KILN_TRY(farm.database().execute(fmt::format("ALTER TABLE {} DISABLE TRIGGER USER", table)));
  for (const auto& [tenant, copies] : byTenant)
    KILN_TRY(writeCopies(farm.database(), {tenant, models[tenant]}, copies, name));
  for (const char* table : kTables)
    KILN_TRY(farm.database().execute(fmt::format("ALTER TABLE {} ENABLE TRIGGER USER", table)));
  KILN_TRY(farm.database().execute("ANALYZE"));
  return {};
}

Result<std::vector<std::pair<std::string, std::int64_t>>> queuedByTenant(Farm& farm) {
  KILN_ASSIGN(auto rows, farm.database().execute(
                             "SELECT instance, count(*) AS n FROM runs WHERE state = 0 GROUP BY instance"));
  return rows.map([](const postgres::Row& row) {
    return std::pair(row.get<std::string>("instance"), row.get<std::int64_t>("n"));
  });
}

}  // namespace kiln::fleet
