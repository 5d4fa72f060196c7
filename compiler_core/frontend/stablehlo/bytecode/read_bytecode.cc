#include "compiler_core/frontend/stablehlo/bytecode/read_bytecode.h"

#include <charconv>
#include <optional>
#include <tuple>

#include "compiler_core/frontend/stablehlo/bytecode/container.h"
#include "compiler_core/frontend/stablehlo/bytecode/module_reader.h"
#include "compiler_core/frontend/stablehlo/program/validate.h"
#include "manifest/base/printable.h"

namespace kiln::stablehlo {
namespace {

constexpr std::string_view kPortable = "StableHLO_v";

// The numbers of "1.17.0"; nothing where it is something else.
std::optional<std::tuple<int, int, int>> versionOf(std::string_view text) {
  int numbers[3] = {};
  for (int& number : numbers) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (&number == &numbers[2]) break;
    if (!text.starts_with(".")) return std::nullopt;
    text.remove_prefix(1);
  }
  if (!text.empty()) return std::nullopt;
  return std::tuple(numbers[0], numbers[1], numbers[2]);
}

Status checkProducer(std::string_view producer) {
  const std::string next = "; write a portable artifact (serialize_portable_artifact, or jax.export)";
  if (!isPortable(producer))
    return fail(Code::kUnimplemented, "MLIR bytecode written by " + inQuotes(producer) +
                                          " has no versions, so that it cannot be read safely" + next);
  const auto version = versionOf(producer.substr(kPortable.size()));
  if (!version) return fail(Code::kInvalidArgument, "byte 5: no version of StableHLO: " + inQuotes(producer));
  if (*version < std::tuple(0, 9, 0))
    return fail(Code::kUnimplemented, "bytecode of StableHLO before 0.9.0 is not served" + next);
  return {};
}

}  // namespace

bool isPortable(std::string_view producer) {
  return producer.starts_with(kPortable);
}

Result<Program> readBytecode(Bytes bytes, std::shared_ptr<const void> owner) {
  if (!isBytecode(bytes)) return fail(Code::kInvalidArgument, "byte 0: no MLIR bytecode");
  KILN_TRY(checkProducer(producerOf(bytes)));
  KILN_ASSIGN(const Container container, readContainer(bytes));
  KILN_ASSIGN(Program program, readModule(container, std::move(owner)));
  program.producer = container.producer;
  program.form = "StableHLO bytecode " + program.producer.substr(kPortable.size());
  KILN_TRY(validate(program));
  return program;
}

}  // namespace kiln::stablehlo
