#include "manifest/tuning/record.h"

#include <algorithm>
#include <array>
#include <limits>

#include "manifest/base/printable.h"
#include "manifest/tuning/schedule_json.h"

namespace kiln {
namespace {

using State = TuningCandidate::State;

constexpr std::size_t kMaxCandidates = 4096, kMaxFeatures = 256, kMaxCaches = 8, kMaxText = 256,
                      kMaxToleranceText = 16;
constexpr std::uint64_t kMaxNanoseconds = std::uint64_t{1} << 50;  // 13 days
constexpr std::string_view kEvents = "events";
constexpr std::int64_t kMaxCount = std::numeric_limits<std::int32_t>::max();

constexpr std::array<std::pair<State, std::string_view>, 4> kStates{{{State::kFinalist, "finalist"},
                                                                     {State::kMeasured, "measured"},
                                                                     {State::kWrong, "wrong"},
                                                                     {State::kFailed, "failed"}}};

bool wasMeasured(State state) {
  return state == State::kFinalist || state == State::kMeasured;
}

Json methodJson(const TuningMethod& method) {
  Json json{{"threads", method.threads},
            {"warmups", method.warmups},
            {"repetitions", method.repetitions},
            {"rounds", method.rounds},
            {"budgetSeconds", method.budgetSeconds},
            {"statistic", "median"},
            {"seed", std::to_string(method.seed)}};
  if (!method.tolerance.empty()) json["tolerance"] = method.tolerance;
  if (method.byEvents) json["timer"] = kEvents;
  return json;
}

Result<std::uint32_t> readCount(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(const std::int64_t value, reader.integer(name, 0, kMaxCount));
  return static_cast<std::uint32_t>(value);
}

Result<TuningMethod> readMethod(ObjectReader reader) {
  TuningMethod method;
  KILN_ASSIGN(method.threads, readCount(reader, "threads"));
  KILN_ASSIGN(method.warmups, readCount(reader, "warmups"));
  KILN_ASSIGN(method.repetitions, readCount(reader, "repetitions"));
  KILN_ASSIGN(method.rounds, readCount(reader, "rounds"));
  KILN_ASSIGN(method.budgetSeconds, readCount(reader, "budgetSeconds"));
  KILN_TRY(reader.expect("statistic", "median"));
  KILN_ASSIGN(method.seed, reader.unsigned64("seed"));
  if (reader.has("tolerance")) {
    KILN_ASSIGN(method.tolerance, reader.string("tolerance"));
    KILN_ASSIGN(const double value, reader.decimal("tolerance"));
    if (value <= 0 || value >= 1 || method.tolerance.size() > kMaxToleranceText)
      return badMember(reader.path("tolerance"), "must be a short fraction between 0 and 1");
  }
  method.byEvents = reader.has("timer");
  if (method.byEvents) KILN_TRY(reader.expect("timer", kEvents));
  KILN_TRY(reader.finish());
  return method;
}

Json deviceJson(const TuningDevice& device) {
  Json caches = Json::array();
  for (const std::uint64_t bytes : device.caches) caches.push_back(std::to_string(bytes));
  return {{"kind", device.kind},
          {"name", device.name},
          {"features", device.features},
          {"cores", device.cores},
          {"caches", std::move(caches)}};
}

Result<TuningDevice> readDevice(ObjectReader reader) {
  TuningDevice device;
  KILN_ASSIGN(device.kind, reader.string("kind"));
  constexpr const char* kKinds[] = {"cpu", "cuda", "vulkan", "emulated"};
  if (std::ranges::find(kKinds, device.kind) == std::end(kKinds))
    return badMember(reader.path("kind"), "must be cpu, cuda, vulkan or emulated");
  KILN_ASSIGN(device.name, reader.string("name"));
  if (device.name.size() > kMaxText) return badMember(reader.path("name"), "longer than 256 bytes");
  KILN_ASSIGN(device.features, reader.strings("features"));
  if (device.features.size() > kMaxFeatures || !std::ranges::is_sorted(device.features))
    return badMember(reader.path("features"), "must be at most 256 names, sorted");
  KILN_ASSIGN(device.cores, readCount(reader, "cores"));
  KILN_ASSIGN(const std::vector<std::string> caches, reader.strings("caches"));
  if (caches.size() > kMaxCaches) return badMember(reader.path("caches"), "more than 8");
  for (const std::string& bytes : caches) {
    const auto size = parseDecimal(bytes);
    if (!size) return badMember(reader.path("caches"), size.error().message);
    device.caches.push_back(*size);
  }
  KILN_TRY(reader.finish());
  return device;
}

Json candidateJson(const TuningCandidate& candidate) {
  const auto* state = std::ranges::find(kStates, candidate.state, &std::pair<State, std::string_view>::first);
  Json json{{"schedule", scheduleJson(candidate.schedule)}, {"state", state->second}};
  if (!wasMeasured(candidate.state)) return json;
  json["medianNanoseconds"] = std::to_string(candidate.medianNanoseconds);
  json["spreadNanoseconds"] = std::to_string(candidate.spreadNanoseconds);
  json["samples"] = candidate.samples;
  return json;
}

Result<std::uint64_t> readNanoseconds(ObjectReader& reader, std::string_view name) {
  KILN_ASSIGN(const std::uint64_t value, reader.unsigned64(name));
  if (value > kMaxNanoseconds) return badMember(reader.path(name), "longer than 13 days");
  return value;
}

Result<TuningCandidate> readCandidate(ObjectReader reader) {
  TuningCandidate candidate;
  KILN_ASSIGN(candidate.schedule, readSchedule(reader, "schedule"));
  KILN_ASSIGN(const std::string state, reader.string("state"));
  const auto* known = std::ranges::find(kStates, state, &std::pair<State, std::string_view>::second);
  if (known == kStates.end())
    return badMember(reader.path("state"), "must be finalist, measured, wrong or failed");
  candidate.state = known->first;
  if (wasMeasured(candidate.state)) {
    KILN_ASSIGN(candidate.medianNanoseconds, readNanoseconds(reader, "medianNanoseconds"));
    KILN_ASSIGN(candidate.spreadNanoseconds, readNanoseconds(reader, "spreadNanoseconds"));
    KILN_ASSIGN(candidate.samples, readCount(reader, "samples"));
    if (candidate.samples == 0 || candidate.medianNanoseconds == 0)
      return badMember(reader.path("samples"), "a measured candidate has samples and a median");
  }
  KILN_TRY(reader.finish());
  return candidate;
}

Json kernelJson(const TunedKernel& kernel) {
  Json candidates = Json::array();
  for (const TuningCandidate& candidate : kernel.candidates) candidates.push_back(candidateJson(candidate));
  const TuningChoice choice = choose(kernel);
  return {{"signature", kernel.signature},
          {"template", kernel.templateName},
          {"candidates", std::move(candidates)},
          {"chosen", choice.candidate},
          {"reason", reasonText(choice.reason)}};
}

Result<TunedKernel> readKernel(ObjectReader reader) {
  TunedKernel kernel;
  KILN_ASSIGN(kernel.signature, readHash(reader, "signature"));
  KILN_ASSIGN(kernel.templateName, readTemplate(reader));
  KILN_ASSIGN(const Json* candidates, reader.array("candidates"));
  if (candidates->empty() || candidates->size() > kMaxCandidates)
    return badMember(reader.path("candidates"), "must be 1 to 4096");
  std::set<Schedule> seen;
  for (const Json& json : *candidates) {
    const std::string place =
        reader.path("candidates") + "[" + std::to_string(kernel.candidates.size()) + "]";
    KILN_ASSIGN(ObjectReader member, ObjectReader::open(json, place));
    KILN_ASSIGN(TuningCandidate candidate, readCandidate(std::move(member)));
    if (!seen.insert(candidate.schedule).second) return badMember(place + ".schedule", "stands there twice");
    kernel.candidates.push_back(std::move(candidate));
  }
  KILN_ASSIGN(const std::int64_t chosen, reader.integer("chosen", 0, kMaxCandidates));
  KILN_ASSIGN(const std::string reason, reader.string("reason"));
  KILN_TRY(reader.finish());
  const TuningChoice choice = choose(kernel);
  if (static_cast<std::size_t>(chosen) != choice.candidate || reason != reasonText(choice.reason))
    return badMember(reader.path("chosen"), "the figures of " + kernel.signature + " say candidate " +
                                                std::to_string(choice.candidate) + ", " +
                                                std::string(reasonText(choice.reason)) +
                                                ": a figure or the choice was changed");
  return kernel;
}

tl::unexpected<Error> bad(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

}  // namespace

Json TuningRecord::toJson() const {
  Json list = Json::array();
  for (const TunedKernel& kernel : kernels) list.push_back(kernelJson(kernel));
  return {{"apiVersion", "kiln/v1"},      {"kind", "TuningRecord"},       {"target", target},
          {"method", methodJson(method)}, {"device", deviceJson(device)}, {"kernels", std::move(list)}};
}

Result<TuningRecord> TuningRecord::fromJson(const Json& json) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "record"));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "TuningRecord"));
  TuningRecord record;
  KILN_ASSIGN(record.target, reader.string("target"));
  KILN_ASSIGN(ObjectReader method, reader.object("method"));
  KILN_ASSIGN(record.method, readMethod(std::move(method)));
  KILN_ASSIGN(ObjectReader device, reader.object("device"));
  KILN_ASSIGN(record.device, readDevice(std::move(device)));
  KILN_ASSIGN(const Json* kernels, reader.array("kernels"));
  if (kernels->size() > kMaxPlannedKernels) return badMember(reader.path("kernels"), "more than 65536");
  for (const Json& one : *kernels) {
    const std::string place = reader.path("kernels") + "[" + std::to_string(record.kernels.size()) + "]";
    KILN_ASSIGN(ObjectReader member, ObjectReader::open(one, place));
    KILN_ASSIGN(TunedKernel kernel, readKernel(std::move(member)));
    if (!record.kernels.empty() && kernel.signature <= record.kernels.back().signature)
      return badMember(place + ".signature", "must come after the signature before it");
    record.kernels.push_back(std::move(kernel));
  }
  KILN_TRY(reader.finish());
  return record;
}

