// Runs dispatched per second by the number of workers: a lease given and its result taken, beside as many
// transactions that only write one row each, over the same pool of connections.
// usage: bench_dispatch [RUNS]
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

void compare(int runs, int workers) {
  postgres::Pool pool(index::testing::newIndex(), kConnections);
  fill(pool, runs, workers);
  SystemClock clock;
  const queue::LeaseQueue leases(clock, {});
  std::vector<std::vector<double>> waits(workers);
  const double dispatching =
      seconds(workers, [&](int worker) { return dispatchOne(pool, leases, worker, waits[worker]); });

  if (const auto made = pool.execute("CREATE TABLE written (number bigint)"); !made) stop(made.error());
  std::atomic<int> left = 2 * runs;
  const double writing = seconds(workers, [&](int) {
    if (left.fetch_sub(1) <= 0) return false;
    const auto wrote =
        pool.transact([](Connection& c) { return c.execute("INSERT INTO written VALUES (1)"); });
    if (!wrote) stop(wrote.error());
    return true;
  });

  std::vector<double> all;
  for (const auto& of : waits) all.insert(all.end(), of.begin(), of.end());
  std::ranges::sort(all);
  fmt::print("{:7} {:8.0f} {:12.2f} {:7.2f} {:15.0f} {:7.2f}\n", workers, runs / dispatching,
             all[all.size() / 2], all[all.size() * 99 / 100], runs / writing, writing / dispatching);
}

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : 200;
  if (argc > 2 || runs < 1) {
    fmt::print(stderr, "usage: bench_dispatch [RUNS]\n");
    return 2;
  }
  fmt::print("{} runs, two transactions each; lease times in ms\n", runs);
  fmt::print("workers   runs/s    lease p50     p99   rows alone/s   ratio\n");
  for (const int workers : {1, 8, 64}) compare(runs, workers);
}
