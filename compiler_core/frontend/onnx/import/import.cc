#include "compiler_core/frontend/onnx/import/import.h"

#include <set>

#include "compiler_core/analysis/constant_values.h"
#include "compiler_core/analysis/shape_report.h"
#include "compiler_core/frontend/graph/bound_parameters.h"
#include "compiler_core/frontend/graph/input_symbols.h"
#include "compiler_core/frontend/graph/main_function.h"
#include "compiler_core/frontend/graph/pinned.h"
#include "compiler_core/frontend/graph/unsupported.h"
#include "compiler_core/frontend/onnx/import/graph_importer.h"
#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/types.h"
#include "mlir/IR/Verifier.h"

namespace kiln::onnx {
namespace {

std::string domainName(std::string_view domain) {
  return domain.empty() ? "ai.onnx" : std::string(domain);
}
std::string_view plainDomain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}
std::string quoted(std::string_view text) {
  return (llvm::Twine("'") + llvm::StringRef(text) + "'").str();
}

// The tensors of a sequence "x" are called "x.0", "x.1"...: names that the model may give to others.
std::string sharedName(std::string_view kind, const std::string& name) {
  return "two " + std::string(kind) + "s would be called " + quoted(name) +
         ", one as part of a sequence; rename one in the model";
}

// One import: the boundary of the model; GraphImporter does what is in between.
class Importer {
 public:
  Importer(mlir::MLIRContext& context, const LoadedModel& loaded, const ImportOptions& options)
      : model_(loaded.model),
        builder_(&context),
        options_(options),
        symbols_(&context, options),
        initializers_(captured_.weights, loaded.file, loaded.directory),
        graph_(model_, builder_, initializers_, captured_),
        scope_(model_.graph, model_.opsets, nullptr) {}

  Result<Captured> run();

 private:
  mlir::Location location(const std::string& name) {
    return mlir::NameLoc::get(builder_.getStringAttr(name));
  }
  void describe();
  // One more argument of @main.
  Status argument(const std::string& name, std::int32_t elementType, const std::vector<DeclaredDim>& shape);
  // The arguments of an input that is a sequence or an optional.
  Status composite(const ValueInfo& input, const Composite& given);
  std::string refusal(const ValueInfo& input) const;
  Status inputs();
  Status bindParameters();
  Result<ir::Shape> elementsOf(const ir::Signature& input);
  Result<Value> symbolicValue(const ir::Signature& input, const ir::Shape& values);
  Status checkGiven() const;
  Status output(const std::string& name, Value value, const ValueInfo& declared);
  Status outputs();

