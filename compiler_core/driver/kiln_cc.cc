// kiln-cc: the compiler by hand and inside the farm's sandbox. Contract: DESIGN.md §9, README.md beside this
// file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "compiler_core/driver/command.h"
#include "compiler_core/driver/toolchain.h"
#include "manifest/json/error_line.h"

namespace {

using namespace kiln::driver;

int finish(const CommandResult& result) {
  if (result) return kiln::kExitOk;
  const auto& [exit, error] = result.error();
  fmt::print(stderr, "kiln-cc: {}\n{}\n", error.message, errorLine(error));
  return exit;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Compiles a model to a program that runs anywhere its target does.", "kiln-cc");
  app.footer(
      "Example: kiln-cc spec --model m.onnx --target cpu:x86-64-v3 --out s.json && "
      "kiln-cc compile --model m.onnx --spec s.json --out build");
  bool version = false, versionAsJson = false;
  app.add_flag("--version", version, "Print the version");
  app.add_flag("--json", versionAsJson, "With --version: as JSON");
  CommandResult result;
  const auto command = [&](const char* name, const char* what, const char* example) {
    CLI::App* sub = app.add_subcommand(name, what);
    sub->footer(std::string("Example: ") + example);
    return sub;
  };

  CompileArguments compile;
  CLI::App* compileApp = command("compile", "Compile a model as its spec says",
                                 "kiln-cc compile --model m.onnx --spec s.json --out build");
  compileApp->add_option("--model", compile.model, "ONNX file")->required();
  compileApp->add_option("--spec", compile.spec, "CompileSpec (see kiln-cc spec)")->required();
  compileApp->add_option("--out", compile.out, "Folder for program.so, weights, evidence.json, manifest.json")
      ->required();
  compileApp->add_option("--disable-pass", compile.disabledPasses,
                         "Leave out a pass of the rewrite stage (may be given more than once)");
  compileApp->add_flag("--timing", compile.timing, "Say on stderr what each pass took");
  compileApp->add_option("--emit-ir", compile.emitIr, "Folder for the textual IR after each stage");
  compileApp->add_option("--toolchain", compile.toolchain, "Toolchain folder (default: where kiln-cc is)");
  compileApp->callback([&] { result = compileCommand(compile); });

  ReferenceArguments reference;
  CLI::App* referenceApp = command("reference", "Make fixtures with the reference evaluator",
                                   "kiln-cc reference --model m.onnx --spec s.json --out fixtures");
  referenceApp->add_option("--model", reference.model, "ONNX file")->required();
  referenceApp->add_option("--spec", reference.spec, "CompileSpec")->required();
  referenceApp->add_option("--out", reference.out, "Folder for fixtures.json and the tensors")->required();
  referenceApp->callback([&] { result = referenceCommand(reference); });

  SpecArguments spec;
  CLI::App* specApp = command("spec", "Write a CompileSpec for use by hand",
                              "kiln-cc spec --model m.onnx --profile batch=8 --out s.json");
  specApp->add_option("--model", spec.model, "ONNX file")->required();
  specApp->add_option("--target", spec.target, "Target")->capture_default_str();
  specApp->add_option("--profile", spec.profile, "Symbolic dimension: NAME=N or NAME=MIN:OPT:MAX");
  specApp->add_option("--pin", spec.pin, "Fixed value of an input: INPUT=VALUE,VALUE... (repeatable)");
  specApp->add_option(
      "--sequence", spec.sequence,
      "What an input of sequence or optional type holds: INPUT=COUNT, INPUT=[DIM,...],... or INPUT=none "
      "(repeatable)");
  specApp->add_option("--out", spec.out, "File (default: standard output)");
  specApp->callback([&] { result = specCommand(spec); });

  const auto addPartition = [](CLI::App* sub, kiln::PartitionOptionTexts& texts) {
    sub->add_option("--affinity", texts.affinities,
                    "PATTERN=TARGET: nodes that go to one of several targets, by name or op:OPERATOR, with * "
                    "(repeatable)");
    sub->add_option("--exclude", texts.exclusions,
                    "PATTERN=TARGET: nodes that a target must not get (repeatable)");
    sub->add_option("--fallback", texts.fallback,
                    "fail, or cpu: what a target cannot serve goes to the last CPU target")
        ->capture_default_str();
    sub->add_option("--fallback-allow", texts.fallbackOperators,
                    "Operator that may fall back (repeatable; default: any)");
    sub->add_option("--fallback-permille", texts.fallbackPermille,
                    "Most of the nodes that may, in thousandths");
  };
  addPartition(specApp, spec.partition);

  ExplainArguments explain;
  CLI::App* explainApp =
      command("explain", "Say what a compile would do: shapes, kernels, memory, what is not served",
              "kiln-cc explain m.onnx --profile batch=8");
  explainApp->add_option("model", explain.model, "ONNX file")->required();
  explainApp->add_option("--target", explain.target, "Target")->capture_default_str();
  explainApp->add_option("--profile", explain.profile, "Symbolic dimension: NAME=N or NAME=MIN:OPT:MAX");
  explainApp->add_option("--pin", explain.pin, "Fixed value of an input: INPUT=VALUE,VALUE... (repeatable)");
  explainApp->add_option(
      "--sequence", explain.sequence,
      "What an input of sequence or optional type holds: INPUT=COUNT, INPUT=[DIM,...],... or INPUT=none "
      "(repeatable)");
  addPartition(explainApp, explain.partition);
  explainApp->add_flag("--json", explain.json, "As canonical JSON");
  explainApp->callback([&] { result = explainCommand(explain); });

  if (auto pinned = pinHostMath(argv); !pinned) return finish(stop(kiln::kExitInternal, pinned.error()));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return finish(
        stop(kiln::kExitUsage,
             {kiln::Code::kInvalidArgument, error.what() + std::string("; see kiln-cc --help"), {}}));
  }
  if (version) {
    fmt::print("{}\n", versionAsJson ? versionJson() : versionText());
    return kiln::kExitOk;
  }
  if (app.get_subcommands().empty())
    return finish(stop(kiln::kExitUsage,
                       {kiln::Code::kInvalidArgument, "a command is missing; see kiln-cc --help", {}}));
  return finish(result);
}
