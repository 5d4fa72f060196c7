#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <optional>

#include "api/cli/artifact/commands.h"
#include "api/cli/artifact/device_options.h"
#include "api/cli/artifact/output_names.h"
#include "api/cli/artifact/run_isolated.h"
#include "api/cli/artifact/run_jitdump.h"
#include "api/cli/artifact/run_trace.h"
#include "api/cli/base/artifact_option.h"
#include "api/cli/base/exit_code.h"
#include "api/cli/base/print.h"
#include "api/cli/base/trust_settings.h"
#include "api/cli/view/kernel_view.h"
#include "api/cli/view/session_view.h"
#include "api/node/load.h"
#include "compiler_core/runtime/batch/batch.h"
#include "compiler_core/runtime/batch/run.h"
#include "compiler_core/runtime/batch/texts.h"
#include "manifest/base/counted.h"
#include "manifest/base/mapped_file.h"
#include "manifest/base/output_directory.h"
#include "manifest/base/printable.h"

namespace kiln::cli {
namespace {

using runtime::describe;
using runtime::labelsOf;
using runtime::predictions;
using runtime::Tensors;
using runtime::valueAt;

struct Options {
  std::string artifact, outputDirectory, labels, trace, jitdump;
  std::vector<std::string> inputs;
  bool each = false, profile = false, isolated = false, checked = false;
  std::uint32_t threads = 0;
  DeviceOptions device;
};

// Of an input that takes texts: those of the file, or their numbers in `strings`.
Result<npy::Tensor> readInput(const std::string& path, const runtime::TensorSpec& spec,
                              const std::vector<std::string>& strings) {
  if (spec.isText) {
    KILN_ASSIGN(const auto file, MappedFile::open(path));
    if (npy::holdsTexts(file->bytes())) {
      auto texts = npy::parseTexts(file->bytes());
      if (!texts) return fail(texts.error().in(path));
      return runtime::numbersOf(*texts, strings);
    }
  }
  return npy::read(path, spec.dtype);
}

// name=file.npy, once for each of the artifact's inputs.
Result<Tensors> readInputs(const std::vector<std::string>& arguments,
                           const std::vector<runtime::TensorSpec>& specs,
                           const std::vector<std::string>& strings) {
  Tensors tensors;
  for (const auto& argument : arguments) {
    const auto equals = argument.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(Code::kInvalidArgument, "--input " + argument + ": give name=file.npy");
    }
    const runtime::TensorSpec* spec = runtime::givenInput(argument, specs);
    if (spec == nullptr) {
      std::vector<std::string> names;
      for (const auto& spec : specs) names.push_back(spec.name);
      return fail(Code::kInvalidArgument, fmt::format("there is no input \"{}\"; the artifact takes {}",
                                                      argument.substr(0, equals), fmt::join(names, ", ")));
    }
    if (std::any_of(tensors.begin(), tensors.end(),
                    [&](const auto& tensor) { return tensor.name == spec->name; })) {
      return fail(Code::kInvalidArgument, "input \"" + spec->name + "\" is given twice");
    }
    KILN_ASSIGN(auto tensor, readInput(argument.substr(spec->name.size() + 1), *spec, strings));
    tensors.push_back({spec->name, std::move(tensor)});
  }
  for (const auto& spec : specs) {
    const auto isNamed = [&](const auto& tensor) { return tensor.name == spec.name; };
    if (std::none_of(tensors.begin(), tensors.end(), isNamed)) {
      return fail(Code::kInvalidArgument,
                  fmt::format("input \"{}\" is missing: give --input {}=file.npy with {}", spec.name,
                              spec.name, describe(spec)));
    }
  }
  return tensors;
}

// The texts of each output that gives such; nothing for the others.
using OutputTexts = std::vector<std::optional<npy::TextArray>>;
Result<OutputTexts> textsOf(const Tensors& outputs, const Manifest& manifest) {
  OutputTexts texts(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto info = std::ranges::find(manifest.outputs, outputs[i].name, &TensorInfo::name);
    if (info == manifest.outputs.end() || !info->isText) continue;
    KILN_ASSIGN(texts[i], runtime::textsOf(outputs[i].tensor, manifest.strings));
  }
  return texts;
}

// The files, in the order of the outputs.
Result<std::vector<std::string>> writeOutputs(const std::string& directory, const Tensors& outputs,
                                              const OutputTexts& texts, bool quiet) {
  KILN_ASSIGN(const auto folder, OutputDirectory::open(directory));
  std::vector<std::string> names;
  for (const auto& output : outputs) names.push_back(output.name);
  names = outputFileNames(names);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    KILN_TRY(
        folder.write(names[i], texts[i] ? npy::serialise(*texts[i]) : npy::serialise(outputs[i].tensor)));
    const bool renamed = names[i] != outputs[i].name + ".npy";
    names[i] = (std::filesystem::path(directory) / names[i]).string();
    if (!quiet) note("wrote " + names[i] + (renamed ? ", the output \"" + outputs[i].name + "\"" : ""));
  }
  return names;
}

