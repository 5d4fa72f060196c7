#include "compiler_core/frontend/onnx/reader/load.h"

#include <algorithm>
#include <filesystem>

#include "compiler_core/frontend/onnx/reader/foreign_file.h"
#include "compiler_core/frontend/onnx/reader/parse.h"
#include "manifest/spec/onnx_wire.h"

namespace kiln::onnx {
namespace {

constexpr std::size_t kHead = 64 << 10;  // that tells what a file is

// Whether the file begins as a model does and ends inside a field of it.
bool isCut(Bytes bytes) {
  WireReader wire(bytes, bytes.data());
  constexpr std::uint32_t kIrVersion = 1;
  const auto first = wire.field();
  if (!first || first->number != kIrVersion || first->type != WireType::kVarint || first->value > 1000)
    return false;
  while (!wire.atEnd())
    if (!wire.field()) return true;
  return false;
}

Error explained(const Error& error, Bytes bytes) {
  if (error.code != Code::kInvalidArgument) return error;
  const std::string kind = foreignKind(bytes.first(std::min(bytes.size(), kHead)), bytes.size());
  if (!kind.empty()) return {error.code, "no ONNX model but " + kind, {}};
  if (!isCut(bytes)) return error;
  return {error.code,
          "a truncated ONNX model: the file ends after " + std::to_string(bytes.size()) +
              " bytes, inside one of its fields; fetch or copy it again",
          {}};
}

}  // namespace

Result<Model> readModel(Bytes bytes) {
  auto parsed = parseModel(bytes);
  if (!parsed) return fail(explained(parsed.error(), bytes));
  KILN_TRY(validate(*parsed));
  return parsed;
}

Result<LoadedModel> loadModel(const std::string& path) {
  KILN_ASSIGN(auto file, MappedFile::open(path));
  auto parsed = readModel(file->bytes());
  if (!parsed) return fail(parsed.error().in(path));
  return LoadedModel{std::move(*parsed), file, std::filesystem::path(path).parent_path().string()};
}

}  // namespace kiln::onnx
