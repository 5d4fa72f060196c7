#include "compiler_core/frontend/onnx/import.h"

#include <set>
#include <unordered_map>

#include "compiler_core/analysis/constant_values.h"
#include "compiler_core/analysis/shape_report.h"
#include "compiler_core/frontend/onnx/node_name.h"
#include "compiler_core/frontend/onnx/operators.h"
#include "compiler_core/frontend/onnx/unsupported.h"
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

// One import: goes through the graph once, in order, and collects what is not served on the way.
class Importer {
 public:
  Importer(mlir::MLIRContext& context, const LoadedModel& loaded, const ImportOptions& options)
      : model_(loaded.model),
        builder_(&context),
        options_(options),
        binder_(options.dims, options.ranges),
        initializers_(captured_.weights, loaded.file, loaded.directory) {}

  Result<Captured> run();

 private:
  // A name's value; a null value stands for one that could not be made because something was not served.
  using Names = std::unordered_map<std::string_view, Value>;

  mlir::Location location(const std::string& name) {
    return mlir::NameLoc::get(builder_.getStringAttr(name));
  }
  void describe();
  void unserved(std::string node, std::string op, std::string_view domain, std::string reason);
  Status inputs();
  ir::Shape shapeOf(const ValueInfo& input, const analysis::BoundShape& bound);
  ir::Dim symbol(std::string name, std::string_view input, std::int64_t index, bool element,
                 analysis::DimBounds bounds);
  Result<Value> symbolicValue(const ir::Signature& input);
  Result<Value> pinned(const ir::Signature& input, const std::vector<PinValue>& values);
  Status checkPins() const;
  llvm::SmallVector<ir::Range> limits() const;
  Status node(const Node& node, std::size_t index);
  Result<Value> value(std::string_view name);
  Result<Values> importNode(const Node& node, Values inputs);
  Status outputs();

  const Model& model_;
  Captured captured_;
  mlir::OpBuilder builder_;
  mlir::func::FuncOp main_;
  const ImportOptions& options_;
  analysis::DimBinder binder_;
  Initializers initializers_;
  Names names_;
  std::unordered_map<std::string_view, const Tensor*> tensors_;
  std::map<std::string, unsigned> symbols_;
};

