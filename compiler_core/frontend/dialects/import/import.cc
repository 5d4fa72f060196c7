#include "compiler_core/frontend/dialects/import/import.h"

#include "compiler_core/analysis/dim_binding.h"
#include "compiler_core/analysis/shape_report.h"
#include "compiler_core/frontend/dialects/import/program_importer.h"
#include "compiler_core/frontend/dialects/import/survey.h"
#include "compiler_core/frontend/graph/bound_parameters.h"
#include "compiler_core/frontend/graph/input_symbols.h"
#include "compiler_core/frontend/graph/main_function.h"
#include "compiler_core/frontend/graph/pinned.h"
#include "compiler_core/frontend/graph/unsupported.h"
#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/types.h"
#include "mlir/IR/Verifier.h"

namespace kiln::dialects {
namespace {

using frontend::Captured;

constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 40;

std::string quoted(std::string_view text) {
  return (llvm::Twine("'") + llvm::StringRef(text) + "'").str();
}

// One import: the boundary of the program; ProgramImporter does what is in between.
class Importer {
 public:
  Importer(mlir::MLIRContext& context, const std::shared_ptr<const Program>& program,
           const frontend::ImportOptions& options)
      : program_(*program),
        entry_(entryOf(program->module.get())),
        builder_(&context),
        options_(options),
        binder_(options.dims, options.ranges),
        body_(builder_, captured_, program) {}

  Result<Captured> run();

 private:
  mlir::Location location(const std::string& name) {
    return mlir::NameLoc::get(builder_.getStringAttr(name));
  }
  void describe(const Survey& survey);
  Status bindParameters();
  Shape symbolsOf(const std::string& input, const analysis::BoundShape& bound);
  Result<mlir::Type> inputType(unsigned index);
  Status inputs();
  Status outputs(const Values& results);

