// What the commands of kiln-cc share. Private to this folder.
#pragma once

#include <string>
#include <vector>

#include "compiler_core/driver/compiler.h"
#include "manifest/base/exit_code.h"
#include "manifest/spec/compile_spec.h"

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

// Reads a CompileSpec; every failure is one of usage.
tl::expected<CompileSpec, CommandError> readSpec(const std::string& path);
std::vector<analysis::Profile> profilesOf(const CompileSpec& spec);
// What the spec asks for and this compiler does not do, by name.
Status checkServed(const CompileSpec& spec);

struct CompileArguments {
  std::string model, spec, out, emitIr, toolchain;
  std::vector<std::string> disabledPasses;
  bool timing = false;
  std::string tracePasses;  // file for the digests of the IR after each pass; "" for none
  // As CompileRequest::afterPass; called before the trace is taken.
  std::function<void(std::string_view pass, mlir::Operation& op)> afterPass;
};
CommandResult compileCommand(const CompileArguments& arguments);

struct ReferenceArguments {
  std::string model, spec, out;
};
CommandResult referenceCommand(const ReferenceArguments& arguments);

struct SpecArguments {
  std::string model, target = "cpu:x86-64-v3", out;
  std::vector<std::string> profile, pin, sequence;
};
CommandResult specCommand(const SpecArguments& arguments);

struct ExplainArguments {
  std::string model, target = "cpu:x86-64-v3";
  std::vector<std::string> profile, pin, sequence;
  bool json = false;
};
CommandResult explainCommand(const ExplainArguments& arguments);

struct DisassembleArguments {
  std::string program, function;
};
CommandResult disassembleCommand(const DisassembleArguments& arguments);

std::string versionText();
std::string versionJson();

}  // namespace kiln::driver
