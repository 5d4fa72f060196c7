#include "compiler_core/frontend/stablehlo/import/import.h"

#include "compiler_core/analysis/dim_binding.h"
#include "compiler_core/analysis/shape_report.h"
#include "compiler_core/frontend/graph/bound_parameters.h"
#include "compiler_core/frontend/graph/input_symbols.h"
#include "compiler_core/frontend/graph/main_function.h"
#include "compiler_core/frontend/graph/pinned.h"
#include "compiler_core/frontend/graph/unsupported.h"
#include "compiler_core/frontend/stablehlo/complex/split.h"
#include "compiler_core/frontend/stablehlo/import/entry_arguments.h"
#include "compiler_core/frontend/stablehlo/import/names.h"
#include "compiler_core/frontend/stablehlo/import/program_importer.h"
#include "compiler_core/frontend/stablehlo/import/unserved.h"
#include "compiler_core/frontend/stablehlo/program/name.h"
#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/types.h"
#include "manifest/base/printable.h"
#include "mlir/IR/Verifier.h"

namespace kiln::stablehlo {
namespace {

using frontend::Captured;

std::string quoted(std::string_view text) {
  return (llvm::Twine("'") + llvm::StringRef(text) + "'").str();
}

// One import: the boundary of the program; ProgramImporter does what is in between.
class Importer {
 public:
  Importer(mlir::MLIRContext& context, const Program& program, const frontend::ImportOptions& options)
      : program_(program),
        builder_(&context),
        options_(options),
        symbols_(&context, options),
        body_(program, builder_, captured_) {}

  Result<Captured> run();

 private:
  mlir::Location location(const std::string& name) {
    return mlir::NameLoc::get(builder_.getStringAttr(name));
  }
  void describe(const Survey& survey);
  DType dtypeOf(std::size_t argument);
  Status bindParameters();
  // The argument of @main that becomes of an argument that no file gives.
  Result<mlir::Type> input(std::size_t argument);
  Result<Value> valueOf(std::size_t argument, mlir::Block& block, unsigned& next);
  Status inputs();
  Result<std::string> outputName(std::size_t index) const;
  Status outputs(const Values& results);

  const Program& program_;
  const Function* entry_ = nullptr;
  Captured captured_;
  mlir::OpBuilder builder_;
  mlir::func::FuncOp main_;
  const frontend::ImportOptions& options_;
  frontend::InputSymbols symbols_;
  ProgramImporter body_;
  std::optional<frontend::BoundParameters> parameters_;
  std::vector<EntryArgument> given_;               // by argument, as the rest
  std::vector<std::optional<std::size_t>> bound_;  // its number in parameters_, where a file gives it
  Values arguments_;                               // as uses see them
};

void Importer::describe(const Survey& survey) {
  ir::CaptureEvidence& evidence = captured_.capture;
  evidence.format = "stablehlo";
  evidence.producer = program_.producer;
  evidence.functions = survey.functions - 1;
  evidence.nodesByOp = survey.byName;
  // Those of the entry function, each served as a whole.
  for (const Operation& operation : entry_->body.operations) evidence.nodes += operation.name != "return";
}

DType Importer::dtypeOf(std::size_t argument) {
  const Type& type = entry_->types[entry_->body.arguments[argument]];
  return *ir::dtypeOf(elementType(builder_.getContext(), type.element));
}

// Which arguments files give.
Status Importer::bindParameters() {
  bound_.resize(given_.size());
  if (!options_.parameters || options_.parameters->empty()) return {};
  std::vector<parameters::Argument> wanted;
  std::vector<std::size_t> places;  // what JAX hands in by itself is nobody's parameter
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if (platformIndex(program_, given_[i])) continue;
    // A name that the importer made up is none.
    wanted.push_back({given_[i].own, dtypeOf(i), entry_->types[entry_->body.arguments[i]].shape});
    places.push_back(i);
  }
  KILN_ASSIGN(parameters_, frontend::BoundParameters::bind(wanted, *options_.parameters));
  for (std::size_t k = 0; k < places.size(); ++k) {
    if (!parameters_->isBound(k)) continue;
    bound_[places[k]] = k;
    if (options_.pins.contains(given_[places[k]].label))
      return fail(Code::kFailedPrecondition, "a value is pinned for " + quoted(given_[places[k]].label) +
                                                 ", which the parameters give; leave one of them out");
  }
  return {};
}

Result<mlir::Type> Importer::input(std::size_t argument) {
  const Type& type = entry_->types[entry_->body.arguments[argument]];
  const EntryArgument& given = given_[argument];
  std::vector<analysis::DeclaredDim> dims;
  for (std::size_t i = 0; i < type.shape.size(); ++i)
    dims.push_back(type.shape[i] == kDynamic ? analysis::DeclaredDim{std::nullopt, given.dims[i]}
                                             : analysis::DeclaredDim{type.shape[i], {}});
  KILN_ASSIGN(frontend::InputSymbols::Input made, symbols_.input(given.label, dtypeOf(argument), dims));
  captured_.inputs.push_back(std::move(made.signature));
  return ir::tensorTypeOf(made.extents, elementType(builder_.getContext(), type.element));
}

// What uses see of an argument; `next` is the argument of @main that comes next.
Result<Value> Importer::valueOf(std::size_t argument, mlir::Block& block, unsigned& next) {
  const std::string& label = given_[argument].label;
  const mlir::Location place = location(label);
  if (bound_[argument]) return parameters_->value(*bound_[argument], captured_.weights, builder_, place);
  if (const auto index = platformIndex(program_, given_[argument]))
    return frontend::GraphBuilder(builder_, place)
        .scalar(ir::elementType(builder_.getContext(), dtypeOf(argument)), static_cast<double>(*index));
  Value value = block.getArgument(next);
  value.setLoc(place);
  if (const auto pin = options_.pins.find(label); pin != options_.pins.end()) {
    KILN_ASSIGN(value, frontend::pinnedValue(builder_, place, captured_.inputs[next], pin->second));
  }
  ++next;
  return value;
}

Status Importer::inputs() {
  given_ = entryArguments(program_, *entry_);
  KILN_TRY(bindParameters());
  llvm::SmallVector<mlir::Type> types;
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if (bound_[i] || platformIndex(program_, given_[i])) continue;
    KILN_ASSIGN(const mlir::Type type, input(i));
    types.push_back(type);
  }
  KILN_TRY(symbols_.binder().finish());
  captured_.symbols = symbols_.symbols();
  captured_.analyse.dims = symbols_.binder().used();
  ir::addSymbols(*captured_.module, captured_.symbols);
  main_ = mlir::func::FuncOp::create(builder_, builder_.getUnknownLoc(), ir::kMain,
                                     builder_.getFunctionType(types, {}));
  mlir::Block* block = main_.addEntryBlock();
  builder_.setInsertionPointToEnd(block);
  frontend::nameArguments(main_, captured_.inputs);
  unsigned next = 0;
  for (std::size_t i = 0; i < given_.size(); ++i) {
    KILN_ASSIGN(const Value value, valueOf(i, *block, next));
    arguments_.push_back(value);
  }
  return frontend::checkPins(options_.pins, captured_.inputs);
}