  const Model& model_;
  Captured captured_;
  mlir::OpBuilder builder_;
  mlir::func::FuncOp main_;
  const ImportOptions& options_;
  frontend::InputSymbols symbols_;
  Initializers initializers_;
  GraphImporter graph_;
  Scope scope_;
  llvm::SmallVector<mlir::Type> argumentTypes_;
  std::set<std::string> argumentNames_, outputNames_;
  std::optional<frontend::BoundParameters> parameters_;
  std::map<std::string, std::size_t> boundInputs_;  // by name: the argument of parameters_
  Values results_;
  std::optional<ir::SizeTexts> sizes_;  // when all nodes are imported
};

void Importer::describe() {
  ir::CaptureEvidence& evidence = captured_.capture;
  evidence.format = "onnx";
  evidence.producer = model_.producer;
  evidence.producerVersion = model_.producerVersion;
  evidence.irVersion = model_.irVersion;
  evidence.functions = static_cast<std::int64_t>(model_.functions.size());
  evidence.nodes = static_cast<std::int64_t>(model_.graph.nodes.size());
  for (const auto& [domain, version] : model_.opsets) evidence.opsets[domainName(domain)] = version;
  std::set<std::string> custom;
  for (const Node& node : model_.graph.nodes) {
    std::string_view domain = plainDomain(node.domain);
    std::string name =
        domain.empty() ? std::string(node.op) : std::string(domain) + ":" + std::string(node.op);
    ++evidence.nodesByOp[name];
    if (!domain.empty()) custom.insert(name);
  }
  evidence.customOps.assign(custom.begin(), custom.end());
}

Status Importer::argument(const std::string& name, std::int32_t elementType,
                          const std::vector<DeclaredDim>& shape) {
  if (shape.size() > kMaxRank)
    return fail(Code::kUnimplemented, "input " + quoted(name) + " has rank " + std::to_string(shape.size()) +
                                          "; at most " + std::to_string(kMaxRank) + " is served");
  if (!argumentNames_.insert(name).second) return fail(Code::kUnimplemented, sharedName("input", name));
  std::vector<analysis::DeclaredDim> dims;
  for (const DeclaredDim& dim : shape) dims.push_back({dim.value, std::string(dim.name)});
  // A list whose length the model leaves open is as long as its pin.
  if (auto pin = options_.pins.find(name);
      pin != options_.pins.end() && dims.size() == 1 && !dims[0].value && dims[0].name.empty())
    dims[0].value = static_cast<std::int64_t>(pin->second.size());
  KILN_ASSIGN(frontend::InputSymbols::Input input, symbols_.input(name, *toDType(elementType), dims));
  argumentTypes_.push_back(
      ir::tensorTypeOf(input.extents, ir::elementType(builder_.getContext(), input.signature.dtype)));
  captured_.inputs.push_back(std::move(input.signature));
  return {};
}

Status Importer::composite(const ValueInfo& input, const Composite& given) {
  const std::string name(input.name);
  const bool isSequence = input.containers.back() == Container::kSequence;
  auto invalid = [&](const std::string& what) {
    return fail(Code::kInvalidArgument, "--sequence for input " + quoted(name) + ": " + what);
  };
  if (!given.present) {
    if (input.containers.front() != Container::kOptional) return invalid("a sequence cannot be absent");
    return {};
  }
  if (!isSequence && given.tensors.size() != 1) return invalid("an optional tensor is one tensor, or none");
  for (std::size_t i = 0; i < given.tensors.size(); ++i) {
    std::vector<DeclaredDim> shape;
    if (given.tensors[i]) {
      for (std::int64_t dim : *given.tensors[i]) shape.push_back({dim, {}});
      if (input.shape && input.shape->size() != shape.size())
        return invalid("the model declares tensors of rank " + std::to_string(input.shape->size()));
    } else if (input.shape) {
      shape = *input.shape;
    } else {
      return invalid("the model declares no shape; give one for each tensor");
    }
    KILN_TRY(argument(isSequence ? name + "." + std::to_string(i) : name, input.type, shape));
  }
  return {};
}

// Why an input cannot be served; "" where it can.
std::string Importer::refusal(const ValueInfo& input) const {
  if (std::string why = unservedInput(input); !why.empty()) return why;
  if (!input.isTensor && !options_.composites.contains(std::string(input.name)))
    return "the tensors it holds must be known at compile time: give --sequence " + std::string(input.name) +
           "=COUNT, or =[DIM,DIM...],... their shapes, or =none for an absent optional";
  return {};
}

// Inputs that are given as files are none of the program's.
Status Importer::bindParameters() {
  if (!options_.parameters || options_.parameters->empty()) return {};
  std::vector<parameters::Argument> arguments;
  for (const ValueInfo& input : model_.graph.inputs) {
    if (scope_.tensors.contains(input.name) || !input.isTensor || !refusal(input).empty()) continue;
    parameters::Argument& argument =
        arguments.emplace_back(parameters::Argument{std::string(input.name), *toDType(input.type), {}});
    for (const DeclaredDim& dim : *input.shape) {
      argument.shape.push_back(dim.value.value_or(-1));
      argument.dimNames.emplace_back(dim.name);
    }
  }
  KILN_ASSIGN(parameters_, frontend::BoundParameters::bind(arguments, *options_.parameters));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!parameters_->isBound(i)) continue;
    boundInputs_[arguments[i].name] = i;
    if (options_.pins.contains(arguments[i].name))
      return fail(Code::kFailedPrecondition, "a value is pinned for " + quoted(arguments[i].name) +
                                                 ", which the parameters give; leave one of them out");
  }
  return {};
}

