// Dispatch: how long a lease takes by the number of queued runs, of 50 instances in 3 priorities and 4
// targets; and runs dispatched per second by the number of workers, a lease given and its result taken. Each
// beside as many transactions that only write one row each, over the same connections. usage: bench_dispatch
// [QUEUED...]
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "coordinator/queue/lease_queue.h"
#include "storage/index/fleet/worker_repository.h"
#include "storage/index/jobs/job_changes.h"
#include "storage/postgres/pool.h"
#include "tests/storage/index/index_fixture.h"

using namespace kiln;
using postgres::Connection;
using Steady = std::chrono::steady_clock;

namespace {

constexpr int kLeases = 50;
constexpr std::size_t kConnections = 8;  // as of a coordinator on few cores

// What `workers` threads need for calling `step(worker)` until it says false, in seconds.
template <class Step>
double seconds(int workers, Step step) {
  const auto start = Steady::now();
  {
    std::vector<std::jthread> threads;
    for (int worker = 0; worker < workers; ++worker)
      threads.emplace_back([&step, worker] {
        while (step(worker)) {
        }
      });
  }
  return std::chrono::duration<double>(Steady::now() - start).count();
}

[[noreturn]] void stop(const Error& error) {
  fmt::print(stderr, "bench_dispatch: {}\n", error.message);
  std::exit(1);
}

queue::Identity identityOf(int worker) {
  const std::string name = "w" + std::to_string(worker);
  return {name, "op", digestOf("key of " + name)};
}

void fill(postgres::Pool& pool, int runs, int workers) {
  const Status filled = pool.transact([&](Connection& c) -> Status {
    for (int i = 0; i < runs; ++i)
      KILN_TRY(index::insertJob(
          c, index::testing::jobWithRuns("job" + std::to_string(i), "action" + std::to_string(i), 1)));
    for (int i = 0; i < workers; ++i) {
      index::WorkerRecord worker;
      worker.name = identityOf(i).name;
      worker.operatorName = identityOf(i).operatorName;
      worker.lastContact = SystemClock().now();
      KILN_TRY(index::upsertWorker(c, worker, SystemClock().now()));
    }
    return {};
  });
  if (!filled) stop(filled.error());
}

// Leases one run and reports its result; false when nothing is queued.
bool dispatchOne(postgres::Pool& pool, const queue::LeaseQueue& leases, int worker,
                 std::vector<double>& waits) {
  const queue::Claim claim{identityOf(worker), {"cpu:x86-64-v3"}, {}, {index::ActionKind::kCompile}, {}};
  const auto start = Steady::now();
  const auto run = pool.transact([&](Connection& c) { return leases.acquire(c, claim); });
  if (!run) stop(run.error());
  waits.push_back(std::chrono::duration<double, std::milli>(Steady::now() - start).count());
  if (!*run) return false;
  const auto done = pool.transact([&](Connection& c) {
    return leases.complete(c, {(*run)->id, (*run)->epoch, claim.worker}, index::testing::resultOf(**run));
  });
  if (!done) stop(done.error());
  if (!*done) stop({Code::kInternal, "a lease was lost", {}});
  return true;
}

double perSecondAlone(postgres::Pool& pool, int writes, int workers) {
  if (const auto made = pool.execute("CREATE TABLE written (number bigint)"); !made) stop(made.error());
  std::atomic<int> left = writes;
  const double writing = seconds(workers, [&](int) {
    if (left.fetch_sub(1) <= 0) return false;
    const auto wrote =
        pool.transact([](Connection& c) { return c.execute("INSERT INTO written VALUES (1)"); });
    if (!wrote) stop(wrote.error());
    return true;
  });
  return writes / writing;
}

double percentile(std::vector<double>& values, int percent) {
  std::ranges::sort(values);
  return values[values.size() * percent / 100];
}

void compareWorkers(int runs, int workers) {
  postgres::Pool pool(index::testing::newIndex(), kConnections);
  fill(pool, runs, workers);
  SystemClock clock;
  const queue::LeaseQueue leases(clock, {});
  std::vector<std::vector<double>> waits(workers);
  const double dispatching =
      seconds(workers, [&](int worker) { return dispatchOne(pool, leases, worker, waits[worker]); });
  const double alone = perSecondAlone(pool, 2 * runs, workers);
  std::vector<double> all;
  for (const auto& of : waits) all.insert(all.end(), of.begin(), of.end());
  fmt::print("{:7} {:8.0f} {:12.2f} {:7.2f} {:15.0f} {:7.2f}\n", workers, runs / dispatching,
             percentile(all, 50), percentile(all, 99), alone / 2, runs / dispatching / (alone / 2));
}

// Copies of one job and its run, each with an action of its own, from number {0} to {1}, expected to take up
// to ten minutes.
constexpr const char* kCopies[] = {
    R"sql(INSERT INTO jobs SELECT (jsonb_populate_record(j, jsonb_build_object('instance', 'i' || n % 50, 'id', 'c' || n,
      'idempotency_key', 'c' || n))).* FROM jobs j, generate_series({0}, {1}) n WHERE j.id = 'job0')sql",
    R"sql(INSERT INTO actions SELECT (jsonb_populate_record(a, jsonb_build_object('instance', 'i' || n % 50, 'hash',
      sha256(n::text::bytea)))).* FROM actions a, generate_series({0}, {1}) n WHERE a.instance = 'default')sql",
    R"sql(INSERT INTO runs SELECT (jsonb_populate_record(r, jsonb_build_object('instance', 'i' || n % 50, 'id', 'r' || n,
      'job_id', 'c' || n, 'action_hash', sha256(n::text::bytea), 'priority', n % 3, 'target', 'cpu:level' || n % 4,
      'queued', r.queued + n * interval '1 millisecond', 'rank', r.queued + n * interval '1 millisecond'
      - (n * 37 % 600) * interval '1 second'))).* FROM runs r, generate_series({0}, {1}) n
      WHERE r.id = 'job0-r0')sql"};
