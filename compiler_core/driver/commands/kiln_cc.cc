// kiln-cc: the compiler by hand and inside the farm's sandbox. Contract: manifest/DESIGN.md §9, and the
// README.md beside this file.
#include <fmt/format.h>

#include "compiler_core/driver/commands/options.h"
#include "compiler_core/driver/commands/toolchain.h"
#include "manifest/base/program.h"

using namespace kiln::driver;

namespace {

CLI::App* addCommand(CLI::App& app, const char* name, const char* what, const char* example) {
  CLI::App* sub = app.add_subcommand(name, what);
  sub->footer(std::string("Example: ") + example);
  return sub;
}

void addPartition(CLI::App* sub, kiln::PartitionOptionTexts& texts) {
  sub->add_option("--affinity", texts.affinities,
                  "PATTERN=TARGET: nodes that go to one of several targets, by name or op:OPERATOR, with * "
                  "(repeatable)");
  sub->add_option("--exclude", texts.exclusions,
                  "PATTERN=TARGET: nodes that a target must not get (repeatable)");
  sub->add_option("--fallback", texts.fallback,
                  "fail, or cpu: what a target cannot serve goes to the last CPU target, cpu:x86-64-v3 where "
                  "only a GPU is named")
      ->capture_default_str();
  sub->add_option("--fallback-allow", texts.fallbackOperators,
                  "Operator that may fall back (repeatable; default: any)");
  sub->add_option("--fallback-permille", texts.fallbackPermille,
                  "Most of the nodes that may, in thousandths");
}

void addCompile(CLI::App& app, CompileArguments& compile, CommandResult& result) {
  CLI::App* compileApp = addCommand(app, "compile", "Compile a model as its spec says",
                                    "kiln-cc compile --model m.onnx --spec s.json --out build");
  compileApp->add_option("--model", compile.model.model, "Model file, or a folder with one")->required();
  addParameterOption(*compileApp, compile.model);
  compileApp->add_option("--spec", compile.spec, "CompileSpec (see kiln-cc spec)")->required();
  compileApp
      ->add_option("--out", compile.out,
                   "Folder for program.so (program.o without an operating system), kernels, weights, "
                   "evidence.json, manifest.json")
      ->required();
  compileApp->add_option("--disable-pass", compile.disabledPasses,
                         "Leave out a pass of the rewrite stage (may be given more than once)");
  compileApp->add_flag("--timing", compile.timing, "Say on stderr what each pass took, in processor time");
  compileApp->add_option(
      "--jobs", compile.jobs,
      "Threads that make machine code (default: one per processor); no byte depends on it");
  compileApp->add_option("--emit-ir", compile.emitIr, "Folder for the textual IR after each stage");
  compileApp->add_option(
      "--trace-passes", compile.tracePasses,
      "File for a digest of the IR of each function after each pass, for kiln diff; not in --out");
  compileApp->add_option(
      "--emulation", compile.emulation,
      "Folder for the device's kernels as the emulated device runs them, <digest of the image>.so; not in "
      "--out");
  CLI::Option* const tuning =
      compileApp->add_option("--tuning", compile.tuning,
                             "Tuning entries: schedules of kernels in the place of the defaults and of the "
                             "toolchain's catalogue");
  compileApp
      ->add_option_function<std::string>(
          "--tune", [&](const std::string& tune) { compile.catalogue = tune == "catalogue"; },
          "catalogue (default): kernels of the toolchain's tuning catalogue have their schedules from it; "
          "off: every kernel has its default schedule")
      ->check(CLI::IsMember({"catalogue", "off"}))
      ->excludes(tuning);
  compileApp->add_option("--toolchain", compile.toolchain, "Toolchain folder (default: where kiln-cc is)");
  compileApp->callback([&] { result = compileCommand(compile); });
}

void addPlan(CLI::App& app, PlanArguments& plan, CommandResult& result) {
  CLI::App* planApp =
      addCommand(app, "plan", "List the kernels of a program, each with the text that its signature is of",
                 "kiln-cc plan --model m.onnx --spec s.json --out plan");
  planApp->add_option("--model", plan.model.model, "Model file, or a folder with one")->required();
  addParameterOption(*planApp, plan.model);
  planApp->add_option("--spec", plan.spec, "CompileSpec")->required();
  planApp->add_option("--out", plan.out, "Folder for plan.json and kernels/")->required();
  planApp->add_option("--toolchain", plan.toolchain, "Toolchain folder (default: where kiln-cc is)");
  planApp->callback([&] { result = planCommand(plan); });
}

void addTune(CLI::App& app, TuneArguments& tune, CommandResult& result) {
  CLI::App* tuneApp = addCommand(
      app, "tune", "Measure schedules of a plan's kernels on this machine; SIGTERM keeps what is known",
      "kiln-cc tune --plan plan --spec s.json --budget 60s --out record.json");
  tuneApp->add_option("--plan", tune.plan, "Folder of kiln-cc plan")->required();
  tuneApp->add_option("--spec", tune.spec, "CompileSpec")->required();
  tuneApp->add_option("--out", tune.out, "File for the tuning record, written after every kernel")
      ->required();
  tuneApp->add_option("--budget", tune.budget, "Time for all kernels: 60s, 5m")->capture_default_str();
  tuneApp
      ->add_option("--threads", tune.threads,
                   "Threads that share a kernel's tasks, each on a processor of its own")
      ->check(CLI::Range(1u, 1024u))
      ->capture_default_str();
  CLI::Option* const driver =
      tuneApp->add_option("--device-driver", tune.deviceDriver,
                          "CUDA driver library or Vulkan loader, such as libcuda.so.1: "
                          "measure the kernels of a cuda: or vulkan: target on one of "
                          "its devices "
                          "(default: the kernels of processors are measured)");
  tuneApp->add_option("--device", tune.device, "Which of the driver's devices, from 0")
      ->check(CLI::Range(0, 1023))
      ->needs(driver);
  tuneApp
      ->add_option("--measurer", tune.measurer,
                   "The program that measures on devices (default: kiln-measure beside kiln-cc)")
      ->needs(driver);
  tuneApp
      ->add_option(
          "--emulation", tune.emulation,
          "Folder for the kernels as the emulated device runs them, which KILN_EMULATED_KERNELS names")
      ->needs(driver);
  tuneApp->add_option("--toolchain", tune.toolchain, "Toolchain folder (default: where kiln-cc is)");
  tuneApp->callback([&] { result = tuneCommand(tune); });
}

void addEntries(CLI::App& app, EntriesArguments& entries, CommandResult& result) {
  CLI::App* entriesApp =
      addCommand(app, "entries", "Write what records chose for the kernels of a plan, for compile --tuning",
                 "kiln-cc entries --record record.json --plan plan --out tuning.json");
  entriesApp->add_option("--record", entries.records, "Tuning record (repeatable; a later one counts)")
      ->required();
  entriesApp->add_option("--plan", entries.plan, "Folder of kiln-cc plan")->required();
  entriesApp->add_option("--out", entries.out, "File for the tuning entries")->required();
  entriesApp->callback([&] { result = entriesCommand(entries); });
}

void addDisassemble(CLI::App& app, DisassembleArguments& disassembly, CommandResult& result) {
  CLI::App* disassembleApp =
      addCommand(app, "disassemble", "Print the instructions of one function of a program",
                 "kiln-cc disassemble build/program.so kernel_0");
  disassembleApp->add_option("program", disassembly.program, "program.so, or a device's module (.spv)")
      ->required();
  disassembleApp->add_option("function", disassembly.function, "Its symbol")->required();
  disassembleApp->callback([&] { result = disassembleCommand(disassembly); });
}

void addHeader(CLI::App& app, HeaderArguments& header, CommandResult& result) {
  CLI::App* headerApp =
      addCommand(app, "header", "Print the C header of a program without an operating system",
                 "kiln-cc header build --name digits > digits.h");
  headerApp->add_option("folder", header.folder, "Folder that kiln-cc compile wrote for a cpu:cortex- target")
      ->required();
  headerApp->add_option("--name", header.name, "What the names of C in it begin with")->capture_default_str();
  headerApp->callback([&] { result = headerCommand(header); });
}

void addReference(CLI::App& app, ReferenceArguments& reference, CommandResult& result) {
  CLI::App* referenceApp = addCommand(app, "reference", "Make fixtures with the reference evaluator",
                                      "kiln-cc reference --model m.onnx --spec s.json --out fixtures");
  referenceApp->add_option("--model", reference.model.model, "Model file, or a folder with one")->required();
  addParameterOption(*referenceApp, reference.model);
  referenceApp->add_option("--spec", reference.spec, "CompileSpec")->required();
  referenceApp->add_option("--out", reference.out, "Folder for fixtures.json and the tensors")->required();
  referenceApp->callback([&] { result = referenceCommand(reference); });
}

void addSpec(CLI::App& app, SpecArguments& spec, CommandResult& result) {
  CLI::App* specApp = addCommand(app, "spec", "Write a CompileSpec for use by hand",
                                 "kiln-cc spec --model m.onnx --profile batch=8 --out s.json");
  specApp->add_option("--model", spec.model.model, "Model file, or a folder with one")->required();
  addModelOptions(*specApp, spec);
  specApp->add_option("--out", spec.out, "File (default: standard output)");
  addPartition(specApp, spec.partition);
  specApp->callback([&] { result = specCommand(spec); });
}

void addExplain(CLI::App& app, ExplainArguments& explain, CommandResult& result) {
  CLI::App* explainApp =
      addCommand(app, "explain", "Say what a compile would do: shapes, kernels, memory, what is not served",
                 "kiln-cc explain m.onnx --profile batch=8");
  explainApp->add_option("model", explain.model.model, "Model file, or a folder with one")->required();
  addModelOptions(*explainApp, explain);
  addPartition(explainApp, explain.partition);
  explainApp->add_flag("--json", explain.json, "As canonical JSON");
  explainApp->callback([&] { result = explainCommand(explain); });
}

int run(int argc, char** argv) {
  CLI::App app("Compiles a model to a program that runs anywhere its target does.", "kiln-cc");
  app.footer(
      "Example: kiln-cc spec --model m.onnx --target cpu:x86-64-v3 --out s.json && "
      "kiln-cc compile --model m.onnx --spec s.json --out build");
  bool version = false, versionAsJson = false;
  app.add_flag("--version", version, "Print the version");
  app.add_flag("--json", versionAsJson, "With --version: as JSON");
  CommandResult result;
  CompileArguments compile;
  addCompile(app, compile, result);
  PlanArguments plan;
  addPlan(app, plan, result);
  TuneArguments tune;
  addTune(app, tune, result);
  EntriesArguments entries;
  addEntries(app, entries, result);
  DisassembleArguments disassembly;
  addDisassemble(app, disassembly, result);
  HeaderArguments header;
  addHeader(app, header, result);
  ReferenceArguments reference;
  addReference(app, reference, result);
  SpecArguments spec;
  addSpec(app, spec, result);
  ExplainArguments explain;
  addExplain(app, explain, result);

  if (auto pinned = pinHostMath(argv); !pinned)
    return finish(app.get_name(), stop(kiln::kExitInternal, pinned.error()));
  if (auto ended = parseCommandLine(app, argc, argv)) return *ended;
  if (version) {
    fmt::print("{}\n", versionAsJson ? versionJson() : versionText());
    return kiln::kExitOk;
  }
  if (app.get_subcommands().empty())
    return finish(app.get_name(),
                  stop(kiln::kExitUsage,
                       {kiln::Code::kInvalidArgument, "a command is missing; see kiln-cc --help", {}}));
  return finish(app.get_name(), result);
}

}  // namespace

int main(int argc, char** argv) {
  return kiln::runMain("kiln-cc", [&] { return run(argc, argv); });
}
