#include "manifest/statement/check_statement.h"

#include "manifest/base/printable.h"

namespace kiln {
namespace {

constexpr std::size_t kMaxItems = 20000;

Status checkMeasured(ObjectReader& item) {
  KILN_ASSIGN(ObjectReader measured, item.object("measured"));
  for (const char* name : {"maxAbsolute", "maxRelative", "rmsRelative", "accuracy"})
    if (measured.has(name)) KILN_TRY(measured.decimal(name));
  return measured.finish();
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

Result<std::optional<CheckedGpu>> checkedGpu(const Json& report) {
  const Json& device = report.at("device");
  const auto at = device.find("gpu");
  if (at == device.end()) return std::optional<CheckedGpu>();
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(*at, "report.device.gpu"));
  CheckedGpu gpu;
  KILN_ASSIGN(gpu.name, reader.string("name"));
  KILN_ASSIGN(gpu.computeCapability, reader.string("computeCapability"));
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
  json["report"] = report;
  return json;
}

Result<CheckStatement> CheckStatement::fromJson(const Json& predicate) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(predicate, "predicate"));
  CheckStatement check;
  KILN_TRY(check.readMembers(reader, "checker"));
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
