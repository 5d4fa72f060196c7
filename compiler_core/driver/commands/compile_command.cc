// kiln-cc compile: a spec and a model to an artifact's files, evidence and manifest, within the spec's
// budgets.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iterator>

#include "compiler_core/driver/commands/command.h"
#include "compiler_core/driver/commands/evidence_json.h"
#include "compiler_core/driver/commands/toolchain.h"
#include "compiler_core/driver/commands/tuning_catalogue.h"
#include "compiler_core/driver/commands/tuning_documents.h"
#include "compiler_core/driver/pass_trace.h"
#include "compiler_core/ir/processor_time.h"
#include "compiler_core/package/files.h"
#include "manifest/artifact/document_limit.h"
#include "manifest/artifact/manifest.h"

namespace kiln::driver {
namespace {

// The spec and the file must be about the same model, or the manifest would lie.
Status checkModel(const CompileSpec& spec, const std::string& path) {
  KILN_ASSIGN(const Digest digest, digestOfFile(path));
  if (spec.files.empty() || digest != spec.files.front().digest)
    return fail(
        Code::kFailedPrecondition,
        fmt::format("{} is {}, but the spec is for {}; make a spec for this file with kiln-cc spec", path,
                    digest.text(), spec.files.empty() ? "no model" : spec.files.front().digest.text()));
  return {};
}

std::uint64_t artifactBytes(const CompileResult& result) {
  std::uint64_t total = result.program.size;
  for (const DeviceEvidence& device : result.devices) total += device.image.size;
  for (const auto& weight : result.weights) total += weight.digest.size;
  return total;
}

// On the processor and on devices.
std::uint64_t plannedBytes(const PlanEvidence& plan) {
  std::uint64_t total = plan.arenaBytes + plan.scratchBytes;
  for (const std::uint64_t bytes : plan.deviceArenaBytes) total += bytes;
  return total;
}

Status checkBudget(const char* what, const char* member, std::uint64_t used, std::uint64_t budget) {
  if (budget == 0 || used <= budget) return {};
  Error error{Code::kResourceExhausted,
              fmt::format("{} takes {} bytes, over the budget of {} ({})", what, used, budget, member),
              {}};
  error.details = fmt::format(R"({{"budget":"{}","limit":"{}","used":"{}"}})", member, budget, used);
  return fail(std::move(error));
}

Status writeCanonical(const std::string& path, const Json& json) {
  KILN_ASSIGN(const std::string text, toCanonicalJson(json));
  KILN_TRY(package::writeFile(path, asBytes(text)));
  return {};
}

// Nothing is written that a farm would not read.
Status writeBounded(const std::string& out, const std::string& name, const Json& json) {
  KILN_ASSIGN(const std::string text, toCanonicalJson(json));
  if (text.size() > kMaxCompileDocumentBytes)
    return fail(
        Code::kResourceExhausted,
        fmt::format("{} would have {} bytes, with every node and kernel by name; at most {} are served: "
                    "shorten the model's names, or compile it in parts",
                    name, text.size(), kMaxCompileDocumentBytes));
  KILN_TRY(package::writeFile(out + "/" + name, asBytes(text)));
  return {};
}

// passes.json:
// {"apiVersion","kind":"PassTrace","passes":[{"pass","scope","ir","functions":[{"name","ir"}]}]}. Never among
// the outputs: it says how they came to be.
Status writeTrace(const std::string& path, const PassTrace& trace) {
  Json passes = Json::array();
  for (const PassRecord& record : trace.records()) {
    Json functions = Json::array();
    for (const FunctionDigest& function : record.functions)
      functions.push_back({{"name", function.name}, {"ir", function.ir.text()}});
    passes.push_back({{"pass", record.pass},
                      {"scope", record.scope},
                      {"ir", record.ir.text()},
                      {"functions", std::move(functions)}});
  }
  return writeCanonical(path,
                        {{"apiVersion", "kiln/v1"}, {"kind", "PassTrace"}, {"passes", std::move(passes)}});
}

// Says on stderr which stage begins, and at the end what each took: on the clock, and of processors. What is
// neither (`rest` of the latter) is reading the spec, the model's digest and writing the documents. Measured,
// so never in the artifact.
class Progress {
 public:
  void begin(Stage stage) {
    end();
    name_ = stageName(stage);
    start_ = Clock::now();
    startOfWork_ = ir::processSeconds();
    fmt::print(stderr, "stage: {}\n", name_);
    std::fflush(stderr);
  }
  void finish() {
    end();
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const double all = ir::processSeconds();
    fmt::print(stderr, "time: {}, total {:.2f} s\nprocessor time: {}, rest {:.2f}, total {:.2f} s\n", times_,
               total_, work_, all - totalWork_, all);
    fmt::print(stderr, "peak memory: {} MiB\n", usage.ru_maxrss / 1024);
  }

 private:
  using Clock = std::chrono::steady_clock;
  void end() {
    if (name_.empty()) return;
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    const double work = ir::processSeconds() - startOfWork_;
    const std::string_view comma = times_.empty() ? "" : ", ";
    fmt::format_to(std::back_inserter(times_), "{}{} {:.2f}", comma, name_, seconds);
    fmt::format_to(std::back_inserter(work_), "{}{} {:.2f}", comma, name_, work);
    total_ += seconds;
    totalWork_ += work;
    name_.clear();
  }

