#include "coordinator/drivers/job_driver.h"

#include <algorithm>

#include "coordinator/drivers/ir_keeper.h"
#include "coordinator/drivers/job_steps.h"
#include "coordinator/drivers/preparation.h"
#include "coordinator/drivers/reproducer.h"
#include "coordinator/farm/blob_io.h"
#include "coordinator/farm/log.h"
#include "coordinator/jobs/execution_step.h"
#include "coordinator/jobs/submission.h"
#include "coordinator/planning/planner.h"
#include "coordinator/planning/proof.h"
#include "storage/index/fleet/farm_repository.h"
#include "storage/index/jobs/execution_repository.h"
#include "storage/index/jobs/job_changes.h"
#include "storage/index/jobs/job_repository.h"
#include "storage/postgres/commit_soon.h"

namespace kiln::service {
namespace {

using index::JobSnapshot;
using postgres::Connection;

constexpr int kMaxSteps = 1000;  // far beyond any job: a step that changes nothing must not spin

bool isTransient(Code code) {
  return code == Code::kUnavailable || code == Code::kDeadlineExceeded || code == Code::kAborted ||
         code == Code::kResourceExhausted;
}

struct Decision {
  JobSnapshot snapshot;
  DeliverySpec delivery;
  jobs::Step step = jobs::Wait{};
  bool carriedOut = false;
};

// Not while somebody waits for an equal one, nor before clients had the time to call again.
Status endUnwatched(TimePoint now, TimePoint graceUntil, Connection& connection, Decision& decision) {
  if (!jobs::unwatched(decision.snapshot, now)) return {};
  index::JobRecord& job = decision.snapshot.job;
  KILN_ASSIGN(const TimePoint watched, index::lastWatched(connection, job));
  job.execution->watched = std::max(watched, graceUntil);
  if (auto alone = jobs::unwatched(decision.snapshot, now)) decision.step = std::move(*alone);
  return {};
}

// Looks at the job under its lock, and carries out what needs nothing but the database.
Result<Decision> decide(const Planning& planning, const Leasing& leasing, Connection& connection,
                        const index::JobKey& key) {
  Decision out;
  KILN_ASSIGN(auto snapshot, index::loadJob(connection, key, index::Evidence::kWith, index::Lock::kUpdate));
  if (!snapshot) return out;
  out.snapshot = std::move(*snapshot);
  const bool isExecution = out.snapshot.job.execution.has_value();
  dropUnproven(planning, key.id, out.snapshot.results, isExecution ? MadeBy::kExecution : MadeBy::kBuild);
  KILN_ASSIGN(out.delivery, jobs::readDelivery(out.snapshot.job.delivery));
  out.step = jobs::nextStep(out.snapshot, out.delivery);
  if (!std::holds_alternative<jobs::End>(out.step))
    if (auto late = jobs::pastDeadline(out.snapshot, planning.stores.clock.now()))
      out.step = std::move(*late);
  if (std::holds_alternative<jobs::Wait>(out.step))
    KILN_TRY(endUnwatched(planning.stores.clock.now(), leasing.graceUntil, connection, out));
  KILN_ASSIGN(out.carriedOut, applyInDatabase(planning.stores.clock, leasing, connection, out.snapshot,
                                              out.delivery, out.step));
  if (!out.carriedOut || std::holds_alternative<jobs::Wait>(out.step))
    KILN_TRY(postgres::commitSoon(connection));  // there is nothing but the lock
  return out;
}

// Whether carrying it out has a statement signed.
bool isSigned(const jobs::Step& step) {
  return std::holds_alternative<jobs::Publish>(step) || std::holds_alternative<jobs::PublishCheck>(step) ||
         std::holds_alternative<jobs::PublishIr>(step) || std::holds_alternative<jobs::PlanCompile>(step);
}

void report(const Clock& clock, const Observers& observers, const JobSnapshot& snapshot,
            const jobs::End& end) {
  const TimePoint now = clock.now();
  observers.metrics.jobEnded(end.state, now - snapshot.job.submitted);
  tellEnded(observers.tracing, snapshot.job, end.state, end.error ? end.error->message : "", now);
  const std::string trace = tracing::traceOf(snapshot.job.trace);
  const index::JobKey& key = snapshot.job.key;
  if (end.error)
    logWarning("job failed", {{"instance", key.instance},
                              {"job", key.id},
                              {"trace", trace},
                              {"exit", std::to_string(end.error->exitCode)},
                              {"error", end.error->message}});
  else
    logInfo(end.state == index::JobState::kSucceeded ? "job succeeded" : "job cancelled",
            {{"instance", key.instance}, {"job", key.id}, {"trace", trace}});
  observers.reached(kPointEnded);
}

}  // namespace

JobDriver::JobDriver(const Planning& planning, const Leasing& leasing, const Observers& observers,
                     DriverOptions options)
    : planning_(planning),
      leasing_(leasing),
      observers_(observers),
      options_(options),
      publisher_(planning, observers),
      checker_(planning),
      tuner_(planning) {}

JobDriver::~JobDriver() {
  stop();
}

void JobDriver::start() {
  for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { work(); });
  threads_.emplace_back([this] { sweepForEver(); });
}