void Importer::describe() {
  ir::CaptureEvidence& evidence = captured_.capture;
  evidence.format = "onnx";
  evidence.producer = model_.producer;
  evidence.producerVersion = model_.producerVersion;
  evidence.irVersion = model_.irVersion;
  evidence.functions = static_cast<std::int64_t>(model_.functions);
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

void Importer::unserved(std::string node, std::string op, std::string_view domain, std::string reason) {
  auto it = model_.opsets.find(plainDomain(domain));
  captured_.capture.unsupported.push_back({std::move(node), std::move(op), domainName(plainDomain(domain)),
                                           it == model_.opsets.end() ? 0 : it->second, std::move(reason)});
}

Status Importer::inputs() {
  for (const Tensor& tensor : model_.graph.initializers) tensors_.emplace(tensor.name, &tensor);
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<std::string_view> argumentNames;
  for (const ValueInfo& input : model_.graph.inputs) {
    if (tensors_.contains(input.name)) continue;  // the default of an old-style input: a constant
    std::string why = !input.isTensor ? "sequences, maps and optional values are not served"
                      : !input.shape  ? "an input without a rank is not served"
                                      : unservedType(input.type);
    if (!why.empty()) {
      unserved(std::string(input.name), "(input)", "", why);
      names_[input.name] = {};
      continue;
    }
    std::vector<analysis::DeclaredDim> dims;
    if (input.shape->size() > kMaxRank)
      return fail(Code::kInvalidArgument,
                  "input " + quoted(input.name) + " has rank " + std::to_string(input.shape->size()));
    for (const DeclaredDim& dim : *input.shape) dims.push_back({dim.value, std::string(dim.name)});
    // A list whose length the model leaves open is as long as its pin.
    if (auto pin = options_.pins.find(std::string(input.name));
        pin != options_.pins.end() && dims.size() == 1 && !dims[0].value && dims[0].name.empty())
      dims[0].value = static_cast<std::int64_t>(pin->second.size());
    KILN_ASSIGN(analysis::BoundShape bound, binder_.bind(input.name, dims));
    const ir::Shape shape = shapeOf(input, bound);
    auto type = ir::tensorTypeOf(shape, ir::elementType(builder_.getContext(), *toDType(input.type)));
    // As large as the profiles let it be.
    Dims most;
    for (const ir::Dim& dim : shape) most.push_back(ir::rangeOf(dim, limits())->max);
    auto bytes = ir::checkedBytes(mlir::RankedTensorType::get(most, type.getElementType()));
    if (!bytes || *bytes > std::int64_t{1} << 40)
      return fail(Code::kInvalidArgument,
                  "input " + quoted(input.name) + " has the absurd shape " + shapeText(most));
    types.push_back(type);
    argumentNames.push_back(input.name);
    captured_.inputs.push_back({std::string(input.name), *toDType(input.type), bound.shape, bound.dimNames});
  }
  main_ = mlir::func::FuncOp::create(builder_, builder_.getUnknownLoc(), ir::kMain,
                                     builder_.getFunctionType(types, {}));
  mlir::Block* body = main_.addEntryBlock();
  for (unsigned i = 0; i < types.size(); ++i) {
    main_.setArgAttr(i, ir::kNameAttr, builder_.getStringAttr(argumentNames[i]));
    body->getArgument(i).setLoc(location(std::string(argumentNames[i])));
    names_[argumentNames[i]] = body->getArgument(i);
  }
  builder_.setInsertionPointToEnd(body);
  for (unsigned i = 0; i < types.size(); ++i)
    if (auto pin = options_.pins.find(captured_.inputs[i].name); pin != options_.pins.end()) {
      auto value = pinned(captured_.inputs[i], pin->second);
      if (!value) return fail(value.error().in("pinned input " + quoted(pin->first)));
      names_[argumentNames[i]] = *value;
    } else {
      KILN_ASSIGN(Value value, symbolicValue(captured_.inputs[i]));
      if (value) names_[argumentNames[i]] = value;
    }
  KILN_TRY(binder_.finish());
  return checkPins();
}

llvm::SmallVector<ir::Range> Importer::limits() const {
  llvm::SmallVector<ir::Range> limits;
  for (const ir::Symbol& symbol : captured_.symbols) limits.push_back(symbol.range);
  return limits;
}

// The symbol called `name`, made when it is first met.
ir::Dim Importer::symbol(std::string name, std::string_view input, std::int64_t index, bool element,
                         analysis::DimBounds bounds) {
  auto [place, isNew] = symbols_.try_emplace(name, static_cast<unsigned>(captured_.symbols.size()));
  if (isNew) {
    captured_.symbols.push_back(
        {std::move(name), std::string(input), index, element, {}, {bounds.min, bounds.max}});
    ir::addSymbol(*captured_.module, captured_.symbols.back());
  }
  return binder_.ranges().contains(place->first) ? ir::Dim::symbol(builder_.getContext(), place->second)
                                                 : ir::Dim(bounds.min);
}

// Every named dimension is a symbol of the program; those of one value are that number in the graph.
ir::Shape Importer::shapeOf(const ValueInfo& input, const analysis::BoundShape& bound) {
  ir::Shape shape = ir::toShape(bound.shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::string& name = bound.dimNames[i];
    if (name.empty()) continue;
    analysis::DimBounds bounds{bound.shape[i], bound.shape[i]};
    if (bound.shape[i] == analysis::kSymbolic) bounds = binder_.ranges().at(name);
    shape[i] = symbol(name, input.name, static_cast<std::int64_t>(i), /*element=*/false, bounds);
  }
  return shape;
}

// What the uses of an integer input see whose elements a profile gives; null for any other.
Result<Value> Importer::symbolicValue(const ir::Signature& input) {
  constexpr std::int64_t kMostElements = 64;
  if ((input.dtype != DType::kI64 && input.dtype != DType::kI32) ||
      llvm::is_contained(input.shape, analysis::kSymbolic))
    return Value();
  std::int64_t elements = 1;
  for (std::int64_t dim : input.shape) elements *= dim;
  ir::Shape values;
  for (std::int64_t i = 0; i < std::min(elements, kMostElements); ++i) {
    const auto bounds = binder_.element(input.name, i);
    const std::string name = input.name + "[" + std::to_string(i) + "]";
    if (!bounds && !values.empty())
      return fail(Code::kInvalidArgument, "the profile gives elements of input " + quoted(input.name) +
                                              " but not " + quoted(name) + "; give all of them");
    if (bounds) values.push_back(symbol(name, input.name, i, /*element=*/true, *bounds));
  }
  if (values.empty()) return Value();
  if (static_cast<std::int64_t>(values.size()) != elements)
    return fail(Code::kInvalidArgument,
                "the profile gives only some elements of input " + quoted(input.name));
  GraphBuilder build(builder_, location(input.name));
  KILN_ASSIGN(Value value,
              build.cast(build.shapeValue(values), ir::elementType(builder_.getContext(), input.dtype)));
  return build.reshape(value, input.shape);
}

// The constant that the uses of a pinned input see.
Result<Value> Importer::pinned(const ir::Signature& input, const std::vector<PinValue>& values) {
  std::int64_t elements = 1;
  for (std::int64_t dim : input.shape) elements *= dim;  // bounded by inputs()
  if (elements != static_cast<std::int64_t>(values.size()))
    return fail(Code::kInvalidArgument, "the pin has " + std::to_string(values.size()) + " values, shape " +
                                            shapeText(input.shape) + " has " + std::to_string(elements) +
                                            " elements; give --pin " + input.name + "= all of them");
  KILN_ASSIGN(std::vector<std::uint8_t> bytes, pinBytes(input.dtype, values));
  if (bytes.size() > static_cast<std::size_t>(ir::kMaxConstantBytes))
    return fail(Code::kUnimplemented, "a pin of " + std::to_string(bytes.size()) + " bytes; at most " +
                                          std::to_string(ir::kMaxConstantBytes) + " are served");
  const std::size_t width = dtypeBytes(input.dtype);
  Bytes data = bytes;
  if (analysis::isSplat(data, width)) data = data.first(width);
  auto elementsAttr = analysis::toElements(builder_.getContext(), input.dtype, input.shape, data);
  return ir::ConstantOp::create(builder_, location(input.name), elementsAttr.getType(), elementsAttr)
      .getResult();
}

Status Importer::checkPins() const {
  for (const auto& [name, values] : options_.pins) {
    if (llvm::any_of(captured_.inputs, [&](const ir::Signature& input) { return input.name == name; }))
      continue;
    if (names_.contains(name)) continue;  // reported as not served
    std::string known;
    for (const ir::Signature& input : captured_.inputs)
      known += (known.empty() ? "" : ", ") + quoted(input.name);
    return fail(Code::kInvalidArgument, "a value is pinned for " + quoted(name) +
                                            ", which is no input of the model; its inputs are " + known);
  }
  return {};
}

// Initializers are made when they are first used, so that unused ones cost nothing.
Result<Value> Importer::value(std::string_view name) {
  if (name.empty()) return Value();
  if (auto it = names_.find(name); it != names_.end()) return it->second;
  auto it = tensors_.find(name);
  if (it == tensors_.end())
    return fail(Code::kInvalidArgument, "the value " + quoted(name) + " is defined by nothing");
  auto made = initializers_.import(builder_, location(std::string(name)), *it->second, std::string(name));
  if (!made && made.error().code != Code::kUnimplemented)
    return fail(made.error().in("initializer " + quoted(name)));
  if (!made) unserved(std::string(name), "(initializer)", "", made.error().message);
  return names_[name] = made ? *made : Value();
}

Result<Values> Importer::importNode(const Node& node, Values inputs) {
  std::string_view domain = plainDomain(node.domain);
  const std::int64_t opset = model_.opsets.find(domain)->second;
  std::string reason;
  const Operator* row = findOperator(domain, node.op, opset, reason);
  if (!row) return fail(Code::kInternal, "no row for a checked node");
  NodeContext context(builder_, location(nodeLabel(node)), initializers_, node, opset, std::move(inputs));
  KILN_ASSIGN(Values results, row->import(context));
  KILN_TRY(context.checkAttributes());
  for (std::size_t i = results.size(); i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty())
      return fail(Code::kUnimplemented,
                  "output " + std::to_string(i) + " " + quoted(node.outputs[i]) + " is not served");
  return results;
}

Status Importer::node(const Node& node, std::size_t index) {
  auto poison = [&] {
    for (std::string_view output : node.outputs)
      if (!output.empty()) names_[output] = {};
  };
  std::string_view domain = plainDomain(node.domain);
  auto opset = model_.opsets.find(domain);
  std::string reason;
  if (opset == model_.opsets.end())
    reason = "the model imports no operator set for this domain";
  else if (domain.empty() && (opset->second < kMinOpset || opset->second > kMaxOpset))
    reason = "opset " + std::to_string(opset->second) + " is outside the served range " +
             std::to_string(kMinOpset) + " to " + std::to_string(kMaxOpset);
  else
    findOperator(domain, node.op, opset->second, reason);
  if (!reason.empty()) {
    unserved(nodeLabel(node), std::string(node.op), node.domain, reason);
    poison();
    return {};
  }
  Values inputs;
  bool poisoned = false;
  for (std::string_view name : node.inputs) {
    auto found = value(name);
    if (!found) return fail(found.error().in(nodeTitle(node, index)));
    inputs.push_back(*found);
    poisoned |= !name.empty() && !*found;
  }
  if (poisoned) {
    poison();
    return {};
  }
  mlir::Block* body = builder_.getInsertionBlock();
  auto results = importNode(node, std::move(inputs));
  if (!results && results.error().code != Code::kUnimplemented)
    return fail(results.error().in(nodeTitle(node, index)));
  if (!results) {
    unserved(nodeLabel(node), std::string(node.op), node.domain, results.error().message);
    poison();
    return {};
  }
  builder_.setInsertionPointToEnd(body);
  ++captured_.capture.served;
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty()) names_[node.outputs[i]] = (*results)[i];
  bool constant =
      llvm::all_of(*results, [](Value v) { return v.getDefiningOp<ir::ConstantOp>() != nullptr; });
  captured_.analyse.foldedNodes += constant;
  return {};
}

