#include "tests/bench/simulator/experiment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "tests/bench/simulator/figures.h"
#include "tests/bench/simulator/queue.h"
#include "tests/support/sample_policy.h"

namespace kiln::fleet {
namespace {

using std::chrono::duration;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int kCallsAtFirst = 1000;  // a second, as the fleet comes up
constexpr seconds kMayTakeToRegister{180};
constexpr seconds kSettles{2};      // before a phase is measured
constexpr double kRecovered = 0.8;  // of the leases a second before

Json millis(const std::vector<double>& waits) {
  const Spread spread = spreadOf(waits);
  return {{"median", spread.median * 1000},
          {"p99", spread.p99 * 1000},
          {"most", spread.most * 1000},
          {"count", waits.size()}};
}

double per(double value, double count) {
  return count > 0 ? value / count : 0;
}

int secondOf(TimePoint at) {
  return static_cast<int>(at.time_since_epoch() / seconds(1));
}

}  // namespace

Experiment::Experiment(const Options& options, const JobMix& mix) : options_(options), mix_(mix) {}

Experiment::Mark Experiment::mark() const {
  return {steady_clock::now(), farm_->coordinatorUsage().cpuSeconds, farm_->postgresCpuSeconds(),
          usageOf(::getpid()).cpuSeconds};
}

Json Experiment::since(const Mark& from, const Seen& seen) const {
  const Mark now = mark();
  const double took = duration<double>(now.at - from.at).count();
  const auto leases = static_cast<double>(seen.allLeases());
  Json failures = Json::object();
  for (const auto& [code, count] : seen.failures) failures[std::to_string(code)] = count;
  const auto cpu = [&](double seconds) -> Json {
    return {{"coresBusy", seconds / took}, {"perLease", per(seconds * 1000, leases)}};
  };
  return {{"seconds", took},
          {"calls", seen.calls},
          {"callsPerSecond", static_cast<double>(seen.calls) / took},
          {"failedCalls", failures},
          {"leases", seen.allLeases()},
          {"leasesPerSecond", leases / took},
          {"reportsPerSecond", static_cast<double>(seen.reports) / took},
          {"cpu",
           {{"coordinators", cpu(now.coordinators - from.coordinators)},
            {"postgres", cpu(now.postgres - from.postgres)},
            {"simulator", cpu(now.simulator - from.simulator)}}}};
}

Status Experiment::begin() {
  farm_ = std::make_unique<Farm>(options_);
  const std::string policy = testing_support::samplePolicyText("simulated");
  for (const std::string& tenant : mix_.tenants()) KILN_TRY(farm_->begin(tenant, policy));
  fleet_ = std::make_unique<Fleet>(Fleet::Options{options_.workers, options_.slots, farm_->endpoints(),
                                                  farm_->directory(), digestOf(policy)},
                                   mix_, farm_->authority());
  return {};
}

Status Experiment::idle() {
  const ProcessUsage before = farm_->coordinatorUsage();
  const auto begun = steady_clock::now();
  fleet_->resume(std::chrono::milliseconds(1000 * options_.workers / kCallsAtFirst));
  std::int64_t known = 0;
  while (known < options_.workers && steady_clock::now() - begun < kMayTakeToRegister) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    KILN_ASSIGN(auto rows, farm_->database().execute("SELECT count(*) AS n FROM fleet"));
    KILN_ASSIGN(auto count, rows.first([](const postgres::Row& row) { return row.get<std::int64_t>("n"); }));
    known = count.value_or(0);
  }
  const double registered = duration<double>(steady_clock::now() - begun).count();
  std::this_thread::sleep_for(kSettles);
  fleet_->take();
  const Mark from = mark();
  std::this_thread::sleep_for(seconds(options_.seconds));
  Json out = since(from, fleet_->take());
  const ProcessUsage now = farm_->coordinatorUsage();
  out["registered"] = known;
  out["secondsToRegister"] = registered;
  out["coordinatorThreads"] = now.threads;
  out["coordinatorMiB"] = now.residentMiB;
  out["coordinatorKiBPerWorker"] = (now.privateMiB - before.privateMiB) * 1024 / options_.workers;
  figures_["idle"] = std::move(out);
  return {};
}