Status Importer::inputs() {
  // The arguments of each input that is served, from the first to before the last.
  std::vector<std::pair<const ValueInfo*, std::pair<unsigned, unsigned>>> made;
  for (const ValueInfo& input : model_.graph.inputs) {
    if (scope_.tensors.contains(input.name)) continue;  // the default of an old-style input: a constant
    if (boundInputs_.contains(std::string(input.name))) continue;
    if (std::string why = refusal(input); !why.empty()) {
      graph_.unserved(std::string(input.name), "(input)", "", why);
      scope_.names[input.name] = Item::poisoned();
      continue;
    }
    const auto first = static_cast<unsigned>(argumentTypes_.size());
    if (input.isTensor)
      KILN_TRY(argument(std::string(input.name), input.type, *input.shape));
    else
      KILN_TRY(composite(input, options_.composites.at(std::string(input.name))));
    made.push_back({&input, {first, static_cast<unsigned>(argumentTypes_.size())}});
  }
  main_ = mlir::func::FuncOp::create(builder_, builder_.getUnknownLoc(), ir::kMain,
                                     builder_.getFunctionType(argumentTypes_, {}));
  mlir::Block* body = main_.addEntryBlock();
  scope_.block = body;
  builder_.setInsertionPointToEnd(body);
  frontend::nameArguments(main_, captured_.inputs);
  for (const ValueInfo& input : model_.graph.inputs)
    if (auto bound = boundInputs_.find(std::string(input.name)); bound != boundInputs_.end())
      scope_.names[input.name] = Item::tensor(
          parameters_->value(bound->second, captured_.weights, builder_, location(bound->first)));
  std::vector<ir::Shape> elements;
  for (const ir::Signature& input : captured_.inputs) {
    elements.emplace_back();
    if (options_.pins.contains(input.name)) continue;
    KILN_ASSIGN(elements.back(), elementsOf(input));
  }
  captured_.symbols = symbols_.symbols();
  ir::addSymbols(*captured_.module, captured_.symbols);
  Items values;
  for (unsigned i = 0; i < argumentTypes_.size(); ++i) {
    const std::string& name = captured_.inputs[i].name;
    body->getArgument(i).setLoc(location(name));
    values.push_back(Item::tensor(body->getArgument(i)));
    if (auto pin = options_.pins.find(name); pin != options_.pins.end()) {
      KILN_ASSIGN(Value value,
                  frontend::pinnedValue(builder_, location(name), captured_.inputs[i], pin->second));
      values.back() = Item::tensor(value);
    } else {
      if (elements[i].empty()) continue;
      KILN_ASSIGN(Value value, symbolicValue(captured_.inputs[i], elements[i]));
      values.back() = Item::tensor(value);
    }
  }
  KILN_TRY(symbols_.binder().finish());
  for (const auto& [input, range] : made) {
    Items own(values.begin() + range.first, values.begin() + range.second);
    if (input->isTensor) {
      scope_.names[input->name] = own.front();
      continue;
    }
    Item item = input->containers.back() == Container::kSequence ? Item::sequence(own)
                : own.empty()                                    ? Item::nothing()
                                                                 : own.front();
    if (input->containers.front() == Container::kOptional)
      item = options_.composites.at(std::string(input->name)).present ? Item::some(item) : Item::nothing();
    scope_.names[input->name] = std::move(item);
  }
  return checkGiven();
}

// The elements of an integer input that a profile gives; empty for any other.
Result<ir::Shape> Importer::elementsOf(const ir::Signature& input) {
  constexpr std::int64_t kMaxElements = 64;
  if ((input.dtype != DType::kI64 && input.dtype != DType::kI32) ||
      llvm::is_contained(input.shape, analysis::kSymbolic))
    return ir::Shape();
  std::int64_t elements = 1;
  for (std::int64_t dim : input.shape) elements *= dim;
  ir::Shape values;
  for (std::int64_t i = 0; i < std::min(elements, kMaxElements); ++i) {
    const auto value = symbols_.element(input.name, i);
    if (!value && !values.empty())
      return fail(Code::kInvalidArgument, "the profile gives elements of input " + quoted(input.name) +
                                              " but not '" + input.name + "[" + std::to_string(i) +
                                              "]'; give all of them");
    if (value) values.push_back(*value);
  }
  if (!values.empty() && static_cast<std::int64_t>(values.size()) != elements)
    return fail(Code::kInvalidArgument,
                "the profile gives only some elements of input " + quoted(input.name));
  return values;
}

