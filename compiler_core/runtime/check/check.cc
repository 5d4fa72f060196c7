#include "compiler_core/runtime/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "compiler_core/runtime/batch/batch.h"
#include "compiler_core/runtime/runtime.h"
#include "compiler_core/runtime/session/artifact.h"
#include "compiler_core/runtime/session/fixtures.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace kiln::runtime {
namespace {

using Tensors = std::vector<NamedTensor>;

constexpr std::size_t kMaxNodeText = 512;

double seconds(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-9;
}

const npy::Tensor* find(const Tensors& tensors, const std::string& name) {
  const auto it = std::find_if(tensors.begin(), tensors.end(), [&](const auto& t) { return t.name == name; });
  return it == tensors.end() ? nullptr : &it->tensor;
}

// Names the entry of the plan at which a check could not be made.
auto in(const std::string& kind, const std::string& name) {
  return [place = kind + " \"" + name + "\""](const Error& error) -> Status { return fail(error.in(place)); };
}

class Check {
 public:
  Check(const std::string& directory, const Artifact& artifact, Session& session, const CheckPlan& plan,
        const std::string& planDirectory)
      : directory_(directory),
        planDirectory_(planDirectory),
        specs_(artifact.inputs()),
        outputSpecs_(artifact.outputs()),
        session_(session),
        plan_(plan) {}

  Result<CheckReport> run() {
    KILN_TRY(warmup());
    KILN_TRY(fixtures());
    const std::uint64_t ofFixtures = session_.counters().out_of_range_indices;
    for (const Golden& golden : plan_.goldens)
      KILN_TRY(compareGolden(golden).or_else(in("golden", golden.name)));
    for (const AccuracyMetric& metric : plan_.metrics)
      KILN_TRY(score(metric).or_else(in("metric", metric.name)));
    indices(ofFixtures);
    KILN_TRY(steady());
    counters();
    limits();
    return std::move(report_);
  }

 private:
  void add(std::string kind, std::string name, bool passed, std::string detail,
           std::map<std::string, double> measured = {}) {
    std::erase_if(measured, [](const auto& one) { return !std::isfinite(one.second); });
    report_.items.push_back(
        {std::move(kind), std::move(name), passed, std::move(detail), std::move(measured)});
  }

  // Results that differ are found again, one by one, by fixtures().
  Status warmup() {
    const Status warm = session_.warmup();
    return warm || errorClass(warm.error().code) == KILN_NUMERICAL_CHECK_FAILED ? Status() : warm;
  }

  Status fixtures() {
    KILN_ASSIGN(const std::string text, readDocument(directory_ + "/manifest.json"));
    KILN_ASSIGN(const Json json, parseCanonicalJson(text));
    KILN_ASSIGN(const Manifest manifest, Manifest::fromJson(json));
    KILN_ASSIGN(const FixtureList list, readFixtureList(directory_, manifest));
    for (const FixtureProfile& profile : list.profiles) {
      Tensors inputs;
      for (std::size_t i = 0; i < profile.inputs.size(); ++i) {
        KILN_ASSIGN(npy::Tensor tensor, readFixture(directory_, profile.inputs[i], manifest.inputs[i].dtype));
        inputs.push_back({manifest.inputs[i].name, std::move(tensor)});
      }
      KILN_ASSIGN(const Tensors outputs, session_.run(inputs));
      for (std::size_t i = 0; i < profile.outputs.size(); ++i) {
        KILN_ASSIGN(const npy::Tensor expected,
                    readFixture(directory_, profile.outputs[i], manifest.outputs[i].dtype));
        KILN_TRY(compareOne("fixture", "profile " + profile.name, manifest.outputs[i].name, outputs, expected,
                            {list.relativeTolerance, profile.absoluteTolerances[i]}));
      }
      if (steadyInputs_.empty()) steadyInputs_ = std::move(inputs);
    }
    return {};
  }

  Status compareOne(const char* kind, const std::string& of, const std::string& output,
                    const Tensors& outputs, const npy::Tensor& expected, Tolerance tolerance) {
    const npy::Tensor* got = find(outputs, output);
    if (!got) return fail(Code::kInvalidArgument, "the artifact has no output \"" + output + "\"");
    const std::string name = of + ": " + output;
    if (got->dtype != expected.dtype || got->shape != expected.shape) {
      add(kind, name, false,
          "expected " + describe(expected.dtype, expected.shape) + ", got " +
              describe(got->dtype, got->shape));
      return {};
    }
    KILN_ASSIGN(const Comparison comparison,
                compare(got->dtype, got->data, expected.data, toleranceFor(got->dtype, tolerance)));
    add(kind, name, comparison.passed(),
        comparison.passed() ? fmt::format("{} elements, largest error {:.3g} absolute, {:.3g} relative, "
                                          "root mean square {:.3g} of the values'",
                                          comparison.elements, comparison.maxAbsolute, comparison.maxRelative,
                                          comparison.rmsRelative)
                            : comparison.text(),
        {{"maxAbsolute", comparison.maxAbsolute},
         {"maxRelative", comparison.maxRelative},
         {"rmsRelative", comparison.rmsRelative}});
    return {};
  }

