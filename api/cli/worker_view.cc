#include "api/cli/worker_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/cli/job_view.h"
#include "api/cli/print.h"

namespace kiln::cli {
namespace {

using Worker = v1::ListWorkersResponse::Worker;
using Rows = std::vector<std::vector<std::string>>;

const char* stateOf(const Worker& worker) {
  return worker.lost() ? "lost" : worker.draining() ? "draining" : "live";
}

std::string stateOf(const Worker& worker, const v1::Device& device) {
  std::string state = worker.lost() ? "lost" : device.healthy() ? "healthy" : "drained: " + device.reason();
  return device.emulated() ? "emulated, " + state : state;
}

std::string listed(const google::protobuf::RepeatedPtrField<std::string>& texts) {
  return texts.empty() ? "-" : fmt::format("{}", fmt::join(texts, ","));
}

std::string nameOf(const v1::Device& device) {
  if (device.cores() == 0) return device.name();
  return fmt::format("{}, {} core{}", device.name(), device.cores(), device.cores() == 1 ? "" : "s");
}

Json listJson(const google::protobuf::RepeatedPtrField<std::string>& texts) {
  return std::vector<std::string>(texts.begin(), texts.end());
}

Json deviceJson(const v1::Device& device) {
  Json caches = Json::array();
  for (const v1::Cache& cache : device.caches())
    caches.push_back(
        {{"level", cache.level()}, {"kind", cache.kind()}, {"bytes", std::to_string(cache.bytes())}});
  Json json{{"id", device.id()},
            {"kind", device.kind()},
            {"name", device.name()},
            {"arch", device.arch()},
            {"memoryBytes", std::to_string(device.memory_bytes())},
            {"emulated", device.emulated()},
            {"state", device.healthy() ? "healthy" : "drained"},
            {"reason", device.reason()},
            {"runs", listJson(device.runs())}};
  if (device.kind() == "gpu") {
    json["driver"] = device.driver();
    return json;
  }
  json["sockets"] = device.sockets();
  json["cores"] = device.cores();
  json["threads"] = device.threads();
  json["caches"] = std::move(caches);
  return json;
}

Json workerJson(const Worker& worker) {
  const auto& about = worker.description();
  Json facts = Json::object(), devices = Json::array();
  for (const auto& [key, value] : about.facts()) facts[key] = value;
  for (const v1::Device& device : about.devices()) devices.push_back(deviceJson(device));
  return {{"name", about.name()},
          {"operator", about.operator_()},
          {"state", stateOf(worker)},
          {"slots", about.slots()},
          {"hostLevel", about.host_level()},
          {"targets", listJson(about.targets())},
          {"devices", std::move(devices)},
          {"toolchains", listJson(about.toolchains())},
          {"running", listJson(worker.running())},
          {"facts", std::move(facts)},
          {"lastContact", timeText(worker.last_contact())}};
}

}  // namespace

Json workersJson(std::span<const Worker> workers) {
  Json list = Json::array();
  for (const Worker& worker : workers) list.push_back(workerJson(worker));
  return {{"workers", std::move(list)}};
}

void printWorkers(std::span<const Worker> workers) {
  Rows rows{{"WORKER", "OPERATOR", "STATE", "RUNS", "TARGETS", "LAST CONTACT"}};
  Rows devices{{"WORKER", "DEVICE", "NAME", "ARCH", "MEMORY", "DRIVER", "EXECUTES", "STATE"}};
  for (const Worker& worker : workers) {
    const auto& about = worker.description();
    rows.push_back({about.name(), about.operator_(), stateOf(worker),
                    fmt::format("{}/{}", worker.running_size(), about.slots()), listed(about.targets()),
                    timeText(worker.last_contact())});
    for (const v1::Device& device : about.devices())
      devices.push_back({about.name(), device.id(), nameOf(device), device.arch(),
                         device.memory_bytes() == 0 ? "-" : humanBytes(device.memory_bytes()),
                         device.driver().empty() ? "-" : "CUDA " + device.driver(), listed(device.runs()),
                         stateOf(worker, device)});
  }
  printTable(rows);
  if (devices.size() == 1) return;
  printLine("");
  printTable(devices);
}

}  // namespace kiln::cli