Status Importer::outputs() {
  Values results;
  for (const ValueInfo& output : model_.graph.outputs) {
    KILN_ASSIGN(Value result, value(output.name));
    if (!result) continue;  // reported already
    auto dtype = *ir::dtypeOf(elementOf(result));
    if (output.isTensor && output.type != 0 && toDType(output.type) != dtype)
      return fail(Code::kInvalidArgument, "output " + quoted(output.name) + " is declared as " +
                                              elementTypeName(output.type) + ", the graph computes " +
                                              std::string(dtypeName(dtype)));
    ir::Signature signature{std::string(output.name), dtype, {}, {}};
    std::vector<std::string> symbolNames;
    for (const ir::Symbol& symbol : ir::symbolsOf(*captured_.module)) symbolNames.push_back(symbol.name);
    for (const ir::Dim& dim : dimsOf(result)) {
      signature.shape.push_back(dim.isStatic() ? dim.value() : analysis::kSymbolic);
      signature.dimNames.push_back(dim.isStatic() ? "" : dim.text(symbolNames));
    }
    if (output.shape && output.shape->size() == signature.shape.size())
      for (std::size_t i = 0; i < signature.shape.size(); ++i)
        if (auto bound = binder_.used().find(std::string((*output.shape)[i].name));
            bound != binder_.used().end() && bound->second == signature.shape[i])
          signature.dimNames[i] = bound->first;
    captured_.outputs.push_back(std::move(signature));
    results.push_back(result);
  }
  if (!captured_.capture.unsupported.empty()) return {};
  mlir::func::ReturnOp::create(builder_, builder_.getUnknownLoc(), results);
  main_.setFunctionType(
      builder_.getFunctionType(main_.getArgumentTypes(), mlir::TypeRange(mlir::ValueRange(results))));
  for (unsigned i = 0; i < results.size(); ++i)
    main_.setResultAttr(i, ir::kNameAttr, builder_.getStringAttr(captured_.outputs[i].name));
  return {};
}

