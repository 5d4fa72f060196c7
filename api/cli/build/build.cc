#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "api/cli/base/print.h"
#include "api/cli/base/progress.h"
#include "api/cli/base/trust_settings.h"
#include "api/cli/build/build_options.h"
#include "api/cli/build/build_trace.h"
#include "api/cli/build/check_files.h"
#include "api/cli/build/commands.h"
#include "api/cli/build/given_names.h"
#include "api/cli/build/interrupt.h"
#include "api/cli/build/model_source.h"
#include "api/cli/view/job_view.h"
#include "api/client/built_artifact.h"
#include "api/client/trusted_artifact.h"
#include "compiler_core/frontend/folder/model_folder.h"
#include "compiler_core/frontend/format/format.h"
#include "compiler_core/frontend/parameters/expand.h"
#include "manifest/base/mapped_file.h"
#include "manifest/spec/profile_option.h"
#include "manifest/spec/target.h"
#include "storage/source/git_reference.h"

namespace kiln::cli {
namespace {

constexpr std::uint64_t kMaxBudgetBytes = std::uint64_t{1} << 53;

struct Options {
  std::string model, toolchain;
  std::vector<std::string> data, parameters, targets, profiles, pins, sequences;
  std::string tune = "off", budget, precision = Numerics().precision,
              reassociation = Numerics().reassociation;
  PartitionOptionTexts partition;
  std::uint64_t maxArtifactBytes = 0, maxPlannedBytes = 0;
  DeliverySpec delivery;
  std::string checkPlan, deadline;
  std::uint32_t maxWorkerSeconds = 0;
  bool check = false, checkEmulated = false, detach = false;
  std::string traces;
};

Result<v1::SubmitJobRequest> makeRequest(const Options& options,
                                         const std::vector<parameters::TensorFile>& parameters,
                                         std::optional<CheckRequest> check) {
  for (const auto& target : options.targets) KILN_TRY(checkTarget(target));
  KILN_ASSIGN(auto profiles, parseProfiles(options.profiles));
  CompileSpec spec;
  spec.profiles = std::move(profiles);
  spec.numerics.precision = options.precision;
  spec.numerics.reassociation = options.reassociation;
  spec.fallback = options.partition.fallback;
  KILN_ASSIGN(spec.partition, parseRules(options.partition));
  for (const auto& target : options.targets) KILN_TRY(checkRules(spec.partition, targetNames(target)));
  spec.maxArtifactBytes = options.maxArtifactBytes;
  spec.maxPlannedBytes = options.maxPlannedBytes;
  for (const auto& pin : options.pins) KILN_TRY(addPin(pin, spec.pins));
  for (const auto& sequence : options.sequences) KILN_TRY(addComposite(sequence, spec.sequences));
  for (const parameters::TensorFile& file : parameters) spec.parameters.push_back(file.path);
  v1::SubmitJobRequest request;
  KILN_ASSIGN(*request.mutable_idempotency_key(), newIdempotencyKey());
  KILN_ASSIGN(*request.mutable_spec_json(), toCanonicalJson(submittedToJson(spec)));
  DeliverySpec delivery = options.delivery;
  delivery.builders = std::max(delivery.builders, delivery.operators);
  if (delivery.majority && delivery.builders < 3)
    return fail(Code::kInvalidArgument, "--majority: of whom? It needs --builders 3 or more");
  if (options.checkEmulated && std::ranges::none_of(options.targets, isForDevice))
    return fail(Code::kInvalidArgument,
                "--check-emulated: no target runs on a device (cuda:*); --check does without one");
  KILN_TRY(readDeadline(options.deadline, delivery));
  if (options.maxWorkerSeconds > 0) delivery.maxWorkerSeconds = options.maxWorkerSeconds;
  delivery.check = std::move(check);
  KILN_ASSIGN(delivery.tuning, tuningOf(options.tune, options.budget, options.targets));
  // A search of that length must fit in.
  if (delivery.tuning && delivery.tuning->search)
    delivery.timeLimitSeconds = std::max(delivery.timeLimitSeconds, 2 * delivery.tuning->budgetSeconds);
  KILN_ASSIGN(*request.mutable_delivery_json(), toCanonicalJson(delivery.toJson()));
  KILN_TRY(DeliverySpec::fromJson(delivery.toJson()));
  for (const auto& target : options.targets) request.add_targets(target);
  request.set_toolchain(options.toolchain);
  return request;
}

// A folder as the model in it, with the weights beside it where none are named. Says what the file is taken
// for.
Status locateModel(const Context& context, Options& options) {
  if (source::isGitReference(options.model)) return {};
  KILN_ASSIGN(frontend::FolderModel found, frontend::modelAt(options.model));
  options.model = std::move(found.model);
  if (options.parameters.empty()) options.parameters = std::move(found.parameters);
  const auto file = MappedFile::open(options.model);
  if (!file) return {};  // whoever reads it says why
  const std::string_view format = frontend::formatName(frontend::formatOf((*file)->bytes()));
  if (!context.json)
    note(fmt::format("model {}: {}", options.model, format) +
         (options.parameters.empty() ? ""
                                     : fmt::format(", parameters {}", fmt::join(options.parameters, ", "))));
  return {};
}

// By what the farm calls them.
std::map<std::string, std::string> givenNames(const Options& options,
                                              const std::vector<parameters::TensorFile>& parameters) {
  std::map<std::string, std::string> names{{"model.onnx", options.model}, {"model.mlir", options.model}};
  for (const parameters::TensorFile& file : parameters) names[file.path] = file.file;
  return names;
}

Status run(const Context& context, const Options& given) {
  Options options = given;
  KILN_TRY(locateModel(context, options));
  KILN_ASSIGN(const auto parameters, parameters::expandParameters(options.parameters));
  KILN_TRY(makeRequest(options, parameters, {}));  // a mistake is told before anything is uploaded
  KILN_ASSIGN(const auto trace, BuildTrace::begin(options.traces));
  KILN_ASSIGN(const auto trust, namedTrust(context));
  Interrupt interrupt("nothing was submitted; what was uploaded is not sent again");
  Progress progress(context.terminal, context.json);
  KILN_ASSIGN(const auto client, context.connect(&progress));
  if (!options.toolchain.empty()) KILN_TRY(client->toolchain(options.toolchain));  // before the model is sent
  std::optional<CheckRequest> check;
  if (options.check || options.checkEmulated || !options.checkPlan.empty()) {
    KILN_ASSIGN(check, uploadCheck(*client, options.checkPlan));
    check->emulated = options.checkEmulated;
  }
  KILN_ASSIGN(auto request, makeRequest(options, parameters, std::move(check)));
  KILN_TRY(
      addModel(*client, {options.model, options.data, parameters, !context.json, context.terminal}, request));
  interrupt.submits();
  KILN_ASSIGN(auto job, client->submit(request, trace->submits()));
  trace->submitted();
  interrupt.follows(job.id());
  if (options.detach) {
    if (context.json)
      printJson({{"job", job.id()}});
    else
      printLine("job " + job.id());
    return {};
  }
  if (client::hasEnded(job)) {
    progress.show(job);
  } else {
    auto ended = client->watch(job.id(), [&](const v1::Job& now) -> Status {
      progress.show(now);
      return {};
    });
    if (!ended) {
      auto error = std::move(ended).error();
      error.message += "; job " + job.id() + " is kept by the farm: kiln watch " + job.id();
      return fail(std::move(error));
    }
    job = std::move(*ended);
  }
  if (Status done = jobOutcome(job); !done) {
    Error error = std::move(done).error();
    error.message = asGiven(error.message, givenNames(options, parameters));
    return fail(std::move(error));
  }
  KILN_TRY(client::checkBuilt(*client, request, job));
  if (trust) KILN_TRY(client::checkTrusted(*client, request.toolchain(), job, *trust, SystemClock()));
  if (context.json) {
    printJson(jobJson(job));
    return {};
  }
  for (const auto& artifact : job.artifacts()) {
    std::string builders;
    for (const auto& builder : artifact.builders()) builders += (builders.empty() ? "" : ", ") + builder;
    note(fmt::format("{} {} by {}{}", artifact.target(), artifact.cached() ? "built before" : "built",
                     builders, artifact.check().empty() ? "" : ", check " + artifact.check()));
  }
  for (const auto& artifact : job.artifacts()) printLine("artifact " + artifact.digest());
  return {};
}

void addPartitionOptions(CLI::App& command, PartitionOptionTexts& texts) {
  command
      .add_option("--affinity", texts.affinities,
                  "PATTERN=TARGET: nodes that go to one of A,B, by name or op:OPERATOR, with * (repeatable)")
      ->allow_extra_args(false);
  command
      .add_option("--exclude", texts.exclusions,
                  "PATTERN=TARGET: nodes that a target must not get (repeatable)")
      ->allow_extra_args(false);
  command.add_option("--fallback", texts.fallback,
                     "fail: nothing runs elsewhere than asked; cpu: what a target cannot serve goes to the "
                     "last CPU target, cpu:x86-64-v3 where only a GPU is named, and the manifest says so");
  command
      .add_option("--fallback-allow", texts.fallbackOperators,
                  "Operator that may fall back (repeatable; default: any)")
      ->allow_extra_args(false);
  command.add_option("--fallback-permille", texts.fallbackPermille,
                     "Most of the nodes that may fall back, in thousandths");
}

}  // namespace

void addBuild(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command = addCommand(app, context, "build", "Build a model: one signed artifact per target",
                             "kiln build model.onnx --target cpu:x86-64-v3 --profile N=1:1:1\n"
                             "  kiln build model.onnx --target cpu:x86-64-v4,cpu:x86-64-v3 --affinity "
                             "op:Softmax=cpu:x86-64-v3",
                             [&context, options] { return run(context, *options); });
  command
      .add_option("MODEL", options->model,
                  "A file, a folder with one model, or git+URL@COMMIT#path (file, https or ssh)")
      ->required();
  command
      .add_option("--data", options->data,
                  "[NAME=]FILE: external data beside what the model names in its own folder (repeatable)")
      ->allow_extra_args(false);
  command
      .add_option("--params", options->parameters,
                  "Tensors that take the place of inputs, by name or position: a safetensors, npz, npy or "
                  "GGUF file, or "
                  "a folder with model.safetensors (repeatable)")
      ->allow_extra_args(false);
  command
      .add_option(
          "--target", options->targets,
          "What to build for, such as cpu:x86-64-v3 (repeatable); A,B is one artifact partitioned over both")
      ->required()
      ->allow_extra_args(false);
  command.add_option("--toolchain", options->toolchain, "A label or sha256:<hex> (default: the farm's)");
  command.add_option("--pin", options->pins, "INPUT=VALUE,VALUE...: fixed value of an input (repeatable)")
      ->allow_extra_args(false);
  command
      .add_option(
          "--sequence", options->sequences,
          "INPUT=COUNT, INPUT=[DIM,...],... or INPUT=none: what an input of sequence or optional type holds "
          "(repeatable)")
      ->allow_extra_args(false);
  command
      .add_option(
          "--profile", options->profiles,
          "[PROFILE:]DIM=min:opt:max[:multiple][,DIM=...] for symbolic dimensions, from 1; all sizes are "
          "multiples of the fourth number, which lets models of many strides compile; DIM=SIZE is one size, "
          "where 0 is an empty dimension, such as a cache before its first run (repeatable)")
      ->allow_extra_args(false);
  command.add_option("--builders", options->delivery.builders, "Workers that must agree on every byte")
      ->check(CLI::Range(1, 16));
  command.add_option("--operators", options->delivery.operators, "Distinct operators among them")
      ->check(CLI::Range(1, 16));
  command.add_flag("--majority", options->delivery.majority,
                   "More than half of at least 3 builders decide; dissent is recorded");
  command
      .add_option(
          "--tune", options->tune,
          "Schedules of kernels: off, the compiler's defaults; reuse, what the farm has measured before; "
          "search, measure first, on a worker that does nothing else, what it has not (CPU targets)")
      ->check(CLI::IsMember({"off", "reuse", "search"}));
  command.add_option("--budget", options->budget, "Time for a search, per target: 60s (default), 10m");
  command
      .add_option("--precision", options->precision,
                  "f32; tf32: a GPU may round the factors of f32 products to 10 bits of mantissa; int8: "
                  "a processor may multiply dequantised bytes as integers")
      ->check(CLI::IsMember({"f32", "tf32", "int8"}));
  command
      .add_option(
          "--reassociation", options->reassociation,
          "deterministic (default): sums are added in the order that each kernel's schedule names, the same "
          "on every machine; off: in the model's order; on: in the model's, but for tuned schedules of a "
          "processor, which may name another")
      ->check(CLI::IsMember({"deterministic", "off", "on"}));
  addPartitionOptions(command, options->partition);
  command
      .add_option("--max-artifact-bytes", options->maxArtifactBytes,
                  "Budget: program and weights together; exit 4 beyond it")
      ->check(CLI::Range(std::uint64_t{1}, kMaxBudgetBytes));
  command
      .add_option("--max-planned-bytes", options->maxPlannedBytes,
                  "Budget: what the program plans to use while it runs; exit 4 beyond it")
      ->check(CLI::Range(std::uint64_t{1}, kMaxBudgetBytes));
  command.add_option("--deadline", options->deadline,
                     "30m or 2026-11-26T18:00:00Z: the job ends then if it is not done, with exit 7; exit 4 "
                     "where earlier builds of the model say that it cannot be");
  command
      .add_option("--max-worker-seconds", options->maxWorkerSeconds,
                  "Budget: what its runs take together, as earlier builds of the model say; exit 4 beyond it")
      ->check(CLI::Range(std::uint32_t{1}, std::uint32_t{1'000'000'000}));
  command.add_flag("--check", options->check,
                   "Check each artifact on a worker that runs its target; exit 10 if it fails");
  command.add_option("--check-plan", options->checkPlan,
                     "check.json with goldens, metrics and limits for the check; its files lie beside it");
  command.add_flag("--check-emulated", options->checkEmulated,
                   "Check what runs on a GPU on an emulated one instead, for tests: the statement says so, "
                   "and a production policy does not count it");
  command.add_flag("--no-cache", options->delivery.noCache, "Compile again even if the result is known");
  command.add_option("--traces", options->traces,
                     "URL of an OTLP receiver for this command's part of the job's trace, if the farm traces "
                     "the job (KILN_TRACES)");
  command.add_flag("--detach", options->detach, "Print the job and return");
  addFarmOptions(command, context, kRidesOut);
  addRootOptions(command, context);
}

}  // namespace kiln::cli