  const Program& program_;
  mlir::func::FuncOp entry_;
  Captured captured_;
  mlir::OpBuilder builder_;
  mlir::func::FuncOp main_;
  const frontend::ImportOptions& options_;
  analysis::DimBinder binder_;
  ProgramImporter body_;
  std::vector<std::string> names_;  // by argument
  std::optional<frontend::BoundParameters> parameters_;
  llvm::SmallVector<ir::Range> limits_;  // of the symbols
  Values arguments_;                     // as uses see them
};

void Importer::describe(const Survey& survey) {
  ir::CaptureEvidence& evidence = captured_.capture;
  evidence.format = program_.form.starts_with("TOSA") ? "tosa" : "linalg";
  evidence.producer = program_.producer;
  evidence.functions = survey.functions - 1;
  evidence.nodesByOp = survey.byName;
  // Those of the entry function, each served as a whole.
  for (mlir::Operation& operation : entry_.getBody().front()) evidence.nodes += !isTerminator(operation);
}

Status Importer::bindParameters() {
  if (!options_.parameters || options_.parameters->empty()) return {};
  std::vector<parameters::Argument> wanted;
  for (auto [i, argument] : llvm::enumerate(entry_.getArguments())) {
    const auto type = llvm::cast<mlir::ShapedType>(argument.getType());
    parameters::Argument& one = wanted.emplace_back();
    // A name that the importer made up is none.
    if (argument.getLoc()->findInstanceOf<mlir::NameLoc>()) one.name = names_[i];
    one.dtype = *ir::dtypeOf(kilnElement(builder_.getContext(), type.getElementType()));
    for (const std::int64_t extent : type.getShape())
      one.shape.push_back(mlir::ShapedType::isDynamic(extent) ? -1 : extent);
  }
  KILN_ASSIGN(parameters_, frontend::BoundParameters::bind(wanted, *options_.parameters));
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (parameters_->isBound(i) && options_.pins.contains(names_[i]))
      return fail(Code::kFailedPrecondition, "a value is pinned for " + quoted(names_[i]) +
                                                 ", which the parameters give; leave one of them out");
  return {};
}

// Every dimension that the program leaves open is a symbol; those of one value are that number in the graph.
Shape Importer::symbolsOf(const std::string& input, const analysis::BoundShape& bound) {
  Shape shape = ir::toShape(bound.shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (bound.dimNames[i].empty()) continue;
    analysis::DimBounds bounds{bound.shape[i], bound.shape[i]};
    if (bound.shape[i] == analysis::kSymbolic) bounds = binder_.ranges().at(bound.dimNames[i]);
    const ir::Range range{bounds.min / bounds.multiple, bounds.max / bounds.multiple};
    const auto number = static_cast<unsigned>(captured_.symbols.size());
    captured_.symbols.push_back(
        {bound.dimNames[i], input, static_cast<std::int64_t>(i), false, {}, range, bounds.multiple});
    limits_.push_back(range);
    shape[i] = bound.shape[i] == analysis::kSymbolic
                   ? Dim::symbol(builder_.getContext(), number) * bounds.multiple
                   : Dim(bounds.min);
  }
  return shape;
}

Result<mlir::Type> Importer::inputType(unsigned index) {
  const auto type = llvm::cast<mlir::RankedTensorType>(entry_.getArgument(index).getType());
  const mlir::Type element = kilnElement(builder_.getContext(), type.getElementType());
  std::vector<analysis::DeclaredDim> declared;
  for (auto [i, extent] : llvm::enumerate(type.getShape())) {
    if (mlir::ShapedType::isDynamic(extent))
      declared.push_back({std::nullopt, names_[index] + "." + std::to_string(i)});
    else
      declared.push_back({extent, {}});
  }
  KILN_ASSIGN(const analysis::BoundShape bound, binder_.bind(names_[index], declared));
  const Shape shape = symbolsOf(names_[index], bound);
  Dims most;  // as large as the profiles let it be
  for (const Dim& dim : shape) most.push_back(ir::rangeOf(dim, limits_)->max);
  const auto bytes = ir::checkedBytes(mlir::RankedTensorType::get(most, element));
  if (!bytes || *bytes > kMaxTensorBytes)
    return invalid("input " + quoted(names_[index]) + " has the absurd shape " + shapeText(most));
  captured_.inputs.push_back({names_[index], *ir::dtypeOf(element), bound.shape, bound.dimNames});
  return ir::tensorTypeOf(shape, element);
}

Status Importer::inputs() {
  llvm::SmallVector<mlir::Type> types;
  for (unsigned i = 0; i < entry_.getNumArguments(); ++i) {
    if (parameters_ && parameters_->isBound(i)) continue;
    KILN_ASSIGN(const mlir::Type type, inputType(i));
    types.push_back(type);
  }
  KILN_TRY(binder_.finish());
  KILN_TRY(frontend::checkPins(options_.pins, captured_.inputs));
  main_ = mlir::func::FuncOp::create(builder_, builder_.getUnknownLoc(), ir::kMain,
                                     builder_.getFunctionType(types, {}));
  mlir::Block* block = main_.addEntryBlock();
  builder_.setInsertionPointToEnd(block);
  frontend::nameArguments(main_, captured_.inputs);
  ir::addSymbols(*captured_.module, captured_.symbols);
  unsigned next = 0;
  for (unsigned i = 0; i < entry_.getNumArguments(); ++i) {
    const mlir::Location place = location(names_[i]);
    if (parameters_ && parameters_->isBound(i)) {
      arguments_.push_back(parameters_->value(i, captured_.weights, builder_, place));
      continue;
    }
    Value value = block->getArgument(next);
    value.setLoc(place);
    if (const auto pin = options_.pins.find(names_[i]); pin != options_.pins.end()) {
      KILN_ASSIGN(value, frontend::pinnedValue(builder_, place, captured_.inputs[next], pin->second));
    }
    arguments_.push_back(value);
    ++next;
  }
  return {};
}

Status Importer::outputs(const Values& results) {
  const ir::SizeTexts sizes(*captured_.module);
  for (auto [i, result] : llvm::enumerate(results)) {
    captured_.outputs.push_back(
        frontend::signatureOf("result" + std::to_string(i), ir::tensorType(result), sizes));
  }
  frontend::returnResults(builder_, main_, results, captured_.outputs);
  return {};
}

Result<Captured> Importer::run() {
  if (!entry_)
    return invalid("the program has no function to run: one called main, or a single public one, is needed");
  KILN_ASSIGN(const Survey found, survey(entry_));
  describe(found);
  if (!found.unsupported.empty())
    return fail(frontend::unsupportedError(found.unsupported, found.operations));
  for (const mlir::Value argument : entry_.getArguments())
    if (!llvm::isa<mlir::RankedTensorType>(argument.getType()))
      return unserved("an argument of type " + textOf(argument.getType()) + " is not served: tensors are");
  names_ = argumentNames(entry_);
  captured_.module = mlir::ModuleOp::create(builder_.getUnknownLoc());
  builder_.setInsertionPointToEnd(captured_.module->getBody());
  KILN_TRY(bindParameters());
  KILN_TRY(inputs());
  KILN_ASSIGN(const Values results, body_.function(entry_, arguments_));
  if (!captured_.capture.unsupported.empty())
    return fail(frontend::unsupportedError(captured_.capture.unsupported, found.operations));
  KILN_TRY(outputs(results));
  if (failed(mlir::verify(*captured_.module)))
    return fail(Code::kInternal, "the imported module does not verify");
  captured_.analyse.dims = binder_.used();
  captured_.analyse.shapes = analysis::shapeReport(*captured_.module);
  return std::move(captured_);
}

}  // namespace

Result<Captured> importProgram(mlir::MLIRContext& context, const std::shared_ptr<const Program>& program,
                               const frontend::ImportOptions& options) {
  return Importer(context, program, options).run();
}

}  // namespace kiln::dialects
