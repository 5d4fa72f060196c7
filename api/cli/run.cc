#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "api/cli/commands.h"
#include "api/cli/device_options.h"
#include "api/cli/kernel_view.h"
#include "api/cli/print.h"
#include "api/cli/session_view.h"
#include "api/cli/trust_settings.h"
#include "api/node/load.h"
#include "compiler_core/runtime/batch/batch.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;
using runtime::checkInput;
using runtime::countEach;
using runtime::describe;
using runtime::elementOf;
using runtime::labelsOf;
using runtime::predictions;
using runtime::stack;
using runtime::valueAt;

struct Options {
  std::string artifact, outputDirectory, labels;
  std::vector<std::string> inputs;
  bool each = false, profile = false;
  std::uint32_t threads = 0;
  DeviceOptions device;
};

using Tensors = std::vector<runtime::NamedTensor>;

// name=file.npy, once for each of the artifact's inputs.
Result<Tensors> readInputs(const std::vector<std::string>& arguments,
                           const std::vector<runtime::TensorSpec>& specs) {
  Tensors tensors;
  for (const auto& argument : arguments) {
    const auto equals = argument.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(Code::kInvalidArgument, "--input " + argument + ": give name=file.npy");
    }
    const auto name = argument.substr(0, equals);
    const auto isNamed = [&](const auto& with) { return with.name == name; };
    if (std::any_of(tensors.begin(), tensors.end(), isNamed)) {
      return fail(Code::kInvalidArgument, "input \"" + name + "\" is given twice");
    }
    const auto spec = std::find_if(specs.begin(), specs.end(), isNamed);
    if (spec == specs.end()) {
      std::vector<std::string> names;
      for (const auto& spec : specs) names.push_back(spec.name);
      return fail(Code::kInvalidArgument, fmt::format("there is no input \"{}\"; the artifact takes {}", name,
                                                      fmt::join(names, ", ")));
    }
    KILN_ASSIGN(auto tensor, npy::read(argument.substr(equals + 1), spec->dtype));
    tensors.push_back({name, std::move(tensor)});
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

const runtime::TensorSpec& specOf(const std::vector<runtime::TensorSpec>& specs, const std::string& name) {
  return *std::find_if(specs.begin(), specs.end(), [&](const auto& spec) { return spec.name == name; });
}

Result<Tensors> runOnce(runtime::Session& session, const std::vector<runtime::TensorSpec>& specs,
                        const Tensors& inputs) {
  for (const auto& input : inputs) KILN_TRY(checkInput(specOf(specs, input.name), input.tensor));
  return session.run(inputs);
}

Result<Tensors> runEach(runtime::Session& session, const std::vector<runtime::TensorSpec>& specs,
                        const Tensors& inputs) {
  std::size_t count = 0;
  for (const auto& input : inputs) {
    KILN_ASSIGN(const auto given, countEach(specOf(specs, input.name), input.tensor));
    if (count != 0 && given != count) {
      return fail(Code::kInvalidArgument, fmt::format("--each: input \"{}\" holds {} elements, \"{}\" {}",
                                                      inputs.front().name, count, input.name, given));
    }
    count = given;
    if (count == 0)
      return fail(Code::kInvalidArgument, "--each: input \"" + input.name + "\" holds no element");
  }
  if (inputs.empty())
    return fail(Code::kInvalidArgument, "--each: the artifact takes no input to go through");
  Tensors stacked;
  for (std::size_t i = 0; i < count; ++i) {
    Tensors single;
    for (const auto& input : inputs) {
      single.push_back({input.name, elementOf(specOf(specs, input.name), input.tensor, i)});
    }
    KILN_ASSIGN(const auto outputs, session.run(single));
    if (stacked.empty()) {
      for (const auto& output : outputs) stacked.push_back({output.name, {}});
    }
    for (std::size_t k = 0; k < outputs.size(); ++k)
      KILN_TRY(stack(stacked[k].tensor, outputs[k].tensor, count));
  }
  return stacked;
}

Status writeOutputs(const std::string& directory, const Tensors& outputs, bool quiet) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return fail(errnoError(error.value(), directory));
  for (const auto& output : outputs) {
    std::string name = output.name;
    for (char& c : name) {
      const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
      if (!plain) c = '_';
    }
    if (name.starts_with('.')) name.front() = '_';
    const auto path = (fs::path(directory) / (name + ".npy")).string();
    KILN_TRY(npy::write(path, output.tensor));
    if (!quiet) note("wrote " + path);
  }
  return {};
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
    return fail(Code::kInvalidArgument, fmt::format("--labels {}: {} labels for {} predictions", labelsPath,
                                                    labels.size(), result.predicted.size()));
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

Status run(const Context& context, const Options& options) {
  KILN_ASSIGN(auto verified, openArtifact(context, options.artifact));
  KILN_ASSIGN(const auto loaded, node::load(std::move(verified)));
  const auto specs = loaded.artifact.inputs();
  KILN_ASSIGN(const auto inputs, readInputs(options.inputs, specs));
  kiln_session_options how{
      .threads = options.threads, .run_before_ready = 1, .measure_kernels = options.profile ? 1 : 0};
  options.device.apply(how);
  auto opened = runtime::Session::open(loaded.artifact, how);
  if (!opened) return fail(sessionError(opened.error()));
  runtime::Session& session = *opened;
  KILN_ASSIGN(const auto outputs,
              options.each ? runEach(session, specs, inputs) : runOnce(session, specs, inputs));
  const auto kernels = session.kernels();
  std::optional<Score> scored;
  if (!options.labels.empty()) {
    if (outputs.empty()) return fail(Code::kInvalidArgument, "--labels: the artifact has no output");
    KILN_ASSIGN(scored, score(outputs.front().tensor, options.labels));
  }
  if (!options.outputDirectory.empty())
    KILN_TRY(writeOutputs(options.outputDirectory, outputs, context.json));
  if (context.json) {
    Json list = Json::array();
    for (const auto& output : outputs) {
      list.push_back({{"name", output.name},
                      {"dtype", dtypeName(output.tensor.dtype)},
                      {"shape", output.tensor.shape},
                      {"digest", digestOf(Bytes(output.tensor.data)).text()}});
    }
    Json out{{"artifact", loaded.verified.verdict.artifact.text()},
             {"outputs", std::move(list)},
             {"counters", countersJson(session.counters())}};
    if (options.profile) out["kernels"] = kernelsJson(kernels, loaded.verified.manifest());
    if (scored) {
      out["predictions"] = scored->predicted;
      out["correct"] = scored->correct;
    }
    printJson(out);
    return {};
  }
  if (options.profile) printKernels(kernels, loaded.verified.manifest(), session.counters());
  if (scored) {
    printScore(*scored);
  } else {
    for (const auto& output : outputs) {
      const auto values = summary(output.tensor);
      printLine(
          fmt::format("{} {}{}", output.name, describe(output.tensor.dtype, output.tensor.shape), values));
    }
  }
  return {};
}

}  // namespace

void addRun(CLI::App& app, Context& context) {
  const auto options = std::make_shared<Options>();
  auto& command = addCommand(app, context, "run", "Verify an artifact and run it on .npy files",
                             "kiln run DIR --input image=digits.npy --each --labels labels.npy",
                             [&context, options] { return run(context, *options); });
  command
      .add_option("ARTIFACT", options->artifact, "sha256:<hex>, 12 digits or more, or a fetched directory")
      ->required();
  command.add_option("--input", options->inputs, "name=file.npy, once per input")->allow_extra_args(false);
  command.add_option("--output-dir", options->outputDirectory, "Write each output there as <name>.npy");
  command.add_flag("--each", options->each,
                   "Run once per element of the inputs' leading axis; outputs are stacked");
  command.add_option("--labels", options->labels,
                     "Integer .npy: print predictions (argmax of the first output) and accuracy");
  command.add_flag("--profile", options->profile,
                   "Measure each kernel: calls, tasks, time, and the model's nodes it computes");
  command.add_option("--threads", options->threads, "Threads to run on (default: every processor)")
      ->check(CLI::Range(1, 1024));
  addDeviceOptions(command, options->device);
  addFarmOptions(command, context);
  addTrustOptions(command, context);
}

}  // namespace kiln::cli
