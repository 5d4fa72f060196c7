#include "compiler_core/frontend/stablehlo/import/import.h"

#include <set>

#include "compiler_core/analysis/constant_values.h"
#include "compiler_core/analysis/shape_report.h"
#include "compiler_core/frontend/graph/bound_parameters.h"
#include "compiler_core/frontend/graph/unsupported.h"
#include "compiler_core/frontend/stablehlo/import/program_importer.h"
#include "compiler_core/frontend/stablehlo/import/unserved.h"
#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/types.h"
#include "mlir/IR/Verifier.h"

namespace kiln::stablehlo {
namespace {

using frontend::Captured;

constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 40;
constexpr std::size_t kMaxName = 4096;

std::string quoted(std::string_view text) {
  return (llvm::Twine("'") + llvm::StringRef(text) + "'").str();
}

// Names that are free of each other: the wanted one, or one with a number behind it.
class Names {
 public:
  std::string take(std::string wanted) {
    if (wanted.size() > kMaxName) wanted.resize(kMaxName);
    std::string name = wanted;
    for (int next = 2; !taken_.insert(name).second; ++next) name = wanted + "." + std::to_string(next);
    return name;
  }

 private:
  std::set<std::string> taken_;
};

// One import: the boundary of the program; ProgramImporter does what is in between.
class Importer {
 public:
  Importer(mlir::MLIRContext& context, const Program& program, const frontend::ImportOptions& options)
      : context_(&context),
        program_(program),
        builder_(&context),
        options_(options),
        body_(program, builder_, captured_) {}

  Result<Captured> run();

 private:
  mlir::Location location(const std::string& name) {
    return mlir::NameLoc::get(builder_.getStringAttr(name));
  }
  void describe(const Survey& survey);
  Result<ir::Signature> argument(std::size_t index, std::string name) const;
  Result<std::optional<frontend::BoundParameters>> boundParameters(
      const std::vector<ir::Signature>& declared) const;
  Status inputs();
  Result<Value> pinned(const ir::Signature& input, const std::vector<PinValue>& values);
  Status checkPins() const;
  std::string outputName(std::size_t index) const;
  Status outputs(const Values& results);
  llvm::SmallVector<mlir::DictionaryAttr> namesOf(llvm::ArrayRef<ir::Signature> tensors);

