#include "compiler_core/driver/compilation.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler_core/frontend/graph/captured.h"
#include "compiler_core/package/files.h"
#include "mlir/Pass/Pass.h"

namespace kiln::driver {
namespace {

// One target with the features of the spec, or the parts of "a,b".
Result<std::vector<Target>> partsOf(const Target& target) {
  if (target.name.find(',') == std::string::npos) return std::vector<Target>{target};
  return parseTargets(target.name);
}

}  // namespace

const Target& Targets::named(std::string_view name) const {
  return *std::ranges::find(all, name, &Target::name);
}

Result<Targets> targetsOf(const CompileRequest& request) {
  Targets targets;
  KILN_ASSIGN(targets.all, partsOf(request.target));
  KILN_TRY(checkRules(request.partition, targetNames(request.target.name)));
  KILN_ASSIGN(targets.host, parseTarget(kHostTarget));
  // A device's program has a processor beside it, which what the device cannot serve falls back to.
  const bool hasProcessor = llvm::any_of(targets.all, [](const Target& t) { return t.device.empty(); });
  if (request.fallback && !hasProcessor) {
    targets.all.push_back(targets.host);
    targets.fallsBackToHost = true;
  }
  return targets;
}

Status IrWriter::write(std::string_view stage, std::string_view text, std::string_view extension) {
  if (directory_.empty()) return {};
  KILN_TRY(package::writeFile(fmt::format("{}/{:02}-{}.{}", directory_, ++count_, stage, extension),
                              asBytes(text)));
  return {};
}

Status IrWriter::write(std::string_view stage, mlir::ModuleOp module) {
  if (directory_.empty()) return {};
  std::string text;
  llvm::raw_string_ostream(text) << module << "\n";
  return write(stage, text, "mlir");
}

Compilation::Compilation(const CompileRequest& wanted, const CompileObserver& watching, Targets servedTargets)
    : request(wanted),
      observer(watching),
      targets(std::move(servedTargets)),
      context(mlir::MLIRContext::Threading::DISABLED),
      ir(watching.irDirectory) {
  frontend::prepareContext(context);
  if (!observer.afterPass) return;
  context.registerActionHandler(
      [this](llvm::function_ref<void()> transform, const mlir::tracing::Action& action) {
        transform();
        const auto* pass = llvm::dyn_cast<mlir::PassExecutionAction>(&action);
        // Adaptors, which only run other passes, have no argument.
        if (pass && !pass->getPass().getArgument().empty())
          observer.afterPass(std::string_view(pass->getPass().getArgument()), *pass->getOp());
      });
}

void Compilation::begin(Stage stage) const {
  if (observer.progress) observer.progress(stage);
}

bool Compilation::isDisabled(std::string_view pass) const {
  return llvm::is_contained(request.disabledPasses, pass);
}

}  // namespace kiln::driver
