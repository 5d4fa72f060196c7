#include "manifest/statement/check_statement.h"

#include "manifest/base/printable.h"
#include "manifest/statement/members.h"

namespace kiln {
namespace {

constexpr std::size_t kMaxItems = 20000;

Status checkMeasured(ObjectReader& item) {
  KILN_ASSIGN(ObjectReader measured, item.object("measured"));
  for (const char* name : {"maxAbsolute", "maxRelative", "rmsRelative", "accuracy"})
    if (measured.has(name)) KILN_TRY(measured.decimal(name));
  return measured.finish();
}

// "1", "3" of "1.3" and of "1.3.230"; nothing unless these are numbers as they are written.
std::optional<std::pair<std::string, std::string>> majorAndMinor(std::string_view version) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t dot = version.find('.');
    const std::string_view part = version.substr(0, dot);
    const auto number = parseDecimal(part);
    if (!number || *number > UINT32_MAX) return {};
    parts.emplace_back(part);
    if (dot == std::string_view::npos) break;
    version.remove_prefix(dot + 1);
  }
  if (parts.size() < 2 || parts.size() > 3) return {};
  return std::pair(parts[0], parts[1]);
}

}  // namespace

Status checkReport(const Json& report) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(report, "report"));
  KILN_ASSIGN(const bool passed, reader.boolean("passed"));
  KILN_ASSIGN(const Json* items, reader.array("items"));
  if (items->empty() || items->size() > kMaxItems)
    return badMember(reader.path("items"), "must hold 1 to 20000 items");
  bool all = true;
  for (const Json& json : *items) {
    KILN_ASSIGN(ObjectReader item, ObjectReader::open(json, reader.path("items")));
    for (const char* name : {"kind", "name", "detail"}) KILN_TRY(item.string(name));
    KILN_ASSIGN(const bool one, item.boolean("passed"));
    if (item.has("measured")) KILN_TRY(checkMeasured(item));
    KILN_TRY(item.finish());
    all = all && one;
  }
  if (passed != all) return badMember(reader.path("passed"), "does not agree with the items");
  for (const char* name : {"measured", "device"}) KILN_TRY(reader.object(name));
  return reader.finish();
}

bool saysEmulated(const Json& report) {
  const Json& device = report.at("device");
  const auto at = device.find("emulated");
  return at != device.end() && *at != Json(false);
}

CheckedOn checkedOn(const Json& report) {
  if (saysEmulated(report)) return CheckedOn::kEmulated;
  const Json& device = report.at("device");
  const auto gpu = device.find("gpu");
  if (gpu == device.end()) return CheckedOn::kHardware;
  if (!gpu->is_object()) return CheckedOn::kSoftware;
  const auto type = gpu->find("type");
  if (type == gpu->end()) return CheckedOn::kHardware;
  for (const char* hardware : {"discrete", "integrated", "virtual"})
    if (*type == Json(hardware)) return CheckedOn::kHardware;
  return CheckedOn::kSoftware;
}

std::string_view checkedOnText(CheckedOn on) {
  switch (on) {
    case CheckedOn::kHardware:
      return "hardware";
    case CheckedOn::kSoftware:
      return "software";
    case CheckedOn::kEmulated:
      return "emulated";
  }
  return "";
}

std::optional<CheckedOn> parseCheckedOn(std::string_view text) {
  for (const CheckedOn on : {CheckedOn::kHardware, CheckedOn::kSoftware, CheckedOn::kEmulated})
    if (checkedOnText(on) == text) return on;
  return {};
}

Result<std::optional<CheckedGpu>> checkedGpu(const Json& report) {
  const Json& device = report.at("device");
  const auto at = device.find("gpu");
  if (at == device.end()) return std::optional<CheckedGpu>();
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(*at, "report.device.gpu"));
  CheckedGpu gpu;
  KILN_ASSIGN(gpu.name, reader.string("name"));
  if (!reader.has("api")) {
    KILN_ASSIGN(const std::string capability, reader.string("computeCapability"));
    const auto numbers = majorAndMinor(capability);
    if (numbers) gpu.arch = "sm_" + numbers->first + numbers->second;
    gpu.version = "compute capability " + capability;
    return std::optional(std::move(gpu));
  }
  KILN_TRY(reader.expect("api", "vulkan"));
  KILN_ASSIGN(const std::string version, reader.string("apiVersion"));
  const auto numbers = majorAndMinor(version);
  if (numbers) gpu.arch = "vulkan" + numbers->first + "." + numbers->second;
  gpu.version = "Vulkan " + version;
  KILN_ASSIGN(gpu.type, reader.string("type"));
  KILN_ASSIGN(gpu.driver, reader.string("driver"));
  KILN_ASSIGN(gpu.conformance, reader.string("conformance"));
  return std::optional(std::move(gpu));
}

std::vector<std::string> deviceTexts(const Json& report) {
  const Json& device = report.at("device");
  const auto gpu = device.find("gpu");
  std::vector<std::string> out;
  for (const auto& [name, value] : device.items())
    if (value.is_string()) out.push_back(value.get<std::string>());
  if (gpu == device.end() || !gpu->is_object()) return out;
  for (const auto& [name, value] : gpu->items())
    if (value.is_string()) out.push_back(value.get<std::string>());
  return out;
}

bool CheckStatement::passed() const {
  return report.at("passed").get<bool>();
}

std::string CheckStatement::failures() const {
  std::string text;
  for (const Json& item : report.at("items")) {
    if (item.at("passed").get<bool>()) continue;
    text += (text.empty() ? "" : "; ") + printable(item.at("kind").get<std::string>(), 64) + " " +
            printable(item.at("name").get<std::string>(), 200) + " (" +
            printable(item.at("detail").get<std::string>(), 400) + ")";
    if (text.size() > 2000) return text + "; ...";
  }
  return text;
}

Json CheckStatement::toJson() const {
  Json json = members("checker");
  json["plan"] = digestMember(plan);
  json["report"] = report;
  return json;
}

Result<CheckStatement> CheckStatement::fromJson(const Json& predicate) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(predicate, "predicate"));
  CheckStatement check;
  KILN_TRY(check.readMembers(reader, "checker"));
  KILN_ASSIGN(check.plan, readDigestMember(reader, "plan"));
  KILN_ASSIGN(const Json* report, reader.any("report"));
  if (Status good = checkReport(*report); !good) return fail(good.error().in("predicate"));
  check.report = *report;
  KILN_TRY(reader.finish());
  return check;
}

Result<std::string> checkStatement(const Digest& artifact, const CheckStatement& check) {
  KILN_TRY(CheckStatement::fromJson(check.toJson()));  // nothing is written that a reader would refuse
  return toCanonicalJson(Statement{{{"artifact.json", artifact.hash}}, kCheckType, check.toJson()}.toJson());
}

}  // namespace kiln
