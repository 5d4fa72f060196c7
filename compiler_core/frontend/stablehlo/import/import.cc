#include "compiler_core/frontend/stablehlo/import/import.h"

#include "compiler_core/analysis/dim_binding.h"
#include "compiler_core/analysis/shape_report.h"
#include "compiler_core/frontend/graph/bound_parameters.h"
#include "compiler_core/frontend/graph/pinned.h"
#include "compiler_core/frontend/graph/unsupported.h"
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

constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 40;

std::string quoted(std::string_view text) {
  return (llvm::Twine("'") + llvm::StringRef(text) + "'").str();
}

// One import: the boundary of the program; ProgramImporter does what is in between.
class Importer {
 public:
  Importer(mlir::MLIRContext& context, const Program& program, const frontend::ImportOptions& options)
      : program_(program), builder_(&context), options_(options), body_(program, builder_, captured_) {}

  Result<Captured> run();

 private:
  mlir::Location location(const std::string& name) {
    return mlir::NameLoc::get(builder_.getStringAttr(name));
  }
  void describe(const Survey& survey);
  Result<std::vector<ir::Signature>> arguments();
  Status bindParameters(const std::vector<ir::Signature>& arguments);
  Status inputs();
  Status checkPins() const;
  Result<std::string> outputName(std::size_t index) const;
  Status outputs(const Values& results);
  llvm::SmallVector<mlir::DictionaryAttr> namesOf(llvm::ArrayRef<ir::Signature> tensors);

  const Program& program_;
  const Function* entry_ = nullptr;
  Captured captured_;
  mlir::OpBuilder builder_;
  mlir::func::FuncOp main_;
  const frontend::ImportOptions& options_;
  ProgramImporter body_;
  std::optional<frontend::BoundParameters> parameters_;
  std::vector<bool> isBound_;  // by argument
  Values arguments_;           // as uses see them
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

// What the entry function is called with, as the outside names it.
Result<std::vector<ir::Signature>> Importer::arguments() {
  std::vector<ir::Signature> arguments;
  const std::vector<std::string> names = argumentNames(*entry_);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Type& type = entry_->types[entry_->body.arguments[i]];
    for (std::int64_t extent : type.shape)
      if (extent < 0) return invalid("input " + quoted(names[i]) + " has a negative extent");
    const mlir::Type element = elementType(builder_.getContext(), type.element);
    const auto bytes = ir::checkedBytes(mlir::RankedTensorType::get(type.shape, element));
    if (!bytes || *bytes > kMaxTensorBytes)
      return invalid("input " + quoted(names[i]) + " has the absurd shape " + shapeText(type.shape));
    arguments.push_back(
        {names[i], *ir::dtypeOf(element), type.shape, std::vector<std::string>(type.shape.size())});
  }
  return arguments;
}

// Those of `arguments` that no file gives are the program's inputs.
Status Importer::bindParameters(const std::vector<ir::Signature>& arguments) {
  isBound_.assign(arguments.size(), false);
  if (options_.parameters && !options_.parameters->empty()) {
    std::vector<parameters::Argument> wanted;
    // A name that the importer made up is none.
    for (std::size_t i = 0; i < arguments.size(); ++i)
      wanted.push_back({i < entry_->arguments.size() ? entry_->arguments[i].name : std::string(),
                        arguments[i].dtype, arguments[i].shape});
    KILN_ASSIGN(parameters_, frontend::BoundParameters::bind(wanted, *options_.parameters));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    isBound_[i] = parameters_ && parameters_->isBound(i);
    if (!isBound_[i]) {
      captured_.inputs.push_back(arguments[i]);
    } else if (options_.pins.contains(arguments[i].name)) {
      return fail(Code::kFailedPrecondition, "a value is pinned for " + quoted(arguments[i].name) +
                                                 ", which the parameters give; leave one of them out");
    }
  }
  return {};
}

Status Importer::inputs() {
  KILN_ASSIGN(const std::vector<ir::Signature> given, arguments());
  KILN_TRY(bindParameters(given));
  llvm::SmallVector<mlir::Type> types;
  for (const ir::Signature& input : captured_.inputs)
    types.push_back(
        mlir::RankedTensorType::get(input.shape, ir::elementType(builder_.getContext(), input.dtype)));
  main_ = mlir::func::FuncOp::create(builder_, builder_.getUnknownLoc(), ir::kMain,
                                     builder_.getFunctionType(types, {}));
  mlir::Block* block = main_.addEntryBlock();
  builder_.setInsertionPointToEnd(block);
  main_.setAllArgAttrs(namesOf(captured_.inputs));
  unsigned next = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const mlir::Location place = location(given[i].name);
    if (isBound_[i]) {
      arguments_.push_back(parameters_->value(i, captured_.weights, builder_, place));
      continue;
    }
    Value value = block->getArgument(next++);
    value.setLoc(place);
    if (const auto pin = options_.pins.find(given[i].name); pin != options_.pins.end()) {
      KILN_ASSIGN(value, frontend::pinnedValue(builder_, place, given[i], pin->second));
    }
    arguments_.push_back(value);
  }
  KILN_TRY(analysis::DimBinder(options_.dims, options_.ranges).finish());
  return checkPins();
}

Status Importer::checkPins() const {
  for (const auto& [name, values] : options_.pins) {
    if (llvm::any_of(captured_.inputs, [&](const ir::Signature& input) { return input.name == name; }))
      continue;
    std::string known;
    for (const ir::Signature& input : captured_.inputs)
      known += (known.empty() ? "" : ", ") + quoted(input.name);
    return fail(Code::kFailedPrecondition, "a value is pinned for " + quoted(name) +
                                               ", which is no input of the model; its inputs are " + known);
  }
  return {};
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

llvm::SmallVector<mlir::DictionaryAttr> Importer::namesOf(llvm::ArrayRef<ir::Signature> tensors) {
  llvm::SmallVector<mlir::DictionaryAttr> names;
  for (const ir::Signature& tensor : tensors)
    names.push_back(builder_.getDictionaryAttr(ir::NameAttr::named(builder_.getStringAttr(tensor.name))));
  return names;
}

Status Importer::outputs(const Values& results) {
  FreeNames names;
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto type = ir::tensorType(results[i]);
    KILN_ASSIGN(std::string name, outputName(i));
    captured_.outputs.push_back({names.take(std::move(name)), *ir::dtypeOf(type.getElementType()),
                                 type.getShape().vec(),
                                 std::vector<std::string>(static_cast<std::size_t>(type.getRank()))});
  }
  mlir::func::ReturnOp::create(builder_, builder_.getUnknownLoc(), results);
  main_.setFunctionType(
      builder_.getFunctionType(main_.getArgumentTypes(), mlir::TypeRange(mlir::ValueRange(results))));
  main_.setAllResultAttrs(namesOf(captured_.outputs));
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
  return Importer(context, program, options).run();
}

}  // namespace kiln::stablehlo
