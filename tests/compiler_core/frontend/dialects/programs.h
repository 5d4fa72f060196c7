// Programs of TOSA and linalg for tests, as text and as bytecode.
#pragma once

#include <string>

#include "compiler_core/frontend/dialects/read/read.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Bytecode/BytecodeWriter.h"

namespace kiln::testing_support {

// A function @main of these arguments ("%x: tensor<2xf32>") and result types; `body` ends in "return".
inline std::string mainOf(const std::string& arguments, const std::string& results, const std::string& body,
                          const std::string& others = "") {
  return "func.func @main(" + arguments + ") -> (" + results + ") {\n" + body + "\n}\n" + others;
}

// x * x as TOSA has it.
inline std::string square() {
  return mainOf("%x: tensor<3xf32>", "tensor<3xf32>",
                "%s = \"tosa.const\"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>\n"
                "%0 = tosa.mul %x, %x, %s : (tensor<3xf32>, tensor<3xf32>, tensor<1xi8>) -> tensor<3xf32>\n"
                "return %0 : tensor<3xf32>");
}

// As MLIR itself writes it; "" for text that is none.
inline std::string bytecodeOf(const std::string& text, const std::string& producer = "MLIR22.1.8") {
  auto program = dialects::readProgram(asBytes(text), "test.mlir");
  if (!program) return {};
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  const mlir::BytecodeWriterConfig config(producer);
  if (failed(mlir::writeBytecodeToFile(program->module.get(), stream, config))) return {};
  return bytes;
}

}  // namespace kiln::testing_support