// What the uses of an integer input see whose elements a profile gives.
Result<Value> Importer::symbolicValue(const ir::Signature& input, const ir::Shape& values) {
  GraphBuilder build(builder_, location(input.name));
  KILN_ASSIGN(Value value,
              build.cast(build.shapeValue(values), ir::elementType(builder_.getContext(), input.dtype)));
  return build.reshape(value, llvm::ArrayRef(input.shape));
}

Status Importer::checkGiven() const {
  for (const auto& [name, composite] : options_.composites)
    if (llvm::none_of(model_.graph.inputs, [&](const ValueInfo& input) {
          return input.name == name && !input.containers.empty();
        }))
      return fail(Code::kFailedPrecondition, "--sequence is given for " + quoted(name) +
                                                 ", which is no input of sequence or optional type");
  for (const auto& [name, values] : options_.pins) {
    if (argumentNames_.contains(name)) continue;
    if (scope_.names.contains(name)) continue;  // reported as not served
    std::string known;
    for (const ir::Signature& input : captured_.inputs)
      known += (known.empty() ? "" : ", ") + quoted(input.name);
    return fail(Code::kFailedPrecondition, "a value is pinned for " + quoted(name) +
                                               ", which is no input of the model; its inputs are " + known);
  }
  return {};
}

Status Importer::output(const std::string& name, Value value, const ValueInfo& declared) {
  if (!outputNames_.insert(name).second) return fail(Code::kUnimplemented, sharedName("output", name));
  ir::Signature signature = frontend::signatureOf(name, ir::tensorType(value), *sizes_);
  if (declared.type != 0 && toDType(declared.type) != signature.dtype)
    return fail(Code::kInvalidArgument, "output " + quoted(name) + " is declared as " +
                                            elementTypeName(declared.type) + ", the graph computes " +
                                            std::string(dtypeName(signature.dtype)));
  if (declared.shape && declared.shape->size() == signature.shape.size())
    for (std::size_t i = 0; i < signature.shape.size(); ++i)
      if (auto bound = symbols_.binder().used().find(std::string((*declared.shape)[i].name));
          bound != symbols_.binder().used().end() && bound->second == signature.shape[i])
        signature.dimNames[i] = bound->first;
  captured_.outputs.push_back(std::move(signature));
  results_.push_back(value);
  return {};
}

Status Importer::outputs() {
  sizes_.emplace(*captured_.module);
  for (const ValueInfo& declared : model_.graph.outputs) {
    const std::string name(declared.name);
    KILN_ASSIGN(Item item, graph_.value(scope_, declared.name));
    if (item.isPoisoned()) continue;  // reported already
    if (item.isOptional()) item = item.parts.empty() ? Item() : Item(item.parts.front());
    if (item.isTensor()) KILN_TRY(output(name, item.value, declared));
    for (auto [i, element] : llvm::enumerate(item.parts))
      KILN_TRY(output(name + "." + std::to_string(i), element.value, declared));
  }
  if (!captured_.capture.unsupported.empty()) return {};
  frontend::returnResults(builder_, main_, results_, captured_.outputs);
  return frontend::addIndexChecks(builder_, main_, graph_.indexCounts());
}

Result<Captured> Importer::run() {
  describe();
  captured_.module = mlir::ModuleOp::create(builder_.getUnknownLoc());
  builder_.setInsertionPointToEnd(captured_.module->getBody());
  KILN_TRY(bindParameters());
  KILN_TRY(inputs());
  for (std::string_view name : model_.graph.sparse) {
    graph_.unserved(std::string(name), "(initializer)", "", "sparse initializers are not served");
    scope_.names[name] = Item::poisoned();
  }
  KILN_TRY(graph_.nodes(scope_));
  KILN_TRY(outputs());
  if (!captured_.capture.unsupported.empty())
    return fail(unsupportedError(captured_.capture.unsupported, captured_.capture.nodes));
  if (failed(mlir::verify(*captured_.module)))
    return fail(Code::kInternal, "the imported module does not verify");
  captured_.analyse.dims = symbols_.binder().used();
  captured_.analyse.shapes = analysis::shapeReport(*captured_.module);
  return std::move(captured_);
}

}  // namespace

Result<Captured> importModel(mlir::MLIRContext& context, const LoadedModel& loaded,
                             const ImportOptions& options) {
  return Importer(context, loaded, options).run();
}

}  // namespace kiln::onnx