// JAX says which part of the result it is: "[0]['loss']"; one result has an empty text.
Result<std::string> Importer::outputName(std::size_t index) const {
  if (index < entry_->resultAttributes.size()) {
    const Attributes& attributes = entry_->resultAttributes[index];
    const auto found = attributes.find("jax.result_info");
    const auto* text = found == attributes.end() ? nullptr : std::get_if<std::string>(&found->second.value);
    if (text && !text->empty() && !isName(*text))
      return invalid("function " + entry_->name + ": result " + std::to_string(index) +
                     ": its name (jax.result_info) " + inQuotes(*text) +
                     " has characters that cannot be shown; name the result otherwise");
    // A path within the result, or a name.
    if (text && !text->empty()) return (*text)[0] == '[' || (*text)[0] == '.' ? "result" + *text : *text;
  }
  return "result" + std::to_string(index);
}

Status Importer::outputs(const Values& results) {
  FreeNames names;
  const ir::SizeTexts sizes(*captured_.module);
  for (std::size_t i = 0; i < results.size(); ++i) {
    KILN_ASSIGN(std::string name, outputName(i));
    captured_.outputs.push_back(
        frontend::signatureOf(names.take(std::move(name)), ir::tensorType(results[i]), sizes));
  }
  frontend::returnResults(builder_, main_, results, captured_.outputs);
  return {};
}

Result<Captured> Importer::run() {
  entry_ = program_.entry();
  if (!entry_)
    return invalid("the program has no function to run: one called main, or a single public one, is needed");
  KILN_ASSIGN(const Survey found, survey(program_, *entry_));
  describe(found);
  if (!found.unsupported.empty())
    return fail(frontend::unsupportedError(found.unsupported, found.operations));
  captured_.module = mlir::ModuleOp::create(builder_.getUnknownLoc());
  builder_.setInsertionPointToEnd(captured_.module->getBody());
  KILN_TRY(inputs());
  KILN_ASSIGN(const Values results, body_.function(*entry_, arguments_));
  if (!captured_.capture.unsupported.empty())
    return fail(frontend::unsupportedError(captured_.capture.unsupported, found.operations));
  KILN_TRY(outputs(results));
  if (failed(mlir::verify(*captured_.module)))
    return fail(Code::kInternal, "the imported module does not verify");
  captured_.analyse.shapes = analysis::shapeReport(*captured_.module);
  return std::move(captured_);
}

}  // namespace

Result<Captured> importProgram(mlir::MLIRContext& context, const Program& program,
                               const frontend::ImportOptions& options) {
  if (!hasComplex(program) || !program.entry()) return Importer(context, program, options).run();
  // What is not served is told of the program as it is written.
  KILN_ASSIGN(const Survey found, survey(program, *program.entry()));
  if (!found.unsupported.empty())
    return fail(frontend::unsupportedError(found.unsupported, found.operations));
  const Program reals = splitComplex(program, found.reached);
  return Importer(context, reals, options).run();
}

}  // namespace kiln::stablehlo
