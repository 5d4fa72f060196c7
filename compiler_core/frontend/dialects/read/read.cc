#include "compiler_core/frontend/dialects/read/read.h"

#include <optional>

#include "compiler_core/frontend/dialects/read/form.h"
#include "compiler_core/frontend/dialects/read/rehearsal.h"
#include "compiler_core/frontend/text/text_bounds.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "manifest/base/printable.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

namespace kiln::dialects {
namespace {

constexpr std::string_view kProducer = "MLIR22.";

std::shared_ptr<mlir::MLIRContext> freshContext() {
  auto context = std::make_shared<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  // So that what is not known is refused by name and not by the parser.
  context->allowUnregisteredDialects();
  context->loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::linalg::LinalgDialect,
                       mlir::math::MathDialect, mlir::tensor::TensorDialect, mlir::tosa::TosaDialect>();
  return context;
}

// Where a diagnostic is: "12:7: ", or nothing.
std::string placeOf(mlir::Location location) {
  if (const auto place = location->findInstanceOf<mlir::FileLineColLoc>())
    return std::to_string(place.getLine()) + ":" + std::to_string(place.getColumn()) + ": ";
  return {};
}

// With a NUL behind the bytes, which the parser wants.
mlir::OwningOpRef<mlir::ModuleOp> parse(mlir::MLIRContext& context, const std::string& bytes,
                                        const std::string& name) {
  return mlir::parseSourceString<mlir::ModuleOp>(
      bytes, mlir::ParserConfig(&context, /*verifyAfterParse=*/true), name);
}

// All that is done with a module here, so that what crashes or recurses too deeply does it in the child.
void tryOut(const std::string& bytes, const std::string& name) {
  const auto context = freshContext();
  const mlir::ScopedDiagnosticHandler quiet(context.get(), [](mlir::Diagnostic&) { return mlir::success(); });
  auto module = parse(*context, bytes, name);
  if (module)
    module->print(llvm::nulls(), mlir::OpPrintingFlags().elideLargeElementsAttrs(16).assumeVerified());
}

Status checkBounds(Bytes bytes, Form form) {
  if (form == Form::kText)
    return frontend::checkTextBounds({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                                     frontend::AffineMaps::kShort);
  const std::string_view producer = producerOf(bytes);
  if (producer.starts_with(kProducer)) return {};
  return fail(Code::kUnimplemented,
              (producer.empty() ? "the bytecode does not say which MLIR wrote it"
                                : "the bytecode was written by " + printable(producer)) +
                  ", and that of MLIR 22 alone is read, since other versions would be read wrong; give the "
                  "program as text, as mlir-opt of the version that wrote it prints it");
}

std::string formName(mlir::ModuleOp module, Form form) {
  bool hasTosa = false, hasLinalg = false;
  module.walk([&](mlir::Operation* operation) {
    const llvm::StringRef dialect = operation->getName().getDialectNamespace();
    hasTosa |= dialect == "tosa";
    hasLinalg |= dialect == "linalg";
  });
  const std::string name = hasTosa && hasLinalg ? "TOSA 1.0 and linalg" : hasTosa ? "TOSA 1.0" : "linalg";
  return name + (form == Form::kText ? " text" : " bytecode");
}

}  // namespace

Result<Program> readProgram(Bytes bytes, const std::string& name) {
  const Form form = formOf(bytes);
  if (form == Form::kNone)
    return fail(Code::kInvalidArgument, name + ": neither text nor bytecode of TOSA or linalg");
  if (Status bounded = checkBounds(bytes, form); !bounded)
    return fail(
        Error{bounded.error().code, name + (form == Form::kText ? ":" : ": ") + bounded.error().message, {}});
  const std::string copy(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::uint64_t memory = (std::uint64_t{1} << 30) + 64 * std::uint64_t{copy.size()};
  if (Status done = rehearse(memory, [&] { tryOut(copy, name); }); !done) {
    if (done.error().code != Code::kInvalidArgument) return fail(done.error().in(name));
    return fail(Code::kInvalidArgument,
                name + ": MLIR's reader cannot read it (" + done.error().message +
                    "): the file is damaged, or nests too deeply, or is too large for the memory there is");
  }
  auto context = freshContext();
  std::optional<Error> first;
  mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic& diagnostic) {
    if (!first && diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      first = Error{Code::kInvalidArgument,
                    name + ":" + placeOf(diagnostic.getLocation()) + printable(diagnostic.str()),
                    {}};
    return mlir::success();
  });
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(*context, copy, name);
  if (!module) return fail(first.value_or(Error{Code::kInvalidArgument, name + ": no module of MLIR", {}}));
  std::string formText = formName(*module, form);
  return Program{std::move(context), std::move(module), std::move(formText),
                 form == Form::kBytecode ? printable(producerOf(bytes)) : std::string()};
}

}  // namespace kiln::dialects