constexpr int kCopiesAtOnce = 5000;  // well within the time that a statement may take

// Without the notifications of each run: a farm that has had this queue for a while.
void queueCopies(postgres::Pool& pool, int runs) {
  const auto execute = [&](const std::string& sql) {
    if (const auto done = pool.execute(sql); !done) stop(done.error());
  };
  for (const char* table : {"jobs", "runs"})
    execute(fmt::format("ALTER TABLE {} DISABLE TRIGGER USER", table));
  for (int from = 1; from <= runs; from += kCopiesAtOnce)
    for (const char* copies : kCopies)
      execute(fmt::format(fmt::runtime(copies), from, std::min(from + kCopiesAtOnce - 1, runs)));
  for (const char* table : {"jobs", "runs"})
    execute(fmt::format("ALTER TABLE {} ENABLE TRIGGER USER", table));
  execute("ANALYZE");
}

void compareQueues(int queued) {
  postgres::Pool pool(index::testing::newIndex(), kConnections);
  fill(pool, 1, 1);
  queueCopies(pool, queued);
  SystemClock clock;
  const queue::LeaseQueue leases(clock, {});
  const queue::Claim claim{
      identityOf(0), {"cpu:level0", "cpu:level1", "cpu:level2"}, {}, {index::ActionKind::kCompile}, {}};
  std::vector<double> waits;
  for (int i = 0; i < kLeases; ++i) {
    const auto start = Steady::now();
    const auto run = pool.transact([&](Connection& c) { return leases.acquire(c, claim); });
    if (!run) stop(run.error());
    if (!*run) stop({Code::kInternal, "nothing was leased", {}});
    waits.push_back(std::chrono::duration<double, std::milli>(Steady::now() - start).count());
    const auto done = pool.transact([&](Connection& c) {
      return leases.complete(c, {(*run)->id, (*run)->epoch, claim.worker}, index::testing::resultOf(**run));
    });
    if (!done) stop(done.error());
  }
  const auto start = Steady::now();
  const auto swept = pool.transact([&](Connection& c) -> Status {
    KILN_TRY(leases.expire(c));
    KILN_TRY(leases.failAbandoned(c));
    return {};
  });
  if (!swept) stop(swept.error());
  const double sweep = std::chrono::duration<double, std::milli>(Steady::now() - start).count();
  const double row = 1000 / perSecondAlone(pool, kLeases, 1), median = percentile(waits, 50);
  fmt::print("{:8} {:12.2f} {:7.2f} {:9.2f} {:12.2f} {:7.1f}\n", queued, median, percentile(waits, 99), sweep,
             row, median / row);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> queued;
  for (int i = 1; i < argc; ++i) queued.push_back(std::atoi(argv[i]));
  if (std::ranges::any_of(queued, [](int runs) { return runs < kLeases; })) {
    fmt::print(stderr, "usage: bench_dispatch [QUEUED...], each at least {}\n", kLeases);
    return 2;
  }
  if (queued.empty()) queued = {100, 1000, 10'000, 100'000};
  fmt::print("one worker; times in ms\n  queued    lease p50     p99     sweep    row alone   ratio\n");
  for (const int runs : queued) compareQueues(runs);
  fmt::print("200 runs, two transactions each; lease times in ms\n");
  fmt::print("workers   runs/s    lease p50     p99   rows alone/s   ratio\n");
  for (const int workers : {1, 8, 64}) compareWorkers(200, workers);
}
