#include "compiler_core/runtime/check/plan.h"

#include <set>

#include "manifest/json/reader.h"
#include "manifest/spec/path.h"

namespace kiln::runtime {
namespace {

constexpr std::size_t kMaxEntries = 1000;
constexpr std::size_t kMaxTensors = 4096;

Result<std::string> readPath(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(std::string path, reader.string(name));
  if (const Status safe = checkRelativePath(path); !safe)
    return badMember(reader.path(name), safe.error().message);
  return path;
}

// [{"tensor": NAME, "file": PATH}, ...]: for names that no member can have, those beyond ASCII.
Result<TensorFiles> readTensorList(const Json& list, const std::string& place) {
  TensorFiles files;
  for (std::size_t i = 0; i < list.size(); ++i) {
    KILN_ASSIGN(ObjectReader entry, ObjectReader::open(list[i], place + "[" + std::to_string(i) + "]"));
    KILN_ASSIGN(const std::string tensor, entry.string("tensor"));
    KILN_ASSIGN(std::string file, readPath(entry, "file"));
    KILN_TRY(entry.finish());
    if (!files.emplace(tensor, std::move(file)).second)
      return badMember(entry.path("tensor"), "is named twice");
  }
  return files;
}

Result<TensorFiles> readTensors(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(const Json* json, reader.any(name));
  if (!json->is_structured() || json->empty() || json->size() > kMaxTensors)
    return badMember(reader.path(name),
                     "must be an object from tensor names to .npy files, or a list of "
                     "objects with tensor and file");
  if (json->is_array()) return readTensorList(*json, reader.path(name));
  TensorFiles files;
  KILN_ASSIGN(ObjectReader tensors, reader.object(name));
  for (const auto& [tensor, file] : json->items()) {
    KILN_ASSIGN(files[tensor], readPath(tensors, tensor));
  }
  return files;
}

Result<Golden> readGolden(ObjectReader reader) {
  Golden golden;
  KILN_ASSIGN(golden.name, reader.string("name"));
  KILN_ASSIGN(golden.inputs, readTensors(reader, "inputs"));
  KILN_ASSIGN(golden.outputs, readTensors(reader, "outputs"));
  if (reader.has("tolerance")) {
    KILN_ASSIGN(ObjectReader tolerance, reader.object("tolerance"));
    KILN_ASSIGN(golden.tolerance.relative, tolerance.decimal("rtol"));
    KILN_ASSIGN(golden.tolerance.absolute, tolerance.decimal("atol"));
    KILN_TRY(tolerance.finish());
  }
  KILN_TRY(reader.finish());
  return golden;
}

Result<AccuracyMetric> readMetric(ObjectReader reader) {
  AccuracyMetric metric;
  KILN_TRY(reader.expect("kind", "accuracy"));
  KILN_ASSIGN(metric.name, reader.string("name"));
  KILN_ASSIGN(metric.inputs, readTensors(reader, "inputs"));
  KILN_ASSIGN(metric.output, reader.string("output"));
  KILN_ASSIGN(metric.labels, readPath(reader, "labels"));
  KILN_ASSIGN(metric.threshold, reader.decimal("threshold"));
  if (metric.threshold > 1) return badMember(reader.path("threshold"), "is a share, at most 1");
  KILN_TRY(reader.finish());
  return metric;
}

// The entries of array `name`, each read by `read`; none if the member is absent.
template <class Entry>
Result<std::vector<Entry>> readEntries(ObjectReader& reader, std::string_view name,
                                       Result<Entry> (*read)(ObjectReader)) {
  std::vector<Entry> entries;
  if (!reader.has(name)) return entries;
  KILN_ASSIGN(const Json* list, reader.array(name));
  if (list->size() > kMaxEntries) return badMember(reader.path(name), "more than 1000 entries");
  for (const Json& json : *list) {
    const std::string place = reader.path(name) + "[" + std::to_string(entries.size()) + "]";
    KILN_ASSIGN(ObjectReader entry, ObjectReader::open(json, place));
    KILN_ASSIGN(Entry value, read(std::move(entry)));
    entries.push_back(std::move(value));
  }
  return entries;
}

Result<CheckLimits> readLimits(ObjectReader reader) {
  CheckLimits limits;
  const std::pair<const char*, std::optional<double>*> members[] = {
      {"loadSeconds", &limits.loadSeconds},
      {"warmupSeconds", &limits.warmupSeconds},
      {"firstRunSeconds", &limits.firstRunSeconds},
      {"steadySeconds", &limits.steadySeconds}};
  for (const auto& [name, value] : members) {
    if (!reader.has(name)) continue;
    KILN_ASSIGN(*value, reader.decimal(name));
  }
  if (reader.has("peakBytes")) {
    KILN_ASSIGN(limits.peakBytes, reader.unsigned64("peakBytes"));
  }
  KILN_TRY(reader.finish());
  return limits;
}

}  // namespace

std::vector<std::string> CheckPlan::files() const {
  std::set<std::string> all;
  const auto add = [&](const TensorFiles& files) {
    for (const auto& [tensor, file] : files) all.insert(file);
  };
  for (const Golden& golden : goldens) {
    add(golden.inputs);
    add(golden.outputs);
  }
  for (const AccuracyMetric& metric : metrics) {
    add(metric.inputs);
    all.insert(metric.labels);
  }
  return {all.begin(), all.end()};
}

Result<CheckPlan> parseCheckPlan(std::string_view text) {
  if (text.size() > kMaxCheckPlanBytes) return fail(Code::kInvalidArgument, "the check plan is over 1 MiB");
  KILN_ASSIGN(const Json json, parseStrictJson(text));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, ""));
  CheckPlan plan;
  KILN_ASSIGN(plan.goldens, readEntries(reader, "goldens", readGolden));
  KILN_ASSIGN(plan.metrics, readEntries(reader, "metrics", readMetric));
  if (reader.has("limits")) {
    KILN_ASSIGN(ObjectReader limits, reader.object("limits"));
    KILN_ASSIGN(plan.limits, readLimits(std::move(limits)));
  }
  if (reader.has("runs")) {
    KILN_ASSIGN(const std::int64_t runs, reader.integer("runs", 1, 1000));
    plan.runs = static_cast<int>(runs);
  }
  KILN_TRY(reader.finish());
  return plan;
}

}  // namespace kiln::runtime
