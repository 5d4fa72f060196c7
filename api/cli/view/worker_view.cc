#include "api/cli/view/worker_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/cli/base/print.h"
#include "api/cli/view/job_view.h"
#include "manifest/base/counted.h"

namespace kiln::cli {
namespace {

using Worker = v1::ListWorkersResponse::Worker;
using Rows = std::vector<std::vector<std::string>>;

std::string stateOf(const Worker& worker) {
  if (worker.lost()) return "lost";
  if (worker.draining()) return "draining";
  return worker.has_held_back_until() ? "held back" : "live";
}

std::string stateOf(const Worker& worker, const v1::Device& device) {
  std::string state = worker.lost() ? "lost" : device.healthy() ? "healthy" : "drained: " + device.reason();
  if (device.emulated()) return "emulated, " + state;
  return device.type().empty() ? state : device.type() + ", " + state;
}

// "CUDA 13.0", "Vulkan 1.3.230 (llvmpipe: Mesa 22.3.6 (LLVM 15.0.6), conformance 1.3.1.1)".
std::string driverOf(const v1::Device& device) {
  if (device.driver().empty()) return "-";
  if (device.api() != "vulkan") return "CUDA " + device.driver();
  return fmt::format("Vulkan {} ({}, conformance {})", device.api_version(), device.driver(),
                     device.conformance());
}

// "cpu: x86-64-v3, x86-64-v4; cuda: sm_90a": by family, in the order given.
std::string byFamily(const google::protobuf::RepeatedPtrField<std::string>& targets) {
  std::vector<std::pair<std::string, std::string>> families;
  for (const std::string& target : targets) {
    const auto colon = std::min(target.find(':'), target.size());
    const std::string family = target.substr(0, colon),
                      rest = target.substr(std::min(colon + 1, target.size()));
    auto at = std::ranges::find(families, family, &std::pair<std::string, std::string>::first);
    if (at == families.end()) at = families.insert(at, {family, ""});
    at->second += (at->second.empty() ? "" : ", ") + rest;
  }
  std::string out;
  for (const auto& [family, rest] : families)
    out += fmt::format("{}{}{}{}", out.empty() ? "" : "; ", family, rest.empty() ? "" : ": ", rest);
  return out.empty() ? "-" : out;
}

// Workers that compile for the same targets share a line.
Rows targetsOf(std::span<const Worker> workers) {
  Rows rows{{"COMPILES FOR", "WORKERS"}};
  for (const Worker& worker : workers) {
    const std::string targets = byFamily(worker.description().targets());
    const auto at = std::ranges::find_if(rows, [&](const auto& row) { return row[0] == targets; });
    if (at == rows.end())
      rows.push_back({targets, worker.description().name()});
    else
      (*at)[1] += ", " + worker.description().name();
  }
  return rows;
}

std::string nameOf(const v1::Device& device) {
  if (device.cores() == 0) return device.name();
  const std::string cores = std::to_string(device.cores());
  return fmt::format("{}, {} {}", device.name(), cores, nounFor(cores, "core"));
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
    if (device.api() != "vulkan") return json;
    json["api"] = device.api();
    json["apiVersion"] = device.api_version();
    json["type"] = device.type();
    json["conformance"] = device.conformance();
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
  Json json{{"name", about.name()},
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
  if (worker.has_held_back_until()) json["heldBackUntil"] = timeText(worker.held_back_until());
  return json;
}

}  // namespace

std::string workerState(const Worker& worker) {
  const std::string state = stateOf(worker);
  return state == "held back" ? state + " until " + timeText(worker.held_back_until()) : state;
}

Json workersJson(std::span<const Worker> workers) {
  Json list = Json::array();
  for (const Worker& worker : workers) list.push_back(workerJson(worker));
  return {{"workers", std::move(list)}};
}

void printWorkers(std::span<const Worker> workers) {
  Rows rows{{"WORKER", "OPERATOR", "STATE", "RUNS", "LAST CONTACT"}};
  Rows devices{{"WORKER", "DEVICE", "NAME", "ARCH", "MEMORY", "DRIVER", "EXECUTES", "STATE"}};
  for (const Worker& worker : workers) {
    const auto& about = worker.description();
    rows.push_back({about.name(), about.operator_(), workerState(worker),
                    fmt::format("{}/{}", worker.running_size(), about.slots()),
                    timeText(worker.last_contact())});
    for (const v1::Device& device : about.devices())
      devices.push_back({about.name(), device.id(), nameOf(device), device.arch(),
                         device.memory_bytes() == 0 ? "-" : humanBytes(device.memory_bytes()),
                         driverOf(device), byFamily(device.runs()), stateOf(worker, device)});
  }
  printTable(rows);
  if (workers.empty()) return;
  printLine("");
  printTable(targetsOf(workers));
  if (devices.size() == 1) return;
  printLine("");
  printTable(devices);
}

}  // namespace kiln::cli
