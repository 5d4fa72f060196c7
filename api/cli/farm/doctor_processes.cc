#include "api/cli/farm/doctor_processes.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "api/cli/farm/doctor_farm.h"
#include "manifest/base/counted.h"
#include "manifest/base/printable.h"
#include "manifest/json/json.h"

namespace kiln::cli {
namespace {

std::string textOf(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

// When a process was started, in clock ticks; "" if there is none or only its zombie (proc(5)).
std::string startedAt(std::int64_t pid) {
  const std::string stat = textOf("/proc/" + std::to_string(pid) + "/stat");
  const auto name = stat.rfind(')');
  if (name == std::string::npos) return "";
  std::istringstream fields(stat.substr(name + 1));
  std::string field;
  for (int i = 3; i <= 22 && fields >> field; ++i)
    if (i == 3 && (field == "Z" || field == "X")) return "";
  return field;
}

std::string text(const Json& object, const char* member) {
  const auto at = object.find(member);
  return at != object.end() && at->is_string() ? printable(at->get<std::string>()) : std::string();
}

std::int64_t number(const Json& object, const char* member) {
  const auto at = object.find(member);
  return at != object.end() && at->is_number_integer() ? at->get<std::int64_t>() : 0;
}

Finding about(const Json& process, const std::string& farm) {
  const std::string name = text(process, "name"), state = text(process, "state");
  const std::string why = text(process, "ended").empty() ? "" : ": " + text(process, "ended");
  const std::string log = "see " + farm + "/logs/" + name + ".log";
  const std::int64_t restarts = number(process, "restarts");
  if (state == "running" && restarts == 0)
    return {"process " + name, "ok", fmt::format("runs as {}", number(process, "pid")), ""};
  if (state == "running")
    return {"process " + name, "warning",
            fmt::format("was started again {}, after it ended{}", counted(restarts, "time"), why), log};
  if (state == "failed")
    return {"process " + name, "missing", "was given up after ten starts" + why,
            log + ", then run " + upCommand(farm)};
  return {"process " + name, "warning", "does not run and is about to be started" + why, log};
}

}  // namespace

std::vector<Finding> supervisedProcesses(const std::string& farm) {
  const std::string file = textOf(farm + "/run/state.json");
  if (file.empty()) return {};
  const auto state = parseJson(file);
  if (!state || !state->is_object() || !state->contains("supervisor") ||
      !state->at("supervisor").is_object() || !state->contains("processes") ||
      !state->at("processes").is_array())
    return {{"supervisor", "missing", farm + "/run/state.json cannot be read", "run " + upCommand(farm)}};
  const Json& supervisor = state->at("supervisor");
  const std::string born = startedAt(number(supervisor, "pid"));
  if (born.empty() || born != text(supervisor, "born"))
    return {{"supervisor", "missing", "does not run: what ends stays ended", "run " + upCommand(farm)}};
  std::vector<Finding> out;
  for (const Json& process : state->at("processes"))
    if (process.is_object()) out.push_back(about(process, farm));
  return out;
}

}  // namespace kiln::cli
