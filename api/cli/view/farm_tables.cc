#include "api/cli/view/farm_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "api/cli/base/progress.h"
#include "api/cli/view/worker_view.h"
#include "manifest/base/counted.h"
#include "manifest/base/printable.h"

namespace kiln::cli {
namespace {

using Worker = v1::ListWorkersResponse::Worker;

constexpr std::size_t kMaxCell = 40;

std::string cell(std::string_view text) {
  return text.empty() ? "-" : printable(text, kMaxCell);
}

// What waits and runs of something.
struct Amount {
  std::uint64_t queued = 0, running = 0;
  double oldest = -1;    // seconds; negative: none waits
  double expected = -1;  // seconds of work; negative: not known

  void add(const v1::Queue::Kind& kind, TimePoint now) {
    queued += kind.queued();
    running += kind.running();
    if (kind.has_oldest()) {
      const double since = static_cast<double>(kind.oldest().seconds()) + kind.oldest().nanos() * 1e-9;
      const double age = std::chrono::duration<double>(now.time_since_epoch()).count() - since;
      oldest = std::max({oldest, age, 0.0});
    }
    if (kind.has_expected()) expected = std::max(expected, 0.0) + secondsOf(kind.expected());
  }
};

std::string ageOrNone(double seconds) {
  return seconds < 0 ? "-" : ageText(seconds);
}

FarmTable kindTable(const FarmView& farm) {
  FarmTable table{{{"QUEUE", "QUEUED", "RUNNING", "OLDEST", "EXPECTED WORK"}}, {1, 2, 3, 4}};
  std::map<int, Amount> kinds;
  for (const v1::Queue& queue : farm.queues.queues())
    for (const v1::Queue::Kind& kind : queue.kinds()) kinds[kind.kind()].add(kind, farm.at);
  for (const auto& [kind, amount] : kinds)
    table.rows.push_back({std::string(actionKindName(static_cast<v1::ActionKind>(kind))),
                          std::to_string(amount.queued), std::to_string(amount.running),
                          ageOrNone(amount.oldest), ageOrNone(amount.expected)});
  return table;
}

std::string ofLimit(std::uint64_t value, std::optional<int> limit) {
  return limit ? fmt::format("{}/{}", value, *limit) : std::to_string(value);
}

FarmTable instanceTable(const FarmView& farm) {
  FarmTable table{{{"INSTANCE", "QUEUED", "RUNNING", "SHARE", "WEIGHT", "OLDEST", "EXPECTED WORK"}},
                  {1, 2, 3, 4, 5, 6}};
  if (!farm.whole) return table;
  std::uint64_t all = 0;
  std::vector<std::pair<const v1::Queue*, Amount>> rows;
  for (const v1::Queue& queue : farm.queues.queues()) {
    Amount amount;
    for (const v1::Queue::Kind& kind : queue.kinds()) amount.add(kind, farm.at);
    all += amount.running;
    rows.emplace_back(&queue, amount);
  }
  for (const auto& [queue, amount] : rows)
    table.rows.push_back(
        {cell(queue->instance()),
         ofLimit(amount.queued, queue->has_max_queued() ? std::optional(queue->max_queued()) : std::nullopt),
         ofLimit(amount.running,
                 queue->has_max_running() ? std::optional(queue->max_running()) : std::nullopt),
         fmt::format("{} %", all == 0 ? 0 : (amount.running * 100 + all / 2) / all),
         std::to_string(queue->weight()), ageOrNone(amount.oldest), ageOrNone(amount.expected)});
  return table;
}

struct OperatorRow {
  std::int64_t workers = 0, live = 0, draining = 0, heldBack = 0, lost = 0, slots = 0, busy = 0;

  void add(const Worker& worker) {
    ++workers;
    ++(worker.lost() ? lost : worker.draining() ? draining : worker.has_held_back_until() ? heldBack : live);
    if (!worker.lost()) slots += worker.description().slots();
    busy += worker.running_size();
  }
};

FarmTable operatorTable(const FarmView& farm) {
  FarmTable table{{{"OPERATOR", "WORKERS", "LIVE", "DRAINING", "HELD BACK", "LOST", "SLOTS", "BUSY"}},
                  {1, 2, 3, 4, 5, 6, 7}};
  std::map<std::string, OperatorRow> operators;
  for (const Worker& worker : farm.workers) operators[worker.description().operator_()].add(worker);
  for (const auto& [name, row] : operators) {
    std::vector<std::string> cells{cell(name)};
    for (const std::int64_t value :
         {row.workers, row.live, row.draining, row.heldBack, row.lost, row.slots, row.busy})
      cells.push_back(std::to_string(value));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

FarmTable troubleTable(const FarmView& farm) {
  FarmTable table{{{"WORKER", "OPERATOR", "STATE"}}, {}};
  for (const Worker& worker : farm.workers)
    if (const std::string state = workerState(worker); state != "live")
      table.rows.push_back(
          {cell(worker.description().name()), cell(worker.description().operator_()), state});
  return table;
}

struct DeviceRow {
  int devices = 0, healthy = 0;
};

// Those alike in one row. Those of lost workers are not there.
FarmTable deviceTable(const FarmView& farm) {
  FarmTable table{{{"DEVICE", "ARCH", "DEVICES", "HEALTHY"}}, {2, 3}};
  std::map<std::pair<std::string, std::string>, DeviceRow> alike;
  for (const Worker& worker : farm.workers) {
    if (worker.lost()) continue;
    for (const v1::Device& device : worker.description().devices()) {
      DeviceRow& row = alike[{device.name(), device.arch()}];
      ++row.devices;
      row.healthy += device.healthy() ? 1 : 0;
    }
  }
  for (const auto& [key, row] : alike)
    table.rows.push_back(
        {cell(key.first), cell(key.second), std::to_string(row.devices), std::to_string(row.healthy)});
  return table;
}

FarmTable failureTable(const FarmView& farm) {
  FarmTable table{{{"FAILED JOB", "ENDED", "MODEL", "WHY"}}, {1}};
  for (const v1::Job& job : farm.failed) {
    const double ended = static_cast<double>(job.ended().seconds());
    const double age = std::chrono::duration<double>(farm.at.time_since_epoch()).count() - ended;
    const std::string& why = job.error().message();
    table.rows.push_back({printable(job.id()), ageText(std::max(age, 0.0)) + " ago", cell(job.model_name()),
                          printable(why.substr(0, why.find('\n')))});
  }
  return table;
}

}  // namespace

std::vector<FarmTable> farmTables(const FarmView& farm) {
  return {kindTable(farm),    instanceTable(farm), operatorTable(farm),
          troubleTable(farm), deviceTable(farm),   failureTable(farm)};
}

std::string fleetLine(const FarmView& farm) {
  OperatorRow all;
  for (const Worker& worker : farm.workers) all.add(worker);
  std::string line = fmt::format("{} live", counted(static_cast<std::uint64_t>(all.live), "worker"));
  for (const auto& [count, what] : {std::pair(all.draining, "draining"), std::pair(all.heldBack, "held back"),
                                    std::pair(all.lost, "lost")})
    if (count > 0) line += fmt::format(", {} {}", count, what);
  return fmt::format("{}; {} of {} busy", line, all.busy,
                     counted(static_cast<std::uint64_t>(all.slots), "slot"));
}

double secondsOf(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + duration.nanos() * 1e-9;
}

std::string ageText(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::clamp(seconds, 0.0, 1e12));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m {:02}s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{}h {:02}m", whole / 3600, whole / 60 % 60);
  return fmt::format("{}d {:02}h", whole / 86400, whole / 3600 % 24);
}

}  // namespace kiln::cli