Status checkRecord(const TuningRecord& record, const KernelPlan& plan) {
  if (record.target != plan.target)
    return bad("the tuning record is for " + printable(record.target, 100) + ", the program is for " +
               plan.target);
  for (const TunedKernel& kernel : record.kernels) {
    const PlannedKernel* planned = plan.find(kernel.signature);
    if (!planned)
      return bad("the tuning record has kernel " + kernel.signature + ", which the program does not have");
    if (planned->templateName != kernel.templateName)
      return bad("the tuning record says that kernel " + kernel.signature + " is of template " +
                 kernel.templateName + "; it is of " + planned->templateName);
    if (planned->schedule != kernel.candidates.front().schedule)
      return bad("the tuning record of kernel " + kernel.signature +
                 " does not begin with its default schedule (" + text(planned->schedule) + ")");
    for (const TuningCandidate& candidate : kernel.candidates)
      if (const Status good = checkKnobs(candidate.schedule, *planned); !good)
        return fail(good.error().in("the tuning record"));
  }
  return {};
}

std::uint64_t fasterKernels(const TuningRecord& record) {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      record.kernels, [](const TunedKernel& kernel) { return choose(kernel).candidate != 0; }));
}

TuningEntries entriesOf(const TuningRecord& record) {
  TuningEntries out{record.target, {}};
  if (record.device.kind == "emulated") return out;
  for (const TunedKernel& kernel : record.kernels)
    if (const TuningChoice choice = choose(kernel); choice.candidate != 0)
      out.entries.push_back(
          {kernel.signature, kernel.templateName, kernel.candidates[choice.candidate].schedule});
  return out;
}

}  // namespace kiln