  mlir::MLIRContext* const context_;
  const Program& program_;
  const Function* entry_ = nullptr;
  Captured captured_;
  mlir::OpBuilder builder_;
  mlir::func::FuncOp main_;
  const frontend::ImportOptions& options_;
  ProgramImporter body_;
  Values arguments_;  // as uses see them
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

// An argument of the program as it is declared.
Result<ir::Signature> Importer::argument(std::size_t index, std::string name) const {
  const Type& type = entry_->types[entry_->body.arguments[index]];
  for (std::int64_t extent : type.shape)
    if (extent < 0) return invalid("input " + quoted(name) + " has a negative extent");
  const mlir::Type element = elementType(context_, type.element);
  const auto bytes = ir::checkedBytes(mlir::RankedTensorType::get(type.shape, element));
  if (!bytes || *bytes > kMaxTensorBytes)
    return invalid("input " + quoted(name) + " has the absurd shape " + shapeText(type.shape));
  return ir::Signature{std::move(name), *ir::dtypeOf(element), type.shape,
                       std::vector<std::string>(type.shape.size())};
}

// Inputs that are given as files are none of the program's.
Result<std::optional<frontend::BoundParameters>> Importer::boundParameters(
    const std::vector<ir::Signature>& declared) const {
  std::optional<frontend::BoundParameters> bound;
  if (!options_.parameters || options_.parameters->empty()) return bound;
  std::vector<parameters::Argument> arguments;
  for (const ir::Signature& one : declared) arguments.push_back({one.name, one.dtype, one.shape});
  KILN_ASSIGN(bound, frontend::BoundParameters::bind(arguments, *options_.parameters));
  for (std::size_t i = 0; i < declared.size(); ++i)
    if (bound->isBound(i) && options_.pins.contains(declared[i].name))
      return fail(Code::kFailedPrecondition, "a value is pinned for " + quoted(declared[i].name) +
                                                 ", which the parameters give; leave one of them out");
  return bound;
}

Status Importer::inputs() {
  std::vector<ir::Signature> declared;
  for (auto [i, name] : llvm::enumerate(inputNames(*entry_))) {
    KILN_ASSIGN(ir::Signature one, argument(i, name));
    declared.push_back(std::move(one));
  }
  KILN_ASSIGN(std::optional<frontend::BoundParameters> bound, boundParameters(declared));
  llvm::SmallVector<mlir::Type> types;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    if (bound && bound->isBound(i)) continue;
    types.push_back(mlir::RankedTensorType::get(declared[i].shape,
                                                ir::elementType(builder_.getContext(), declared[i].dtype)));
    captured_.inputs.push_back(declared[i]);
  }
  main_ = mlir::func::FuncOp::create(builder_, builder_.getUnknownLoc(), ir::kMain,
                                     builder_.getFunctionType(types, {}));
  mlir::Block* block = main_.addEntryBlock();
  builder_.setInsertionPointToEnd(block);
  main_.setAllArgAttrs(namesOf(captured_.inputs));
  unsigned next = 0;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const ir::Signature& input = declared[i];
    if (bound && bound->isBound(i)) {
      arguments_.push_back(bound->value(i, captured_.weights, builder_, location(input.name)));
      continue;
    }
    block->getArgument(next).setLoc(location(input.name));
    Value value = block->getArgument(next++);
    if (const auto pin = options_.pins.find(input.name); pin != options_.pins.end()) {
      auto fixed = pinned(input, pin->second);
      if (!fixed) {
        Error error = fixed.error().in("pinned input " + quoted(input.name));
        if (error.code == Code::kInvalidArgument)
          error.code = Code::kFailedPrecondition;  // not the program's
        return fail(std::move(error));
      }
      value = *fixed;
    }
    arguments_.push_back(value);
  }
  return checkPins();
}

Result<Value> Importer::pinned(const ir::Signature& input, const std::vector<PinValue>& values) {
  std::int64_t elements = 1;
  for (std::int64_t extent : input.shape) elements *= extent;  // bounded by inputs()
  if (elements != static_cast<std::int64_t>(values.size()))
    return invalid("the pin has " + std::to_string(values.size()) + " values, shape " +
                   shapeText(input.shape) + " has " + std::to_string(elements) + " elements; give --pin " +
                   input.name + "= all of them");
  KILN_ASSIGN(std::vector<std::uint8_t> bytes, pinBytes(input.dtype, values));
  if (bytes.size() > static_cast<std::size_t>(ir::kMaxConstantBytes))
    return unserved("a pin of " + std::to_string(bytes.size()) + " bytes; at most " +
                    std::to_string(ir::kMaxConstantBytes) + " are served");
  Bytes data = bytes;
  const std::size_t width = dtypeBytes(input.dtype);
  if (analysis::isSplat(data, width)) data = data.first(width);
  auto held = analysis::toElements(builder_.getContext(), input.dtype, input.shape, data);
  return ir::ConstantOp::create(builder_, location(input.name), held.getType(), held).getResult();
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
std::string Importer::outputName(std::size_t index) const {
  if (index < entry_->resultAttributes.size()) {
    const Attributes& attributes = entry_->resultAttributes[index];
    const auto found = attributes.find("jax.result_info");
    const auto* text = found == attributes.end() ? nullptr : std::get_if<std::string>(&found->second.value);
    if (text && !text->empty()) return text->starts_with("result") ? *text : "result" + *text;
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
  Names names;
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto type = ir::tensorType(results[i]);
    captured_.outputs.push_back({names.take(outputName(i)), *ir::dtypeOf(type.getElementType()),
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

std::vector<std::string> inputNames(const Function& entry) {
  std::vector<std::string> names;
  Names free;
  for (std::size_t i = 0; i < entry.body.arguments.size(); ++i) {
    const std::string given = i < entry.arguments.size() ? entry.arguments[i].name : std::string();
    names.push_back(free.take(given.empty() ? "arg" + std::to_string(i) : given));
  }
  return names;
}

Result<Captured> importProgram(mlir::MLIRContext& context, const Program& program,
                               const frontend::ImportOptions& options) {
  return Importer(context, program, options).run();
}

}  // namespace kiln::stablehlo