void JobDriver::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notifyAll();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void JobDriver::wake(const index::JobKey& key) {
  {
    const MutexLock lock(mutex_);
    if (!known_.insert(key).second) return;
    waiting_.push_back(key);
  }
  changed_.notifyAll();  // one wake-up might go to the sweeping thread
}

Status JobDriver::advance(const index::JobKey& key) {
  for (int i = 0; i < kMaxSteps; ++i) {
    KILN_ASSIGN(Decision decision, planning_.stores.database.transact(
                                       [&](Connection& c) { return decide(planning_, leasing_, c, key); }));
    if (std::holds_alternative<jobs::Wait>(decision.step)) return {};
    if (const auto* end = std::get_if<jobs::End>(&decision.step)) {
      report(planning_.stores.clock, observers_, decision.snapshot, *end);
      return {};
    }
    if (decision.carriedOut) continue;
    Status status = carryOut(decision.snapshot, decision.delivery, decision.step);
    if (status) continue;
    if (isTransient(status.error().code)) return status;
    KILN_TRY(planning_.stores.database.transact([&](Connection& c) {
      return recordFailedStep(planning_.stores.clock, c, decision.snapshot, decision.step, status.error());
    }));
  }
  return fail(Code::kInternal, "job " + key.id + " makes no progress");
}

Status JobDriver::carryOut(const JobSnapshot& snapshot, const DeliverySpec& delivery,
                           const jobs::Step& step) {
  if (isSigned(step)) KILN_TRY(checkPreparation(planning_.recalls, snapshot, delivery));
  if (const auto* publish = std::get_if<jobs::Publish>(&step))
    return delivery.rebuild ? publishReproduction(planning_, snapshot, delivery, *publish)
                            : publisher_.publish(snapshot, *publish);
  if (const auto* check = std::get_if<jobs::PlanCheck>(&step))
    return checker_.plan(snapshot, delivery, *check);
  if (const auto* check = std::get_if<jobs::PublishCheck>(&step))
    return checker_.publish(snapshot, delivery, *check);
  if (const auto* ir = std::get_if<jobs::PublishIr>(&step)) return publishIr(planning_, snapshot, *ir);
  if (const auto* tune = std::get_if<jobs::PlanTune>(&step)) return tuner_.plan(snapshot, delivery, *tune);
  if (const auto* compile = std::get_if<jobs::PlanCompile>(&step))
    return tuner_.compile(snapshot, delivery, *compile);
  return planStoredJob(planning_, snapshot, delivery);
}

void JobDriver::lookAtClocks() {
  if (!options_.steady) return;
  const std::pair now(planning_.stores.clock.now(), options_.steady->now());
  const auto last = std::exchange(sweptAt_, now);
  if (!last) return;
  const Duration by = (now.first - last->first) - (now.second - last->second);
  if (std::chrono::abs(by) < leasing_.queue.settings().lease / 2) return;
  setFrom_ = last->first;
  fleetKnownFrom_ = std::min(fleetKnownFrom_, now.first + leasing_.queue.settings().lease);
  logWarning("the clock was set: leases begin anew",
             {{"seconds", std::to_string(std::chrono::duration_cast<std::chrono::seconds>(by).count())}});
}

TimePoint JobDriver::elapsedNow() const {
  return options_.steady ? options_.steady->now() : planning_.stores.clock.now();
}

