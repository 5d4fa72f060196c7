#include "compiler_core/frontend/stablehlo/read.h"

#include "compiler_core/frontend/stablehlo/bytecode/jax_export.h"
#include "compiler_core/frontend/stablehlo/bytecode/read_bytecode.h"
#include "compiler_core/frontend/stablehlo/form.h"
#include "compiler_core/frontend/stablehlo/text/read_text.h"

namespace kiln::stablehlo {
namespace {

Result<Program> named(Result<Program> program, const std::string& name) {
  if (!program) return fail(program.error().in(name));
  return program;
}

}  // namespace

bool recognises(Bytes bytes) {
  return formOf(bytes) != Form::kNone;
}

Result<Program> readProgram(Bytes bytes, const std::string& name, std::shared_ptr<const void> owner) {
  switch (formOf(bytes)) {
    case Form::kBytecode:
      return named(readBytecode(bytes, std::move(owner)), name);
    case Form::kJaxExport:
      return named(readJaxExport(bytes, std::move(owner)), name);
    case Form::kText:
      return readText({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, name);
    case Form::kNone:
      break;
  }
  return fail(Code::kInvalidArgument,
              name + ": no StableHLO: neither a portable artifact, nor an export of JAX, nor text");
}

}  // namespace kiln::stablehlo