struct Score {
  std::vector<std::int64_t> predicted;
  std::size_t correct = 0;
};

Result<Score> score(const npy::Tensor& output, const std::string& labelsPath) {
  Score result;
  KILN_ASSIGN(result.predicted, predictions(output));
  KILN_ASSIGN(const auto tensor, npy::read(labelsPath));
  KILN_ASSIGN(const auto labels, labelsOf(tensor));
  if (labels.size() != result.predicted.size()) {
    return fail(Code::kInvalidArgument,
                fmt::format("--labels {}: {} for {}", labelsPath, counted(labels.size(), "label"),
                            counted(result.predicted.size(), "prediction")));
  }
  for (std::size_t i = 0; i < labels.size(); ++i) result.correct += labels[i] == result.predicted[i];
  return result;
}

void printScore(const Score& result) {
  constexpr std::size_t kPerLine = 30;
  for (std::size_t i = 0; i < result.predicted.size(); i += kPerLine) {
    const auto end = std::min(i + kPerLine, result.predicted.size());
    printLine(fmt::format("{} {}", i == 0 ? "predictions" : "           ",
                          fmt::join(result.predicted.begin() + static_cast<std::ptrdiff_t>(i),
                                    result.predicted.begin() + static_cast<std::ptrdiff_t>(end), " ")));
  }
  const auto total = result.predicted.size();
  printLine(fmt::format("accuracy {}/{} = {:.4f}", result.correct, total,
                        total == 0 ? 0.0 : static_cast<double>(result.correct) / static_cast<double>(total)));
}

std::string summary(const npy::Tensor& tensor) {
  std::string text;
  const auto count = tensor.data.size() / dtypeBytes(tensor.dtype);
  for (std::size_t i = 0; i < std::min<std::size_t>(count, 8); ++i) {
    const double value = valueAt(tensor, i);
    text += fmt::format(" {:.6g}", value);
  }
  return text + (count > 8 ? " ..." : "");
}

std::string summary(const npy::TextArray& array) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(array.texts.size(), kShown); ++i)
    text += " " + inQuotes(array.texts[i]);
  return text + (array.texts.size() > kShown ? " ..." : "");
}

// The nodes that were given indices outside their dimension.
Json outOfRangeJson(const runtime::Session& session) {
  Json nodes = Json::array();
  for (const kiln_index_check& check : session.indexChecks())
    if (check.out_of_range != 0) nodes.push_back({{"node", check.node}, {"indices", check.out_of_range}});
  return nodes;
}

void warnOfIndices(const runtime::Session& session) {
  const auto total = session.counters().out_of_range_indices;
  if (total == 0) return;
  note(fmt::format(
      "warning: {} dimension; what the run read there is not promised (--checked makes this "
      "an error)",
      total == 1 ? "1 index is outside its" : fmt::format("{} indices are outside their", total)));
  for (const kiln_index_check& check : session.indexChecks())
    if (check.out_of_range != 0) note(fmt::format("  {} at node \"{}\"", check.out_of_range, check.node));
}

// `session`: that of this process; null for a run in one of its own.
Status report(const Context& context, const Options& options, const node::VerifiedArtifact& verified,
              const Tensors& outputs, const runtime::Session* session) {
  std::optional<Score> scored;
  if (!options.labels.empty()) {
    if (outputs.empty()) return fail(Code::kInvalidArgument, "--labels: the artifact has no output");
    KILN_ASSIGN(scored, score(outputs.front().tensor, options.labels));
  }
  KILN_ASSIGN(const OutputTexts texts, textsOf(outputs, verified.manifest()));
  std::vector<std::string> files;
  if (!options.outputDirectory.empty()) {
    KILN_ASSIGN(files, writeOutputs(options.outputDirectory, outputs, texts, context.json));
  }
  const bool profile = options.profile && session != nullptr;
  if (context.json) {
    Json list = Json::array();
    for (const auto& output : outputs) {
      list.push_back({{"name", output.name},
                      {"dtype", dtypeName(output.tensor.dtype)},
                      {"shape", output.tensor.shape},
                      {"digest", digestOf(Bytes(output.tensor.data)).text()}});
      if (!files.empty()) list.back()["file"] = files[list.size() - 1];
      if (const auto& held = texts[list.size() - 1]) list.back()["texts"] = held->texts;
    }
    Json out{{"artifact", verified.verdict.artifact.text()}, {"outputs", std::move(list)}};
    if (session != nullptr) {
      out["counters"] = countersJson(session->counters());
      out["outOfRangeIndices"] = outOfRangeJson(*session);
    }
    if (profile) out["kernels"] = kernelsJson(session->kernels(), verified.manifest());
    if (scored) {
      out["predictions"] = scored->predicted;
      out["correct"] = scored->correct;
    }
    printJson(out);
    return {};
  }
  if (session != nullptr) warnOfIndices(*session);
  if (profile) printKernels(session->kernels(), verified.manifest(), session->counters());
  if (scored) {
    printScore(*scored);
  } else {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto& [name, tensor] = outputs[i];
      printLine(fmt::format("{} {}{}", name, describe(tensor.dtype, tensor.shape),
                            texts[i] ? summary(*texts[i]) : summary(tensor)));
    }
  }
  return {};
}

