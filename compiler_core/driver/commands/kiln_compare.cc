// kiln-compare: a model's program beside the reference evaluator, to name the first operation that is wrong.
// A program of its own because it loads what it compiled: kiln-cc is static and does not.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "compiler_core/driver/commands/compare_model.h"
#include "compiler_core/driver/commands/options.h"
#include "compiler_core/driver/commands/print.h"
#include "compiler_core/driver/commands/toolchain.h"
#include "compiler_core/driver/commands/tuning_catalogue.h"
#include "compiler_core/frontend/outline.h"
#include "compiler_core/package/files.h"
#include "compiler_core/runtime/batch/batch.h"
#include "compiler_core/runtime/npy/npy.h"
#include "manifest/base/program.h"
#include "manifest/json/json.h"
#include "manifest/json/reader.h"

namespace {

using namespace kiln::driver;
using kiln::Json;

struct Arguments {
  ModelArguments model;
  std::string spec, toolchain, dump;
  std::vector<std::string> inputs, disabledPasses;
  std::uint64_t seed = 1;
  std::uint32_t threads = 2;
  double relative = 1e-3, absolute = 1e-5;
  bool everyNode = false, json = false;
};

std::string place(const Compared& compared) {
  if (compared.nodes.empty()) return fmt::format("output '{}'", compared.what);
  return fmt::format("{} of node '{}'", compared.what, fmt::join(compared.nodes, "', '"));
}

std::string finding(const Compared& compared) {
  if (!compared.comparison)
    return fmt::format("shape [{}], expected [{}]", fmt::join(compared.got, ","),
                       fmt::join(compared.expected, ","));
  return compared.comparison->text();
}

Json toJson(const Compared& compared) {
  Json json = {
      {"nodes", compared.nodes}, {"what", compared.what},         {"dtype", dtypeName(compared.dtype)},
      {"shape", compared.got},   {"expected", compared.expected}, {"agrees", compared.agrees()}};
  if (compared.comparison) {
    // As text: canonical JSON holds integers only.
    json["mismatches"] = std::to_string(compared.comparison->mismatches);
    json["worstIndex"] = std::to_string(compared.comparison->worstIndex);
    json["maxAbsolute"] = fmt::format("{}", compared.comparison->maxAbsolute);
    json["maxRelative"] = fmt::format("{}", compared.comparison->maxRelative);
  }
  return json;
}

Json toJson(const std::vector<Compared>& all) {
  Json list = Json::array();
  for (const Compared& compared : all) list.push_back(toJson(compared));
  return list;
}

void printList(const char* title, const std::vector<Compared>& all) {
  std::size_t wrong = 0;
  for (const Compared& compared : all) wrong += !compared.agrees();
  printLine(stdout, "{}: {} compared, {} differ", title, all.size(), wrong);
  for (const Compared& compared : all)
    if (!compared.agrees())
      printLine(stdout, "  {} {}[{}]: {}", place(compared), dtypeName(compared.dtype),
                fmt::join(compared.expected, ","), finding(compared));
}

// What to look at first, by line.
std::vector<std::string> verdict(const CompareReport& report) {
  if (report.agrees()) return {"all agree"};
  std::vector<std::string> lines;
  if (const Compared* kernel = firstWrong(report.kernels))
    lines.push_back(fmt::format("first wrong kernel: {}: {}", place(*kernel), finding(*kernel)));
  if (const Compared* node = firstWrong(report.nodes))
    lines.push_back(fmt::format("first wrong node: {}: {}", place(*node), finding(*node)));
  if (lines.empty())
    lines.emplace_back(
        "the outputs differ, no kernel does: a rewrite, or memory that kernels share; try --disable-pass "
        "(the manifest lists the passes)");
  return lines;
}

// The names that --input can give: of what a sequence holds, "parts.0".
kiln::Result<std::vector<kiln::runtime::TensorSpec>> inputsOf(const std::string& model,
                                                              const kiln::CompileSpec& spec) {
  KILN_ASSIGN(const kiln::frontend::Outline outline, kiln::frontend::outlineOf(model));
  std::vector<kiln::runtime::TensorSpec> specs;
  for (const std::string& name : outline.inputs) {
    specs.push_back({.name = name});
    const auto held = spec.sequences.find(name);
    for (std::size_t i = 0; held != spec.sequences.end() && i < held->second.tensors.size(); ++i)
      specs.push_back({.name = fmt::format("{}.{}", name, i)});
  }
  return specs;
}

// The inputs that the command line gives, by name.
tl::expected<std::map<std::string, kiln::reference::HostTensor>, CommandError> readInputs(
    const Arguments& arguments, const kiln::CompileSpec& spec) {
  const auto usage = [](const std::string& message) {
    return stop(kiln::kExitUsage, {kiln::Code::kInvalidArgument, message, {}});
  };
  const auto specs = inputsOf(arguments.model.model.model, spec);
  if (!specs) return stop(specs.error());
  std::map<std::string, kiln::reference::HostTensor> inputs;
  for (const std::string& input : arguments.inputs) {
    const kiln::runtime::TensorSpec* named = kiln::runtime::givenInput(input, *specs);
    if (!named) return usage("--input " + input + ": give name=file.npy with an input of the model");
    auto tensor = kiln::npy::read(input.substr(named->name.size() + 1));
    if (!tensor) return stop(kiln::kExitUsage, tensor.error());
    if (inputs.contains(named->name)) return usage("--input " + input + ": is given twice");
    inputs[named->name] = {tensor->dtype, tensor->shape, std::move(tensor->data)};
  }
  return inputs;
}

tl::expected<kiln::ExitCode, CommandError> run(const Arguments& given) {
  Arguments arguments = given;
  auto model = locate(given.model.model);
  if (!model) return tl::make_unexpected(model.error());
  arguments.model.model = std::move(*model);
  auto spec = arguments.spec.empty() ? makeSpec(arguments.model) : readSpec(arguments.spec);
  if (!spec) return tl::make_unexpected(spec.error());
  auto compile = requestFor(arguments.model.model, *spec, arguments.toolchain);
  if (!compile) return tl::make_unexpected(compile.error());
  if (auto taken = takeCatalogue(*compile); !taken) return tl::make_unexpected(taken.error());
  compile->disabledPasses = arguments.disabledPasses;
  CompareRequest request;
  request.compile = std::move(*compile);
  request.spec = std::move(*spec);
  request.seed = arguments.seed;
  request.tolerance = {arguments.relative, arguments.absolute};
  request.threads = arguments.threads;
  request.everyNode = arguments.everyNode;
  request.dump = arguments.dump;
  auto inputs = readInputs(arguments, request.spec);
  if (!inputs) return tl::make_unexpected(inputs.error());
  request.inputs = std::move(*inputs);
  if (!arguments.dump.empty())
    if (auto made = kiln::package::makeDirectory(arguments.dump); !made)
      return stop(kiln::exitCodeOf(made.error().code), made.error());
  auto report = compareModel(request);
  if (!report) return stop(report.error());
  if (arguments.json) {
    const Json document = {{"agrees", report->agrees()},
                           {"outputs", toJson(report->outputs)},
                           {"kernels", toJson(report->kernels)},
                           {"nodes", toJson(report->nodes)},
                           {"verdict", fmt::format("{}", fmt::join(verdict(*report), "\n"))}};
    auto text = kiln::toCanonicalJson(document);
    if (!text) return stop(kiln::kExitInternal, text.error());
    fmt::print("{}\n", *text);
  } else {
    printList("outputs", report->outputs);
    printList("values between kernels", report->kernels);
    if (!report->nodes.empty()) printList("values of nodes, unfused", report->nodes);
    for (const std::string& line : verdict(*report)) printLine(stdout, "{}", line);
  }
  return report->agrees() ? kiln::kExitOk : kiln::kExitCheck;
}

// A tolerance: a finite number that is not negative.
std::string checkTolerance(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good =
      error == std::errc() && end == text.data() + text.size() && std::isfinite(value) && value >= 0;
  return good ? "" : "\"" + text + "\" is no finite number of 0 or more";
}

std::string checkSeed(const std::string& text) {
  return kiln::parseDecimal(text) ? "" : "\"" + text + "\" is no number from 0 to 2^64-1";
}

int runCommand(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Runs a model's program on this machine and names the first operation that is wrong.",
               "kiln-compare");
  app.footer(
      "Compares outputs, then every value that kernels hand to each other (fused as in the program), and\n"
      "where something differs each node by itself, with the reference evaluator. Bodies of If and Loop are\n"
      "one operation. Exit 10: something differs.\n"
      "Example: kiln-compare m.onnx --profile batch=8 --dump tensors");
  app.add_option("model", arguments.model.model.model, "Model file, or a folder with one")->required();
  app.add_option("--spec", arguments.spec,
                 "CompileSpec of one profile, instead of the options up to --sequence");
  addModelOptions(app, arguments.model);
  for (const char* option :
       {"--target", "--profile", "--pin", "--sequence", "--precision", "--reassociation"})
    app.get_option(option)->excludes("--spec");
  app.add_option("--input", arguments.inputs, "name=file.npy, instead of seeded values (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--seed", arguments.seed, "Of the other inputs")->check(checkSeed)->capture_default_str();
  app.add_option("--threads", arguments.threads, "Threads of the run")
      ->check(CLI::Range(1u, 1024u))
      ->capture_default_str();
  app.add_option(
         "--rtol", arguments.relative,
         "Relative tolerance of floats; more where 16-bit floats of the model or another order of its "
         "sums explain more")
      ->check(checkTolerance)
      ->capture_default_str();
  app.add_option("--atol", arguments.absolute,
                 "Absolute tolerance of floats, of the tensor's largest value where that is above 1")
      ->check(checkTolerance)
      ->capture_default_str();
  app.add_option("--disable-pass", arguments.disabledPasses,
                 "Leave out a pass of the rewrite stage (repeatable)");
  app.add_flag("--every-node", arguments.everyNode, "Compare each node also where nothing differs");
  app.add_option("--dump", arguments.dump, "Folder for all tensors, got and expected, as .npy");
  app.add_flag("--json", arguments.json, "As canonical JSON");
  app.add_option("--toolchain", arguments.toolchain, "Toolchain folder (default: where kiln-compare is)");
  const bool json =
      std::any_of(argv, argv + argc, [](const char* one) { return one == std::string_view("--json"); });
  const ErrorForm form = json ? ErrorForm::kJson : ErrorForm::kText;
  if (auto pinned = pinHostMath(argv); !pinned)
    return finish(app.get_name(), stop(kiln::kExitInternal, pinned.error()), form);
  if (auto ended = parseCommandLine(app, argc, argv, form)) return *ended;
  const auto exit = run(arguments);
  return exit ? *exit : finish(app.get_name(), tl::make_unexpected(exit.error()), form);
}

}  // namespace

int main(int argc, char** argv) {
  return kiln::runMain("kiln-compare", [&] { return runCommand(argc, argv); });
}
