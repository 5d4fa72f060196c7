// Code that the commands of kiln-cc share. Private to this folder.
#pragma once

#include <string>
#include <vector>

#include "compiler_core/driver/compiler.h"
#include "compiler_core/driver/model_paths.h"
#include "manifest/base/exit_code.h"
#include "manifest/spec/compile_spec.h"
#include "manifest/spec/target.h"

namespace kiln::driver {

struct CommandError {
  ExitCode exit;
  Error error;
};
using CommandResult = tl::expected<void, CommandError>;

// The exit that an error of the compiler stands for.
ExitCode exitFor(const Error& error);
inline tl::unexpected<CommandError> stop(const Error& error) {
  return tl::make_unexpected(CommandError{exitFor(error), error});
}
inline tl::unexpected<CommandError> stop(ExitCode exit, const Error& error) {
  return tl::make_unexpected(CommandError{exit, error});
}

// A file of at most `limit` bytes. kNotFound says `hint`, what to give instead; kInvalidArgument: it is
// larger, or no regular file.
Result<std::string> readText(const std::string& path, std::uint64_t limit, const char* hint);

// The exit that an error of such a file stands for: of usage, but for one that is not there.
ExitCode exitForFile(const Error& error);
// A folder as the model in it, with its weights where none are given (frontend/folder). Stops with
// kExitNotFound where there is no such file, or no model in the folder, or no such file of parameters; what
// else is wrong with a model is said by its reader.
tl::expected<ModelPaths, CommandError> locate(const ModelPaths& given);

// Reads a CompileSpec; failures as exitForFile.
tl::expected<CompileSpec, CommandError> readSpec(const std::string& path);
// What the spec asks for and this compiler does not do, by name.
Status checkServed(const CompileSpec& spec);
schedule::Reassociation reassociationOf(const Numerics& numerics);
// What a spec says of a compile; the model, the toolchain and a place to write to are the caller's to name.
CompileRequest requestOf(const CompileSpec& spec, Target target);
// The compile that a spec describes, without a place to write to. `toolchain` may be empty
// (findToolchainLib).
tl::expected<CompileRequest, CommandError> requestFor(const ModelPaths& given, const CompileSpec& spec,
                                                      const std::string& toolchain);
// The files of the spec's parameters: those `given`, as expandParameters() has them, or where none are, what
// lies beside the model. kFailedPrecondition: they are not what the spec names.
Result<std::vector<std::string>> parametersOf(const CompileSpec& spec, const ModelPaths& given);
// evidence.json and manifest.json of a compile. kResourceExhausted: the model has too many nodes, or names
// that are too long; other errors are not its fault.
Status writeDocuments(const CompileSpec& spec, const CompileResult& result, const std::string& out);

// What commands say about partitions, into `spec`; its target is set. Every failure is one of usage.
CommandResult applyRules(const PartitionOptionTexts& texts, CompileSpec& spec);

struct CompileArguments {
  ModelPaths model;
  std::string spec, out, emitIr, toolchain, emulation;
  std::string tuning;     // file of tuning entries, in the place of the toolchain's catalogue; "" for none
  bool catalogue = true;  // whether kernels take schedules of it where no entries are given
  std::vector<std::string> disabledPasses;
  bool timing = false;
  unsigned jobs = 0;        // as CompileObserver::jobs
  std::string tracePasses;  // file for the digests of the IR after each pass; "" for none
  // As CompileObserver::afterPass; called before the trace is taken.
  std::function<void(std::string_view pass, mlir::Operation& op)> afterPass;
};
CommandResult compileCommand(const CompileArguments& arguments);

struct PlanArguments {
  ModelPaths model;
  std::string spec, out, toolchain;
};
CommandResult planCommand(const PlanArguments& arguments);

struct TuneArguments {
  std::string plan, spec, out, budget = "60s", toolchain;
  unsigned threads = 1;
  std::string deviceDriver;  // a CUDA driver library: measure on one of its devices; empty: on processors
  int device = 0;
  std::string measurer;   // path of kiln-measure; empty: beside this program
  std::string emulation;  // as CompileArguments'
};
// One caller at a time: SIGTERM and SIGINT mean it.
CommandResult tuneCommand(const TuneArguments& arguments);

struct EntriesArguments {
  std::string plan, out;
  std::vector<std::string> records;
};
CommandResult entriesCommand(const EntriesArguments& arguments);

struct ReferenceArguments {
  ModelPaths model;
  std::string spec, out;
};
CommandResult referenceCommand(const ReferenceArguments& arguments);

// A model and what the command line says of it.
struct ModelArguments {
  ModelPaths model;
  std::string target = "cpu:x86-64-v3";
  std::vector<std::string> profile, pin, sequence;
  std::string precision = Numerics().precision, reassociation = Numerics().reassociation;
  PartitionOptionTexts partition;
};
// The spec but for the model's files, which are not read.
tl::expected<CompileSpec, CommandError> optionsOf(const ModelArguments& arguments);
tl::expected<CompileSpec, CommandError> makeSpec(const ModelArguments& arguments);

struct SpecArguments : ModelArguments {
  std::string out;
};
CommandResult specCommand(const SpecArguments& arguments);

struct ExplainArguments : ModelArguments {
  bool json = false;
};
CommandResult explainCommand(const ExplainArguments& arguments);

struct DisassembleArguments {
  std::string program, function;
};
CommandResult disassembleCommand(const DisassembleArguments& arguments);

struct HeaderArguments {
  std::string folder, name = "model";
};
CommandResult headerCommand(const HeaderArguments& arguments);

std::string versionText();
std::string versionJson();

}  // namespace kiln::driver
