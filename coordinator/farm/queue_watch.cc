#include "coordinator/farm/queue_watch.h"

#include <algorithm>
#include <set>

#include "coordinator/farm/log.h"
#include "coordinator/farm/metrics.h"

namespace kiln::service {
namespace {

constexpr std::chrono::seconds kPause{15};
constexpr int kShare = 50;  // of the time that looks may take
constexpr index::ActionKind kLastKind = index::ActionKind::kTune;
constexpr char kOther[] = "other";
constexpr std::size_t kMaxInstances = 100;  // that have labels of their own, whatever the quota file names

prometheus::Family<prometheus::Gauge>& gauges(prometheus::Registry& registry, const char* name,
                                              const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

const char* stateOf(bool leased) {
  return leased ? "leased" : "queued";
}

// Those with a label of their own. The file may name any number.
std::set<std::string> labelled(const quota::QuotaRules& rules) {
  std::set<std::string> out;
  for (const auto& [instance, quota] : rules.named())
    if (out.size() < kMaxInstances) out.insert(instance);
  return out;
}

}  // namespace

QueueWatch::QueueWatch(postgres::Pool& database, const quota::Quotas& quotas, prometheus::Registry& registry,
                       const Clock& clock, const Clock& steady)
    : database_(database),
      quotas_(quotas),
      clock_(clock),
      steady_(steady),
      runs_(gauges(registry, "kiln_runs", "Runs that wait or are leased, by kind")),
      oldest_(gauges(registry, "kiln_runs_oldest_seconds", "How long the oldest queued run has waited")),
      instances_(gauges(registry, "kiln_instance_runs",
                        "Runs of the instances that the quota file names, and of all others")),
      instancesOldest_(gauges(registry, "kiln_instance_runs_oldest_seconds",
                              "How long the oldest queued run of an instance has waited")) {}

QueueWatch::~QueueWatch() {
  stop();
}

Status QueueWatch::look() {
  const MutexLock lock(looking_);
  std::vector<queue::Depth> depths;
  {
    KILN_ASSIGN(auto connection, database_.acquire());
    KILN_ASSIGN(depths, queue::queueDepth(*connection));
  }
  show(depths);
  return {};
}

void QueueWatch::show(const std::vector<queue::Depth>& depths) {
  const std::set<std::string> named = labelled(*quotas_.current());
  std::map<std::pair<std::string, bool>, double> ofInstance, ofKind;
  std::map<std::string, double> oldest, oldestOfInstance{{kOther, 0}};
  for (const std::string& instance : named) oldestOfInstance[instance] = 0;
  for (int kind = 1; kind <= static_cast<int>(kLastKind); ++kind) {
    const std::string name(actionKindName(static_cast<index::ActionKind>(kind)));
    ofKind[{name, false}] = ofKind[{name, true}] = oldest[name] = 0;
  }
  for (const bool leased : {false, true}) {
    ofInstance[{kOther, leased}] = 0;
    for (const std::string& instance : named) ofInstance[{instance, leased}] = 0;
  }
  const TimePoint now = clock_.now();
  for (const queue::Depth& depth : depths) {
    const auto runs = static_cast<double>(depth.runs);
    const std::string kind(actionKindName(depth.kind));
    ofKind[{kind, depth.leased}] += runs;
    const std::string instance = named.contains(depth.instance) ? depth.instance : kOther;
    ofInstance[{instance, depth.leased}] += runs;
    if (depth.leased) continue;
    const double age = std::chrono::duration<double>(now - depth.oldest).count();
    oldest[kind] = std::max(oldest[kind], age);
    oldestOfInstance[instance] = std::max(oldestOfInstance[instance], age);
  }
  for (const auto& [key, runs] : ofKind)
    runs_.Add({{"kind", key.first}, {"state", stateOf(key.second)}}).Set(runs);
  for (const auto& [kind, age] : oldest) oldest_.Add({{"kind", kind}}).Set(age);
  std::map<std::pair<std::string, bool>, prometheus::Gauge*> shown;
  for (const auto& [key, runs] : ofInstance) {
    auto& gauge = instances_.Add({{"kiln_instance", key.first}, {"state", stateOf(key.second)}});
    gauge.Set(runs);
    shown[key] = &gauge;
  }
  std::map<std::string, prometheus::Gauge*> shownOldest;
  for (const auto& [instance, age] : oldestOfInstance) {
    auto& gauge = instancesOldest_.Add({{"kiln_instance", instance}});
    gauge.Set(age);
    shownOldest[instance] = &gauge;
  }
  // What the file names no more.
  for (const auto& [instance, gauge] : shownOldest_)
    if (!shownOldest.contains(instance)) instancesOldest_.Remove(gauge);
  shownOldest_ = std::move(shownOldest);
  for (const auto& [key, gauge] : shown_)
    if (!shown.contains(key)) instances_.Remove(gauge);
  shown_ = std::move(shown);
}

void QueueWatch::start() {
  thread_ = std::thread([this] { lookForEver(); });
}

void QueueWatch::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  stopped_.notifyAll();
  if (thread_.joinable()) thread_.join();
}

void QueueWatch::lookForEver() {
  MutexLock lock(mutex_);
  Duration pause = kPause;
  do {
    lock.unlock();
    const TimePoint before = steady_.now();
    if (const Status looked = look(); !looked)
      logWarning("the queue was not looked at", {{"error", looked.error().message}});
    pause = std::max<Duration>(kPause, (steady_.now() - before) * kShare);
    lock.lock();
  } while (!stopped_.waitFor(mutex_, pause, [this]() KILN_REQUIRES(mutex_) { return stopping_; }));
}

}  // namespace kiln::service