// What --checked found has the exit code of a check.
Error checkedError(const Error& error) {
  return error.code == Code::kAborted ? withExit(kExitCheck, error.code, error.message) : error;
}

Status run(const Context& context, const Options& options) {
  KILN_ASSIGN(auto verified, openArtifact(context, options.artifact));
  kiln_session_options how{
      .threads = options.threads, .run_before_ready = 1, .measure_kernels = options.profile ? 1 : 0};
  if (!options.trace.empty()) how.measure_kernels = KILN_MEASURE_SPANS;
  how.check_indices = options.checked ? 1 : 0;
  KILN_TRY(options.device.apply(verified.manifest(), how));
  if (options.isolated) {
    KILN_ASSIGN(const auto inputs, readInputs(options.inputs, runtime::specsOf(verified.manifest().inputs),
                                              verified.manifest().strings));
    KILN_ASSIGN(const auto outputs,
                runIsolated(verified, inputs,
                            {.each = options.each, .checked = options.checked, .threads = options.threads})
                    .map_error(checkedError));
    return report(context, options, verified, outputs, nullptr);
  }
  KILN_ASSIGN(const auto loaded, node::load(std::move(verified)));
  const auto specs = loaded.artifact.inputs();
  KILN_ASSIGN(const auto inputs, readInputs(options.inputs, specs, loaded.artifact.strings()));
  std::optional<Jitdump> jitdump;
  if (!options.jitdump.empty()) {
    KILN_ASSIGN(Jitdump written, Jitdump::write(options.jitdump, loaded.artifact));
    jitdump.emplace(std::move(written));
    if (!context.json) note("wrote " + jitdump->file() + ", for perf inject --jit");
  }
  auto opened = runtime::Session::open(loaded.artifact, how);
  if (!opened) return fail(sessionError(opened.error()));
  KILN_ASSIGN(const auto outputs,
              runtime::runTensors(*opened, specs, inputs, options.each).map_error(checkedError));
  if (!options.trace.empty()) {
    KILN_TRY(writeTrace(options.trace, *opened, loaded.verified, inputs));
    if (!context.json) note("wrote " + options.trace + ", for chrome://tracing or Perfetto");
  }
  return report(context, options, loaded.verified, outputs, &*opened);
}

}  // namespace

void addRun(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command = addCommand(app, context, "run", "Verify an artifact and run it on .npy files",
                             "kiln run DIR --input image=digits.npy --each --labels labels.npy",
                             [&context, options] { return run(context, *options); });
  addArtifactOption(command, "ARTIFACT", options->artifact,
                    "sha256:<hex>, 12 digits or more, or a fetched directory")
      ->required();
  command.add_option("--input", options->inputs, "name=file.npy, once per input")->allow_extra_args(false);
  command.add_option(
      "--output-dir", options->outputDirectory,
      "Write each output there as <name>.npy, or as it is then told where a file cannot be called so or two "
      "outputs would share one; no link is followed");
  command.add_flag("--each", options->each,
                   "Run once per element of the inputs' leading axis; outputs are stacked");
  command.add_option("--labels", options->labels,
                     "Integer .npy: print predictions (argmax of the first output) and accuracy");
  addDeviceOptions(command, options->device);
  const auto profile =
      command.add_flag("--profile", options->profile,
                       "Measure each kernel: calls, tasks, time, and the model's nodes it computes");
  const auto trace = command.add_option(
      "--trace", options->trace,
      "Write when each thread worked on which kernel, with its nodes and schedule, as a Chrome trace (JSON) "
      "for chrome://tracing or Perfetto");
  const auto jitdump = command.add_option(
      "--jitdump", options->jitdump,
      "Write jit-PID.dump into this folder, so that perf names kernels: perf record -k 1 kiln run ..., then "
      "perf inject --jit -i perf.data -o named.data, and perf report -i named.data");
  command
      .add_flag(
          "--isolated", options->isolated,
          "Run the program in a process of its own that sees its artifact and inputs alone and may make "
          "few system calls (bubblewrap and seccomp; on processors only)")
      ->excludes(profile)
      ->excludes(trace)
      ->excludes(jitdump)
      ->excludes(command.get_option("--device"))
      ->excludes(command.get_option("--device-driver"));
  command.add_flag("--checked", options->checked,
                   "Fail (exit 10) if a Gather, Scatter or the like is given an index outside its dimension; "
                   "else that is a warning");
  command.add_option("--threads", options->threads, "Threads to run on (default: every processor)")
      ->check(CLI::Range(1, 1024));
  addFarmOptions(command, context);
  addTrustOptions(command, context);
}

}  // namespace kiln::cli