  // `specs` tells the types; tensors of another name are refused where they are used.
  Result<Tensors> readTensors(const TensorFiles& files, const std::vector<TensorSpec>& specs) {
    Tensors tensors;
    for (const auto& [name, file] : files) {
      const auto spec =
          std::find_if(specs.begin(), specs.end(), [&](const TensorSpec& one) { return one.name == name; });
      const auto dtype = spec == specs.end() ? std::nullopt : std::optional(spec->dtype);
      KILN_ASSIGN(npy::Tensor tensor, npy::read(planDirectory_ + "/" + file, dtype));
      tensors.push_back({name, std::move(tensor)});
    }
    return tensors;
  }

  Status compareGolden(const Golden& golden) {
    KILN_ASSIGN(const Tensors inputs, readTensors(golden.inputs, specs_));
    KILN_ASSIGN(const Tensors expected, readTensors(golden.outputs, outputSpecs_));
    KILN_ASSIGN(const Tensors outputs, session_.run(inputs));
    for (const NamedTensor& output : expected)
      KILN_TRY(compareOne("golden", golden.name, output.name, outputs, output.tensor, golden.tolerance));
    return {};
  }

  Status score(const AccuracyMetric& metric) {
    KILN_ASSIGN(const Tensors inputs, readTensors(metric.inputs, specs_));
    KILN_ASSIGN(const npy::Tensor labelTensor, npy::read(planDirectory_ + "/" + metric.labels));
    KILN_ASSIGN(const auto labels, labelsOf(labelTensor));
    std::size_t correct = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      Tensors one;
      for (const NamedTensor& input : inputs) {
        const auto spec =
            std::find_if(specs_.begin(), specs_.end(), [&](const auto& s) { return s.name == input.name; });
        if (spec == specs_.end())
          return fail(Code::kInvalidArgument, "the artifact has no input \"" + input.name + "\"");
        KILN_ASSIGN(const std::size_t count, countEach(*spec, input.tensor));
        if (count != labels.size())
          return fail(Code::kInvalidArgument,
                      fmt::format("input \"{}\" holds {} elements, there are {} labels", input.name, count,
                                  labels.size()));
        one.push_back({input.name, elementOf(*spec, input.tensor, i)});
      }
      KILN_ASSIGN(const Tensors outputs, session_.run(one));
      const npy::Tensor* output = find(outputs, metric.output);
      if (!output)
        return fail(Code::kInvalidArgument, "the artifact has no output \"" + metric.output + "\"");
      KILN_ASSIGN(const auto predicted, predictions(*output));
      if (predicted.size() != 1)
        return fail(Code::kInvalidArgument,
                    fmt::format("output \"{}\" makes {} predictions per element, not one", metric.output,
                                predicted.size()));
      correct += predicted.front() == labels[i];
    }
    if (labels.empty()) return fail(Code::kInvalidArgument, "there are no labels");
    const double accuracy = static_cast<double>(correct) / static_cast<double>(labels.size());
    add("metric", metric.name, accuracy >= metric.threshold,
        fmt::format("accuracy {}/{} = {:.4f}, at least {:.4f} wanted", correct, labels.size(), accuracy,
                    metric.threshold),
        {{"accuracy", accuracy}});
    return {};
  }

  // The inputs of fixtures are random, so that theirs are told only; what a user gives has to be in range.
  void indices(std::uint64_t ofFixtures) {
    const auto checks = session_.indexChecks();
    if (checks.empty()) return;
    const std::uint64_t given = session_.counters().out_of_range_indices - ofFixtures;
    std::string detail = fmt::format("{} outside in goldens and metrics, {} in fixtures", given, ofFixtures);
    std::string nodes;
    for (const kiln_index_check& check : checks)
      if (check.out_of_range != 0)
        nodes += fmt::format("{}\"{}\": {}", nodes.empty() ? "" : ", ", check.node, check.out_of_range);
    if (nodes.size() > kMaxNodeText) nodes = fmt::format("{} nodes", checks.size());
    if (!nodes.empty()) detail += fmt::format(" (at {})", nodes);
    add("indices", "within their dimensions", given == 0, std::move(detail));
  }