Status Experiment::arrivals() {
  const auto count = static_cast<std::size_t>(options_.rate * options_.seconds);
  fleet_->take();
  const Mark from = mark();
  KILN_ASSIGN(const std::vector<Submitted> submitted,
              submitAtRate(*farm_, mix_.jobs(std::max<std::size_t>(count, 1)), options_.rate));
  std::this_thread::sleep_for(kSettles);
  Json out = since(from, fleet_->take());
  const auto leased = fleet_->firstLeases();
  std::vector<double> dispatched, submissions;
  for (const Submitted& job : submitted) {
    std::optional<TimePoint> first;
    for (const std::string& action : job.actions)
      if (const auto found = leased.find(action); found != leased.end())
        first = first ? std::min(*first, found->second) : found->second;
    submissions.push_back(job.seconds);
    if (first) dispatched.push_back(std::max(duration<double>(*first - job.acknowledged).count(), 0.0));
  }
  out["jobs"] = submitted.size();
  out["jobsNotDispatched"] = submitted.size() - dispatched.size();
  out["submission"] = millis(submissions);
  out["dispatch"] = millis(dispatched);
  figures_["arrivals"] = std::move(out);
  return {};
}

Status Experiment::backlog() {
  fleet_->pause();
  KILN_TRY(queueCopies(*farm_, mix_.jobs(static_cast<std::size_t>(options_.queued)), "backlog-"));
  fleet_->resume(seconds(1));
  std::this_thread::sleep_for(kSettles);
  fleet_->take();
  const Mark from = mark();
  Seen all;
  // Half of it at most: until the end all tenants are to have some.
  const auto enough = static_cast<std::uint64_t>(options_.queued) / 2;
  for (int i = 0; i < options_.seconds && all.allLeases() < enough; ++i) {
    std::this_thread::sleep_for(seconds(1));
    all += fleet_->take();
  }
  Json out = since(from, all);
  leasesPerSecond_ = out["leasesPerSecond"];
  KILN_ASSIGN(const auto left, queuedByTenant(*farm_));
  std::vector<double> shares;
  Json tenants = Json::object();
  for (const std::string& tenant : mix_.tenants()) {
    shares.push_back(static_cast<double>(all.leases[tenant]));
    const auto found = std::ranges::find(left, tenant, &std::pair<std::string, std::int64_t>::first);
    tenants[tenant] = {{"leases", all.leases[tenant]},
                       {"stillQueued", found == left.end() ? 0 : found->second}};
  }
  out["lease"] = millis(all.waits);
  out["fairness"] = fairness(shares);
  out["tenants"] = std::move(tenants);
  figures_["backlog"] = std::move(out);
  return {};
}

Status Experiment::death() {
  const bool alone = options_.coordinators == 1;
  fleet_->take();
  const Mark from = mark();
  const int watched = fleet_->watch(0);
  const int killedAt = secondOf(SteadyClock().now());
  farm_->kill(0);
  if (alone) farm_->restart(0);
  std::this_thread::sleep_for(seconds(options_.seconds));
  Seen seen = fleet_->take();
  Json out = since(from, seen);
  Json rates = Json::array();
  std::optional<int> recovered;
  for (int second = killedAt + 1; second < killedAt + options_.seconds; ++second) {
    const std::uint64_t leases = seen.perSecond[second];
    rates.push_back(leases);
    if (!recovered && static_cast<double>(leases) >= kRecovered * leasesPerSecond_)
      recovered = second - killedAt;
  }
  out["workersOfTheKilled"] = watched;
  out["workersStillWithoutAnswer"] = watched - static_cast<int>(seen.recoveries.size());
  out["untilAnswered"] = millis(seen.recoveries);
  out["secondsUntilRateIsBack"] = recovered ? Json(*recovered) : Json();
  out["leasesEachSecond"] = std::move(rates);
  figures_["death"] = std::move(out);
  if (!alone) farm_->restart(0);
  return {};
}

Status Experiment::account() {
  KILN_ASSIGN(auto rows,
              farm_->database().execute("SELECT outcome, count(*) AS n FROM attempts GROUP BY outcome"));
  KILN_ASSIGN(auto outcomes, rows.map([](const postgres::Row& row) {
    return std::pair(row.get<std::string>("outcome"), row.get<std::int64_t>("n"));
  }));
  Json out = Json::object();
  for (const auto& [outcome, count] : outcomes) out[outcome.empty() ? "running" : outcome] = count;
  figures_["attempts"] = std::move(out);
  return {};
}

}  // namespace kiln::fleet