  std::string name_, times_, work_;
  Clock::time_point start_;
  double startOfWork_ = 0, total_ = 0, totalWork_ = 0;
};

}  // namespace

Status writeDocuments(const CompileSpec& spec, const CompileResult& result, const std::string& out) {
  const Json evidence = evidenceJson(result);
  KILN_TRY(writeBounded(out, "evidence.json", evidence));
  KILN_ASSIGN(const Manifest manifest, makeManifest(spec, evidence));
  return writeBounded(out, "manifest.json", manifest.toJson());
}

tl::expected<CompileRequest, CommandError> requestFor(const ModelPaths& given, const CompileSpec& spec,
                                                      const std::string& toolchain) {
  const auto paths = locate(given);
  if (!paths) return tl::make_unexpected(paths.error());
  if (auto served = checkServed(spec); !served) return stop(served.error());
  auto target = parseTarget(spec.target);
  if (!target)
    return stop(target.error().code == Code::kUnimplemented ? kExitUnsupported : kExitUsage, target.error());
  if (auto known = checkRules(spec.partition, targetNames(spec.target)); !known)
    return stop(kExitUsage, known.error());
  if (targetNames(spec.target).size() > 1 && spec.features != target->features)
    return stop(kExitUsage,
                {Code::kInvalidArgument,
                 "target.features are not those of " + spec.target +
                     " in this toolchain; make a new spec, or take the toolchain that it was made for",
                 {}});
  if (auto same = checkModel(spec, paths->model); !same) return stop(same.error());
  auto parameters = parametersOf(spec, *paths);
  if (!parameters) return stop(parameters.error());
  auto lib = findToolchainLib(toolchain);
  if (!lib) return stop(kExitUsage, lib.error());
  if (!spec.features.empty()) target->features = spec.features;
  CompileRequest request = requestOf(spec, std::move(*target));
  request.model = paths->model;
  request.parameters = std::move(*parameters);
  request.toolchainLib = *lib;
  return request;
}

namespace {

// A spec that names tuning entries is compiled with those and no others.
CommandResult checkNamed(const CompileSpec& spec, const std::optional<TuningEntries>& given) {
  if (!spec.tuning) return {};
  const auto text = given ? toCanonicalJson(given->toJson()) : Result<std::string>(std::string());
  if (text && digestOf(*text) == *spec.tuning) return {};
  return stop(kExitUsage, {Code::kInvalidArgument,
                           fmt::format("the spec names tuning entries {}; give --tuning with that file",
                                       spec.tuning->text()),
                           {}});
}

}  // namespace

CommandResult compileCommand(const CompileArguments& arguments) {
  auto spec = readSpec(arguments.spec);
  if (!spec) return tl::make_unexpected(spec.error());
  auto request = requestFor(arguments.model, *spec, arguments.toolchain);
  if (!request) return tl::make_unexpected(request.error());
  for (const std::string& directory : {arguments.out, arguments.emitIr, arguments.emulation})
    if (!directory.empty())
      if (auto made = package::makeDirectory(directory); !made)
        return stop(exitCodeOf(made.error().code), made.error());

  std::optional<TuningEntries> tuning;
  if (!arguments.tuning.empty()) {
    auto entries = readEntries(arguments.tuning);
    if (!entries) return tl::make_unexpected(entries.error());
    auto schedules = schedulesOf(*entries, *spec);
    if (!schedules) return tl::make_unexpected(schedules.error());
    request->schedules = std::move(*schedules);
    tuning = std::move(*entries);
  } else if (arguments.catalogue) {
    if (auto taken = takeCatalogue(*request); !taken) return taken;
  }
  if (auto named = checkNamed(*spec, tuning); !named) return named;
  request->out = arguments.out;
  request->disabledPasses = arguments.disabledPasses;
  CompileObserver observer;
  observer.irDirectory = arguments.emitIr;
  observer.emulation = arguments.emulation;
  observer.jobs = arguments.jobs;
  Progress progress;
  observer.progress = [&](Stage stage) { progress.begin(stage); };
  if (arguments.timing)
    observer.onPass = [](std::string_view pass, double seconds) {
      fmt::print(stderr, "pass: {} {:.4f} s\n", pass, seconds);
    };
  PassTrace trace;
  if (!arguments.tracePasses.empty() || arguments.afterPass)
    observer.afterPass = [&](std::string_view pass, mlir::Operation& op) {
      if (arguments.afterPass) arguments.afterPass(pass, op);
      if (!arguments.tracePasses.empty()) trace.record(pass, op);
    };
  if (!arguments.tracePasses.empty())
    observer.onLlvmIr = [&](std::string_view text) { trace.recordLlvm(text); };
  auto result = compile(*request, observer);
  if (!result) return stop(result.error());
  for (const PlanEvidence& plan : result->plans)
    if (auto fits =
            checkBudget("the program's memory", "plannedBytes", plannedBytes(plan), spec->maxPlannedBytes);
        !fits)
      return stop(fits.error());
  if (auto fits =
          checkBudget("the artifact", "artifactBytes", artifactBytes(*result), spec->maxArtifactBytes);
      !fits)
    return stop(fits.error());
  if (auto written = writeDocuments(*spec, *result, arguments.out); !written)
    return stop(written.error().code == Code::kResourceExhausted ? kExitUnsupported
                                                                 : exitCodeOf(written.error().code),
                written.error());
  if (!arguments.tracePasses.empty())
    if (auto written = writeTrace(arguments.tracePasses, trace); !written)
      return stop(exitCodeOf(written.error().code), written.error());
  progress.finish();
  return {};
}

}  // namespace kiln::driver
