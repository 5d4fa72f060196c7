#include "compiler_core/driver/commands/options.h"

#include <fmt/format.h>

#include <cstdio>

#include "compiler_core/driver/commands/print.h"
#include "manifest/json/error_line.h"

namespace kiln::driver {

void addModelOptions(CLI::App& app, ModelArguments& model) {
  addParameterOption(app, model.model);
  app.add_option("--target", model.target, "Target")->capture_default_str();
  app.add_option("--profile", model.profile,
                 "Symbolic dimension: NAME=N, NAME=MIN:OPT:MAX or NAME=MIN:OPT:MAX:MULTIPLE");
  app.add_option("--pin", model.pin, "Fixed value of an input: INPUT=VALUE,VALUE... (repeatable)");
  app.add_option("--sequence", model.sequence,
                 "What an input of sequence or optional type holds: INPUT=COUNT, INPUT=[DIM,...],... or "
                 "INPUT=none (repeatable)");
  app.add_option("--precision", model.precision,
                 "f32; tf32: a GPU may round the factors of f32 products to 10 bits of mantissa; int8: "
                 "a processor may multiply dequantised bytes as integers")
      ->check(CLI::IsMember({"f32", "tf32", "int8"}))
      ->capture_default_str();
  app.add_option("--reassociation", model.reassociation,
                 "deterministic: sums are added in the order that each kernel's schedule names, the same on "
                 "every machine; off: in the model's order; on: in the model's, but for tuned schedules of "
                 "a processor, which may name another")
      ->check(CLI::IsMember({"deterministic", "off", "on"}))
      ->capture_default_str();
}

void addParameterOption(CLI::App& app, ModelPaths& model) {
  app.add_option(
      "--params", model.parameters,
      "Tensors that take the place of inputs: a file (safetensors, npz, npy, GGUF) or a folder with "
      "model.safetensors (repeatable)");
}

std::optional<int> parseCommandLine(CLI::App& app, int argc, char** argv, ErrorForm form) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return finish(app.get_name(),
                  stop(kExitUsage,
                       {Code::kInvalidArgument, error.what() + ("; see " + app.get_name() + " --help"), {}}),
                  form);
  }
  return std::nullopt;
}

int finish(std::string_view program, const CommandResult& result, ErrorForm form) {
  if (result) return kExitOk;
  const auto& [exit, error] = result.error();
  if (form != ErrorForm::kJson) printLine(stderr, "{}: {}", program, error.message);
  if (form != ErrorForm::kText)
    fmt::print(form == ErrorForm::kJson ? stdout : stderr, "{}\n", errorLine(error));
  return exit;
}

}  // namespace kiln::driver
