#include "compiler_core/runtime/check/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace kiln::runtime {
namespace {

std::string seconds(double value) {
  return fmt::format("{:.9f}", value);
}

Json gpuJson(const CheckedDevice& device) {
  if (device.api != "vulkan")
    return {{"name", device.name},
            {"computeCapability", device.computeCapability},
            {"driver", device.apiVersion}};
  return {{"name", device.name},     {"api", device.api},   {"apiVersion", device.apiVersion},
          {"driver", device.driver}, {"type", device.type}, {"conformance", device.conformance}};
}

}  // namespace

bool CheckReport::passed() const {
  return std::all_of(items.begin(), items.end(), [](const CheckItem& item) { return item.passed; });
}

Json CheckReport::toJson() const {
  Json list = Json::array();
  for (const CheckItem& item : items) {
    Json one{{"kind", item.kind}, {"name", item.name}, {"passed", item.passed}, {"detail", item.detail}};
    for (const auto& [name, value] : item.measured) one["measured"][name] = fmt::format("{:.12f}", value);
    list.push_back(std::move(one));
  }
  Json device{{"processor", processor}, {"threads", threads}, {"path", path}};
  if (emulated) device["emulated"] = true;
  if (this->device) device["gpu"] = gpuJson(*this->device);
  Json json{{"passed", passed()},
            {"items", std::move(list)},
            {"measured",
             {{"loadSeconds", seconds(loadSeconds)},
              {"warmupSeconds", seconds(warmupSeconds)},
              {"firstRunSeconds", seconds(firstRunSeconds)},
              {"steady",
               {{"runs", steady.runs},
                {"minimumSeconds", seconds(steady.minimum)},
                {"medianSeconds", seconds(steady.median)},
                {"p90Seconds", seconds(steady.p90)}}},
              {"plannedBytes", std::to_string(plannedBytes)},
              {"observedPeakBytes", std::to_string(observedPeakBytes)},
              {"weightBytes", std::to_string(weightBytes)}}},
            {"device", std::move(device)}};
  if (this->device) {
    json["measured"]["device"] = {{"plannedBytes", std::to_string(this->device->plannedBytes)},
                                  {"observedBytes", std::to_string(this->device->observedBytes)},
                                  {"transferBytes", std::to_string(this->device->transferBytes)},
                                  {"replayedRuns", this->device->replayedRuns}};
  }
  return json;
}

}  // namespace kiln::runtime