  Status steady() {
    std::vector<double> times;
    for (int i = 0; i < plan_.runs; ++i) {
      const auto start = std::chrono::steady_clock::now();
      KILN_TRY(session_.run(steadyInputs_));
      times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::sort(times.begin(), times.end());
    report_.steady = {plan_.runs, times.front(), times[times.size() / 2], times[times.size() * 9 / 10]};
    return {};
  }

  void counters() {
    const kiln_counters counters = session_.counters();
    report_.loadSeconds = seconds(counters.load_nanoseconds);
    report_.warmupSeconds = seconds(counters.warmup_nanoseconds);
    report_.firstRunSeconds = seconds(counters.first_run_nanoseconds);
    report_.plannedBytes = counters.planned_bytes;
    report_.observedPeakBytes = counters.observed_peak_bytes;
    report_.weightBytes = counters.weight_bytes;
    report_.threads = counters.threads;
    report_.path = counters.path;
    report_.processor = processorName();
    report_.emulated = isEmulated() || counters.device_emulated != 0;
    if (counters.device_name != nullptr) {
      report_.device = CheckedDevice{
          counters.device_api,
          counters.device_name,
          counters.device_api_version,
          std::to_string(counters.device_compute_major) + "." + std::to_string(counters.device_compute_minor),
          counters.device_type,
          counters.device_driver,
          counters.device_conformance,
          counters.device_planned_bytes,
          counters.device_observed_bytes,
          counters.device_transfer_bytes,
          counters.replayed_runs};
    }
    add("memory", "observed peak within the plan", counters.observed_peak_bytes <= counters.planned_bytes,
        fmt::format("{} of {} bytes", counters.observed_peak_bytes, counters.planned_bytes));
  }

  void limits() {
    const auto below = [&](const char* name, const std::optional<double>& limit, double value) {
      if (limit)
        add("limit", name, value <= *limit, fmt::format("{:.6f} s, at most {:.6f} s wanted", value, *limit));
    };
    below("load time", plan_.limits.loadSeconds, report_.loadSeconds);
    below("warmup time", plan_.limits.warmupSeconds, report_.warmupSeconds);
    below("first run", plan_.limits.firstRunSeconds, report_.firstRunSeconds);
    below("steady latency, median", plan_.limits.steadySeconds, report_.steady.median);
    if (const auto limit = plan_.limits.peakBytes)
      add("limit", "observed peak", report_.observedPeakBytes <= *limit,
          fmt::format("{} bytes, at most {} wanted", report_.observedPeakBytes, *limit));
  }

  const std::string& directory_;
  const std::string& planDirectory_;
  const std::vector<TensorSpec> specs_, outputSpecs_;
  Session& session_;
  const CheckPlan& plan_;
  CheckReport report_;
  Tensors steadyInputs_;
};

}  // namespace

bool isEmulated() {
#if defined(__x86_64__)
  // What QEMU says where it translates code rather than let the processor run it.
  constexpr char kTranslator[] = "TCGTCGTCGTCG";
  unsigned eax = 0, text[3] = {}, ecx = 0, edx = 0;
  constexpr unsigned kHypervisor = 1u << 31;
  if (!__get_cpuid(1, &eax, &text[0], &ecx, &edx) || (ecx & kHypervisor) == 0) return false;
  __cpuid(0x40000000, eax, text[0], text[1], text[2]);
  return std::memcmp(text, kTranslator, sizeof text) == 0;
#else
  return false;
#endif
}

std::string processorName() {
#if defined(__x86_64__)
  unsigned words[12] = {};
  if (__get_cpuid_max(0x80000000, nullptr) < 0x80000004) return {};
  for (unsigned i = 0; i < 3; ++i)
    __cpuid(0x80000002 + i, words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]);
  char text[sizeof words + 1] = {};
  std::memcpy(text, words, sizeof words);
  std::string name(text);
  name.erase(0, name.find_first_not_of(' '));
  name.erase(name.find_last_not_of(' ') + 1);
  return name;
#else
  return {};
#endif
}

Result<CheckReport> check(const std::string& artifact, const CheckPlan& plan,
                          const std::string& planDirectory, kiln_session_options options) {
  KILN_ASSIGN(const Artifact opened, Artifact::open(artifact));
  options.run_before_ready = 1;
  KILN_ASSIGN(Session session, Session::open(opened, options));
  return Check(artifact, opened, session, plan, planDirectory).run();
}

}  // namespace kiln::runtime