Result<Captured> Importer::run() {
  describe();
  captured_.module = mlir::ModuleOp::create(builder_.getUnknownLoc());
  builder_.setInsertionPointToEnd(captured_.module->getBody());
  if (model_.graph.hasSparse) unserved("", "(initializer)", "", "sparse initializers are not served");
  KILN_TRY(inputs());
  for (std::size_t i = 0; i < model_.graph.nodes.size(); ++i) KILN_TRY(node(model_.graph.nodes[i], i));
  KILN_TRY(outputs());
  if (!captured_.capture.unsupported.empty())
    return fail(unsupportedError(captured_.capture.unsupported, captured_.capture.nodes));
  if (failed(mlir::verify(*captured_.module)))
    return fail(Code::kInternal, "the imported module does not verify");
  captured_.analyse.dims = binder_.used();
  captured_.analyse.shapes = analysis::shapeReport(*captured_.module);
  return std::move(captured_);
}

}  // namespace

void prepareContext(mlir::MLIRContext& context) {
  context.disableMultithreading();
  context.loadDialect<ir::KilnDialect, mlir::func::FuncDialect>();
}

Result<Captured> importModel(mlir::MLIRContext& context, const LoadedModel& loaded,
                             const ImportOptions& options) {
  return Importer(context, loaded, options).run();
}

}  // namespace kiln::onnx
