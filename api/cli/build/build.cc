#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "api/cli/base/print.h"
#include "api/cli/build/build_job.h"
#include "api/cli/build/commands.h"
#include "api/cli/build/project_build.h"
#include "api/cli/view/job_view.h"

namespace kiln::cli {
namespace {

constexpr std::uint64_t kMaxBudgetBytes = std::uint64_t{1} << 53;

// An option of one model that stands where none is named; "" for none.
std::string strayOption(const CLI::App& command) {
  std::vector<std::string> fit{"--help",       "--json",    "--locked", "--context",
                               "--trust-root", "--recalls", "--traces"};
  fit.insert(fit.end(), std::begin(kFarmOptions), std::end(kFarmOptions));
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0 && std::ranges::find(fit, option->get_name()) == fit.end())
      return option->get_name();
  return {};
}

Status runProject(const Context& context, bool locked, const CLI::App& command) {
  if (const std::string stray = strayOption(command); !stray.empty())
    return fail(Code::kInvalidArgument,
                stray + " goes with a MODEL; without one kiln.toml says how to build");
  return buildProject(context, {".", locked});
}

// Who needs no grant is told of none, and who asked for no signature of none.
Json withGrant(Json json, const BuiltJob& built) {
  if (!built.grant.empty()) json["grant"] = built.grant;
  if (!built.modelSignedBy.empty()) json["modelSignedBy"] = built.modelSignedBy;
  return json;
}

Status run(const Context& context, const BuildOptions& options) {
  if (options.targets.empty())
    return fail(Code::kInvalidArgument,
                "--target is missing: what to build for, such as cpu:x86-64-v3; see kiln build --help");
  KILN_TRY(checkSigners(options.modelSigners));
  if (!options.modelSignature.empty() && options.modelSigners.empty())
    return fail(Code::kInvalidArgument,
                "--model-signature goes with --model-signed-by, --model-certificate-root or "
                "--model-trusted-root");
  KILN_ASSIGN(const BuiltJob built, buildModel(context, options));
  const v1::Job& job = built.job;
  if (options.detach) {
    if (context.json)
      printJson(withGrant({{"job", job.id()}}, built));
    else
      printLine("job " + job.id());
    return {};
  }
  if (context.json) {
    printJson(withGrant(jobJson(job), built));
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

void addSignatureOptions(CLI::App& command, BuildOptions& options) {
  addSignerOptions(command, options.modelSigners,
                   {"--model-signed-by", "--model-certificate", "--model-trusted-root"});
  command.add_option("--model-signature", options.modelSignature,
                     "The OpenSSF model signature over the model's files, which must be by a key or under an "
                     "authority that is named: exit 5 otherwise (default: model.sig in the folder, FILE.sig "
                     "beside a file)");
}

void addBuilderOptions(CLI::App& command, DeliverySpec& delivery) {
  command.add_option("--builders", delivery.builders, "Workers that must agree on every byte")
      ->check(CLI::Range(1, 16));
  command.add_option("--operators", delivery.operators, "Distinct operators among them")
      ->check(CLI::Range(1, 16));
  command.add_flag("--majority", delivery.majority,
                   "More than half of at least 3 builders decide; dissent is recorded");
}

void addCheckOptions(CLI::App& command, BuildOptions& options) {
  command.add_flag("--check", options.check,
                   "Check each artifact on a worker that runs its target; exit 10 if it fails");
  command.add_option("--check-plan", options.checkPlan,
                     "check.json with goldens, metrics and limits for the check; its files lie beside it");
  command.add_flag("--check-emulated", options.checkEmulated,
                   "Check what runs on a GPU on an emulated one instead, for tests: the statement says so, "
                   "and a production policy does not count it");
  command.add_flag("--keep-ir", options.delivery.keepIr,
                   "Have the farm keep the IR behind each stage of the compile beside the artifact, for kiln "
                   "fetch ARTIFACT --ir FOLDER; it is made by a run of its own");
}

}  // namespace

void addBuild(CLI::App& app, Context& context) {
  const auto options = std::make_shared<BuildOptions>();
  const auto locked = std::make_shared<bool>(false);
  auto& command =
      addCommand(app, context, "build", "Build a model, or all of a project: one signed artifact per target",
                 "kiln build model.onnx --target cpu:x86-64-v3 --profile N=1:1:1\n"
                 "  kiln build model.onnx --target cpu:x86-64-v4,cpu:x86-64-v3 --affinity "
                 "op:Softmax=cpu:x86-64-v3\n"
                 "  kiln build --locked",
                 [&context, &app, options, locked] {
                   return options->model.empty() ? runProject(context, *locked, *app.get_subcommand("build"))
                                                 : run(context, *options);
                 });
  command.add_option(
      "MODEL", options->model,
      "A file, a folder with one model, or git+URL@COMMIT#path of either (file, https or ssh; '#.' is the "
      "whole commit); without one: all that kiln.toml of this folder names (kiln init writes it)");
  command
      .add_option("--data", options->data,
                  "[NAME=]FILE: external data beside what the model names in its own folder (repeatable)")
      ->allow_extra_args(false);
  command
      .add_option("--params", options->parameters,
                  "Tensors that take the place of inputs, by name or position: a safetensors, npz, npy or "
                  "GGUF file, a folder with model.safetensors, or git+URL@COMMIT#path of a file (repeatable)")
      ->allow_extra_args(false);
  command
      .add_option(
          "--target", options->targets,
          "What to build for, such as cpu:x86-64-v3 (repeatable); A,B is one artifact partitioned over both")
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
  addSignatureOptions(command, *options);
  addBuilderOptions(command, options->delivery);
  command
      .add_option(
          "--tune", options->tune,
          "Schedules of kernels: catalogue (default), what the toolchain's catalogue has, else the "
          "compiler's defaults; off, the defaults alone; reuse, what the farm has measured before, else the "
          "catalogue's; search, measure first, on a worker that does nothing else, what it has not (CPU "
          "and Vulkan targets)")
      ->check(CLI::IsMember({"catalogue", "off", "reuse", "search"}));
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
  addCheckOptions(command, *options);
  command.add_flag("--no-cache", options->delivery.noCache, "Compile again even if the result is known");
  command.add_option("--traces", options->traces,
                     "URL of an OTLP receiver for this command's part of the job's trace, if the farm traces "
                     "the job (KILN_TRACES)");
  command.add_flag("--detach", options->detach, "Print the job and return");
  command
      .add_flag(
          "--locked", *locked,
          "Of a project: build with the toolchain of kiln.lock, and exit 9 where anything differs from it")
      ->excludes("MODEL");
  addFarmOptions(command, context, kRidesOut);
  addRootOptions(command, context);
}

}  // namespace kiln::cli