Status JobDriver::sweep() {
  lookAtClocks();
  const TimePoint began = elapsedNow();
  if (setFrom_) {
    KILN_TRY(planning_.stores.database.transact(
        [&](Connection& c) { return leasing_.queue.startAnew(c, *setFrom_); }));
    setFrom_.reset();
  }
  if (interrupted_) {
    KILN_TRY(planning_.stores.database.transact([&](Connection& c) -> Status {
      KILN_TRY(index::openGeneration(c));  // another server may have taken the database over
      KILN_ASSIGN(const bool heard, index::anotherListens(c, leasing_.queue.settings().lease));
      return heard ? Status() : leasing_.queue.extendAll(c);
    }));
    fleetKnownFrom_ =
        std::max(leasing_.graceUntil, planning_.stores.clock.now() + leasing_.queue.settings().lease);
    interrupted_ = false;
  }
  const bool fleetKnown = planning_.stores.clock.now() >= fleetKnownFrom_;
  KILN_ASSIGN(auto expired,
              planning_.stores.database.transact([&](Connection& c) -> Result<std::vector<index::JobKey>> {
                // What held this up has held up workers' reports as well.
                if (elapsedNow() - began >= leasing_.queue.settings().lease / 2)
                  return fail(Code::kUnavailable, "the database was away for a while");
                return leasing_.queue.expire(c, fleetKnown);
              }));
  observers_.metrics.leasesExpired(expired.size());
  for (const index::JobKey& key : expired)
    logWarning("lease expired", {{"instance", key.instance}, {"job", key.id}});
  KILN_ASSIGN(auto abandoned, planning_.stores.database.transact([&](Connection& c) {
    return leasing_.queue.failAbandoned(c, fleetKnown);
  }));
  for (const index::JobKey& key : abandoned)
    logWarning("nobody else can try it", {{"instance", key.instance}, {"job", key.id}});
  KILN_ASSIGN(auto connection, planning_.stores.database.acquire());
  KILN_TRY(logHeldBack(*connection));
  return sweepJobs(*connection);
}

Status JobDriver::sweepJobs(Connection& connection) {
  KILN_ASSIGN(const auto overdue,
              index::listOverdueJobs(connection, planning_.stores.clock.now(), options_.sweptAtOnce));
  for (const index::JobKey& key : overdue) wake(key);
  KILN_ASSIGN(const auto open, index::listOpenJobs(connection, sweptUpTo_, options_.sweptAtOnce));
  for (const index::JobKey& key : open) wake(key);
  swept_ += open.size();
  if (open.size() == options_.sweptAtOnce) {
    sweptUpTo_ = open.back();
    return {};
  }
  observers_.metrics.setOpenJobs(swept_);
  sweptUpTo_.reset();
  swept_ = 0;
  return {};
}

Status JobDriver::logHeldBack(Connection& connection) {
  KILN_ASSIGN(const auto held, queue::heldBack(connection, planning_.stores.clock.now()));
  std::map<std::string, TimePoint> now;
  for (const queue::HeldBack& one : held) {
    const std::string name = one.operatorName + "/" + one.worker;
    now[name] = one.until;
    const auto known = heldBack_.find(name);
    if (known == heldBack_.end() || known->second != one.until)
      logWarning("a worker's leases end badly: it gets only what nobody else could take",
                 {{"worker", one.worker}, {"operator", one.operatorName}, {"until", rfc3339(one.until)}});
  }
  heldBack_ = std::move(now);
  return {};
}

void JobDriver::work() {
  MutexLock lock(mutex_);
  for (;;) {
    const auto ready = [this]() KILN_REQUIRES(mutex_) {
      return std::find_if(waiting_.begin(), waiting_.end(),
                          [this](const index::JobKey& key)
                              KILN_REQUIRES(mutex_) { return !busy_.contains(key); });
    };
    while (!stopping_ && ready() == waiting_.end()) changed_.wait(mutex_);
    if (stopping_) return;
    const auto next = ready();
    index::JobKey key = *next;
    waiting_.erase(next);
    known_.erase(key);
    busy_.insert(key);
    lock.unlock();
    if (Status status = advance(key); !status)
      logWarning("job held up",
                 {{"instance", key.instance}, {"job", key.id}, {"error", status.error().message}});
    lock.lock();
    busy_.erase(key);
    changed_.notifyAll();
  }
}

void JobDriver::sweepForEver() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    if (Status status = sweep(); !status) {
      if (!interrupted_)
        logWarning("database not available, waiting for it", {{"error", status.error().message}});
      interrupted_ = true;
    }
    lock.lock();
    changed_.waitFor(mutex_, options_.sweepEvery, [this]() KILN_REQUIRES(mutex_) { return stopping_; });
  }
}

}  // namespace kiln::service
