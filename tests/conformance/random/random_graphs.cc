// random_graphs: makes random valid ONNX graphs, compiles and runs them, and compares with the reference
// evaluator.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include "manifest/base/exit_code.h"
#include "tests/conformance/command_line.h"
#include "tests/conformance/random/evaluate.h"
#include "tests/conformance/random/rules.h"

namespace kiln::conformance::random {
namespace {

constexpr double kRelative = 1e-3, kAbsolute = 1e-6;

struct Options : RunOptions {
  std::uint64_t seed = 1;
  std::size_t count = 50;
  std::string keep, write;
  bool coverage = false;
};

// "" when all is well; "refused: ..." or what is wrong.
std::string runOne(std::uint64_t seed, const CompileOptions& options) {
  const Model model = generate(seed);
  const std::string path = options.scratch + "/model.onnx";
  std::ofstream(path, std::ios::binary) << model.bytes;
  analysis::DimValues dims;
  Given given;
  if (model.symbol) {
    dims[model.symbol->name] = model.size;
    given.ranges.push_back(*model.symbol);
  }
  std::vector<NamedTensor> inputs;
  for (std::size_t i = 0; i < model.inputs.size(); ++i)
    inputs.push_back({model.inputNames[i], model.inputs[i]});

  const auto expected = evaluate(path, dims, model.inputs);
  if (!expected && expected.error().code == Code::kUnimplemented)
    return "refused: " + expected.error().message;
  if (!expected) return "reference evaluator: " + expected.error().message;
  if (expected->size() != model.outputs.size())
    return "the reference evaluator gives another number of outputs";
  const Status compiled = compileModel(path, given, {}, options);
  if (!compiled && compiled.error().code == Code::kUnimplemented)
    return "refused: " + compiled.error().message;
  if (!compiled) return "compiler: " + compiled.error().message;
  auto got = runArtifact(options.scratch + "/artifact", inputs);
  if (!got) return "runtime: " + got.error().message;
  for (std::size_t i = 0; i < model.outputs.size(); ++i) {
    const auto& [name, tolerance] = model.outputs[i];
    std::vector<NamedTensor> one;
    for (NamedTensor& tensor : *got)
      if (tensor.name == name) one.push_back(tensor);
    if (auto same = compareAll(one, {{name, (*expected)[i]}}, {kRelative, kAbsolute + tolerance}); !same)
      return "wrong: " + same.error().message;
  }
  return "";
}

std::string listOf(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

// Which operators of the importer's table have no rule; fails unless each has its reason, and each reason an
// operator without a rule.
int coverage() {
  std::set<std::string_view> known, excused;
  for (const Rule& rule : rules()) known.insert(rule.op);
  for (const Absence& absence : absences())
    if (!absence.reason.empty()) excused.insert(absence.op);
  std::vector<std::string> silent, stale;
  const auto served = servedOperators();
  std::size_t ruled = 0;
  for (const std::string& name : served) {
    if (known.contains(name))
      ++ruled;
    else if (std::ranges::none_of(excused, [&](std::string_view one) { return isAbout(one, name); }))
      silent.push_back(name);
  }
  for (const std::string_view name : excused)
    if (known.contains(name) ||
        std::ranges::none_of(served, [&](const std::string& one) { return isAbout(name, one); }))
      stale.emplace_back(name);
  std::cout << ruled << " of " << served.size() << " operators of the table have a rule, " << excused.size()
            << " a reason why not (random/rules.cc)\n";
  if (!silent.empty()) std::cout << "neither rule nor reason: " << listOf(silent) << "\n";
  if (!stale.empty()) std::cout << "a reason for nothing: " << listOf(stale) << "\n";
  return silent.empty() && stale.empty() ? 0 : kExitCheck;
}

// The models alone, as seeds of a fuzzer's corpus.
int writeModels(const Options& options) {
  for (std::uint64_t seed = options.seed; seed < options.seed + options.count; ++seed)
    std::ofstream(options.write + "/random-" + std::to_string(seed) + ".onnx", std::ios::binary)
        << generate(seed).bytes;
  return 0;
}

int run(const Options& options) {
  if (!options.keep.empty()) std::filesystem::create_directories(options.keep);
  const auto work = [&](std::size_t index, const CompileOptions& compile) {
    return runOne(options.seed + index, compile);
  };
  std::size_t failed = 0, refused = 0;
  const auto done = [&](std::size_t index, const Isolated& result, const std::string& folder) {
    const std::string text = result.failure.empty() ? result.text : result.failure;
    if (text.empty()) return;
    const std::uint64_t seed = options.seed + index;
    const bool refusal = text.starts_with("refused: ");
    ++(refusal ? refused : failed);
    std::cout << (refusal ? "" : "FAILED ") << "seed " << seed << " (" << listOf(generate(seed).operators)
              << "): " << text << std::endl;
    std::error_code ignored;
    if (!refusal && !options.keep.empty())
      std::filesystem::copy(
          folder, options.keep + "/" + std::to_string(seed),
          std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing,
          ignored);
  };
  runAll(options.count, options, work, done);
  std::cout << options.count - failed - refused << " passed, " << failed << " failed, " << refused
            << " skipped (seeds " << options.seed << " to " << options.seed + options.count - 1 << ")\n";
  return failed == 0 ? 0 : kExitCheck;
}

int main(int argc, char** argv) {
  CLI::App app("Compiles random ONNX graphs and compares them with the reference evaluator.",
               "random_graphs");
  app.footer("Example, one graph again: random_graphs --seed 1234 --count 1 --keep /tmp");
  Options options;
  app.add_option("--seed", options.seed, "The first seed")->capture_default_str();
  app.add_option("--count", options.count, "How many graphs")->capture_default_str();
  app.add_option("--keep", options.keep, "Folder for the models that fail");
  app.add_option("--write", options.write, "Write the models to this folder and do no more");
  addRunOptions(app, options);
  app.add_flag("--coverage", options.coverage,
               "Fail when an operator of the importer's table has neither a rule nor a reason");
  if (auto ended = parseCommandLine(app, argc, argv)) return *ended;
  if (options.coverage) return coverage();
  return options.write.empty() ? run(options) : writeModels(options);
}

}  // namespace
}  // namespace kiln::conformance::random

int main(int argc, char** argv) {
  return kiln::conformance::random::main(argc, argv);
}
