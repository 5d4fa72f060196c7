#include "manifest/spec/delivery_spec.h"

#include "manifest/json/reader.h"
#include "manifest/spec/path.h"

namespace kiln {

namespace {

constexpr std::size_t kMaxCheckFiles = 4096;
constexpr std::size_t kMaxBuilders = 1024;
constexpr int kMinForMajority = 3;

Result<CheckRequest> readCheck(ObjectReader reader) {
  CheckRequest check;
  KILN_ASSIGN(ObjectReader plan, reader.object("plan"));
  KILN_ASSIGN(check.plan, plan.digest());
  KILN_TRY(plan.finish());
  KILN_ASSIGN(const Json* files, reader.array("files"));
  if (files->size() > kMaxCheckFiles) return badMember(reader.path("files"), "more than 4096 files");
  for (const Json& json : *files) {
    const std::string place = reader.path("files") + "[" + std::to_string(check.files.size()) + "]";
    KILN_ASSIGN(ObjectReader entry, ObjectReader::open(json, place));
    ModelFile file;
    KILN_ASSIGN(file.path, entry.string("path"));
    if (const Status safe = checkRelativePath(file.path); !safe)
      return badMember(entry.path("path"), safe.error().message);
    KILN_ASSIGN(file.digest, entry.digest());
    KILN_TRY(entry.finish());
    if (!check.files.empty() && file.path <= check.files.back().path)
      return badMember(place + ".path", "must come after the path before it");
    check.files.push_back(std::move(file));
  }
  if (reader.has("emulated")) {
    KILN_ASSIGN(check.emulated, reader.boolean("emulated"));
  }
  KILN_TRY(reader.finish());
  return check;
}

Json checkJson(const CheckRequest& check) {
  Json files = Json::array();
  for (const ModelFile& file : check.files)
    files.push_back(
        {{"path", file.path}, {"digest", file.digest.text()}, {"size", std::to_string(file.digest.size)}});
  Json json{{"plan", {{"digest", check.plan.text()}, {"size", std::to_string(check.plan.size)}}},
            {"files", std::move(files)}};
  if (check.emulated) json["emulated"] = true;
  return json;
}

constexpr std::int64_t kMaxBudgetSeconds = 24 * 3600;
constexpr std::int64_t kMaxDeadlineSeconds = 30 * 24 * 3600;
constexpr std::int64_t kMaxWorkerSeconds = 1'000'000'000;

constexpr char kDefaultsMode[] = "off";

bool isOfDefaults(ObjectReader& tuning) {
  const auto mode = tuning.string("mode");
  return mode && *mode == kDefaultsMode;
}

Result<TuningRequest> readTuning(ObjectReader reader) {
  TuningRequest tuning;
  KILN_ASSIGN(const std::string mode, reader.string("mode"));
  if (mode != "reuse" && mode != "search")
    return badMember(reader.path("mode"), "must be off, reuse or search");
  tuning.search = mode == "search";
  if (tuning.search) {
    KILN_ASSIGN(const std::int64_t budget, reader.integer("budgetSeconds", 1, kMaxBudgetSeconds));
    tuning.budgetSeconds = static_cast<std::uint32_t>(budget);
  }
  KILN_TRY(reader.finish());
  return tuning;
}

Json tuningJson(const TuningRequest& tuning) {
  if (!tuning.search) return {{"mode", "reuse"}};
  return {{"mode", "search"}, {"budgetSeconds", tuning.budgetSeconds}};
}

Result<RebuildRequest> readRebuild(ObjectReader reader) {
  RebuildRequest rebuild;
  KILN_ASSIGN(ObjectReader artifact, reader.object("artifact"));
  KILN_ASSIGN(rebuild.artifact, artifact.digest());
  KILN_TRY(artifact.finish());
  KILN_ASSIGN(rebuild.builders, reader.strings("builders"));
  if (rebuild.builders.size() > kMaxBuilders)
    return badMember(reader.path("builders"), "more than 1024 workers");
  KILN_TRY(reader.finish());
  return rebuild;
}

Json rebuildJson(const RebuildRequest& rebuild) {
  return {
      {"artifact", {{"digest", rebuild.artifact.text()}, {"size", std::to_string(rebuild.artifact.size)}}},
      {"builders", rebuild.builders}};
}

}  // namespace

Json DeliverySpec::toJson() const {
  Json json{{"apiVersion", "kiln/v1"}, {"kind", "DeliverySpec"}, {"builders", builders},
            {"operators", operators},  {"priority", priority},   {"timeLimitSeconds", timeLimitSeconds},
            {"noCache", noCache}};
  if (deadlineSeconds) json["deadlineSeconds"] = *deadlineSeconds;
  if (deadline) json["deadline"] = rfc3339(*deadline);
  if (maxWorkerSeconds) json["maxWorkerSeconds"] = *maxWorkerSeconds;
  if (majority) json["agreement"] = "majority";
  if (check) json["check"] = checkJson(*check);
  if (tuning) json["tuning"] = tuningJson(*tuning);
  if (defaultSchedules) json["tuning"] = {{"mode", kDefaultsMode}};
  if (keepIr) json["keepIr"] = true;
  if (rebuild) json["rebuild"] = rebuildJson(*rebuild);
  return json;
}

namespace {

// What bounds the job as a whole.
Status readBounds(ObjectReader& reader, DeliverySpec& spec) {
  if (reader.has("deadlineSeconds")) {
    KILN_ASSIGN(const std::int64_t seconds, reader.integer("deadlineSeconds", 1, kMaxDeadlineSeconds));
    spec.deadlineSeconds = static_cast<std::uint32_t>(seconds);
  }
  if (reader.has("deadline")) {
    if (spec.deadlineSeconds) return badMember(reader.path("deadline"), "goes without deadlineSeconds");
    KILN_ASSIGN(const std::string text, reader.string("deadline"));
    const auto time = parseRfc3339(text);
    if (!time) return badMember(reader.path("deadline"), time.error().message);
    spec.deadline = *time;
  }
  if (reader.has("maxWorkerSeconds")) {
    KILN_ASSIGN(const std::int64_t seconds, reader.integer("maxWorkerSeconds", 1, kMaxWorkerSeconds));
    spec.maxWorkerSeconds = static_cast<std::uint32_t>(seconds);
  }
  return {};
}

}  // namespace

Result<DeliverySpec> DeliverySpec::fromJson(const Json& json) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "delivery"));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "DeliverySpec"));
  DeliverySpec spec;
  std::int64_t number = 0;
  KILN_ASSIGN(number, reader.integer("builders", 1, 16));
  spec.builders = static_cast<int>(number);
  KILN_ASSIGN(number, reader.integer("operators", 1, spec.builders));
  spec.operators = static_cast<int>(number);
  KILN_ASSIGN(number, reader.integer("priority", -1000, 1000));
  spec.priority = static_cast<int>(number);
  KILN_ASSIGN(number, reader.integer("timeLimitSeconds", 1, 7 * 24 * 3600));
  spec.timeLimitSeconds = static_cast<std::uint32_t>(number);
  KILN_ASSIGN(spec.noCache, reader.boolean("noCache"));
  KILN_TRY(readBounds(reader, spec));
  if (reader.has("agreement")) {
    KILN_TRY(reader.expect("agreement", "majority"));
    spec.majority = true;
    if (spec.builders < kMinForMajority)
      return badMember(reader.path("agreement"), "a majority needs at least 3 builders");
  }
  if (reader.has("check")) {
    KILN_ASSIGN(ObjectReader check, reader.object("check"));
    KILN_ASSIGN(spec.check, readCheck(std::move(check)));
  }
  if (reader.has("tuning")) {
    KILN_ASSIGN(ObjectReader tuning, reader.object("tuning"));
    spec.defaultSchedules = isOfDefaults(tuning);
    if (spec.defaultSchedules) KILN_TRY(tuning.finish());
    if (!spec.defaultSchedules) {
      KILN_ASSIGN(spec.tuning, readTuning(std::move(tuning)));
    }
    if (spec.tuning && spec.tuning->search && spec.tuning->budgetSeconds >= spec.timeLimitSeconds)
      return badMember(reader.path("tuning"), "its budget must be below timeLimitSeconds");
  }
  if (reader.has("keepIr")) {
    KILN_ASSIGN(spec.keepIr, reader.boolean("keepIr"));
  }
  if (reader.has("rebuild")) {
    KILN_ASSIGN(ObjectReader rebuild, reader.object("rebuild"));
    KILN_ASSIGN(spec.rebuild, readRebuild(std::move(rebuild)));
    if (!spec.noCache || spec.check || spec.tuning || spec.defaultSchedules || spec.keepIr ||
        spec.builders != 1)
      return badMember(reader.path("rebuild"),
                       "goes with noCache, one builder, no check, no tuning and no keepIr");
  }
  KILN_TRY(reader.finish());
  return spec;
}

}  // namespace kiln
