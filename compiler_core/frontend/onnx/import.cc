#include "compiler_core/frontend/onnx/import.h"

#include <set>

#include "compiler_core/analysis/constant_values.h"
#include "compiler_core/analysis/shape_report.h"
#include "compiler_core/frontend/onnx/graph_importer.h"
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

// One import: the boundary of the model; GraphImporter does what is in between.
class Importer {
 public:
  Importer(mlir::MLIRContext& context, const LoadedModel& loaded, const ImportOptions& options)
      : model_(loaded.model),
        builder_(&context),
        options_(options),
        binder_(options.dims),
        initializers_(captured_.weights, loaded.file, loaded.directory),
        graph_(model_, builder_, initializers_, captured_),
        scope_(model_.graph, model_.opsets, nullptr) {}

  Result<Captured> run();

 private:
  mlir::Location location(const std::string& name) {
    return mlir::NameLoc::get(builder_.getStringAttr(name));
  }
  void describe();
  Status inputs();
  Result<Value> pinned(const ir::Signature& input, const std::vector<PinValue>& values);
  Status checkPins() const;
  Status outputs();

  const Model& model_;
  Captured captured_;
  mlir::OpBuilder builder_;
  mlir::func::FuncOp main_;
  const ImportOptions& options_;
  analysis::DimBinder binder_;
  Initializers initializers_;
  GraphImporter graph_;
  Scope scope_;
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

Status Importer::inputs() {
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<std::string_view> argumentNames;
  for (const ValueInfo& input : model_.graph.inputs) {
    if (scope_.tensors.contains(input.name)) continue;  // the default of an old-style input: a constant
    std::string why = !input.isTensor ? "sequences, maps and optional values are not served"
                      : !input.shape  ? "an input without a rank is not served"
                                      : unservedType(input.type);
    if (!why.empty()) {
      graph_.unserved(std::string(input.name), "(input)", "", why);
      scope_.names[input.name] = Item::poisoned();
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
    auto type = mlir::RankedTensorType::get(bound.shape,
                                            ir::elementType(builder_.getContext(), *toDType(input.type)));
    auto bytes = ir::checkedBytes(type);
    if (!bytes || *bytes > std::int64_t{1} << 40)
      return fail(Code::kInvalidArgument,
                  "input " + quoted(input.name) + " has the absurd shape " + shapeText(bound.shape));
    if (*bytes == 0)
      return fail(Code::kUnimplemented,
                  "input " + quoted(input.name) + " has no elements (shape " + shapeText(bound.shape) + ")");
    types.push_back(type);
    argumentNames.push_back(input.name);
    captured_.inputs.push_back({std::string(input.name), *toDType(input.type), bound.shape, bound.dimNames});
  }
  KILN_TRY(binder_.finish());
  main_ = mlir::func::FuncOp::create(builder_, builder_.getUnknownLoc(), ir::kMain,
                                     builder_.getFunctionType(types, {}));
  mlir::Block* body = main_.addEntryBlock();
  for (unsigned i = 0; i < types.size(); ++i) {
    main_.setArgAttr(i, ir::kNameAttr, builder_.getStringAttr(argumentNames[i]));
    body->getArgument(i).setLoc(location(std::string(argumentNames[i])));
    scope_.names[argumentNames[i]] = Item::tensor(body->getArgument(i));
  }
  scope_.block = body;
  builder_.setInsertionPointToEnd(body);
  for (unsigned i = 0; i < types.size(); ++i)
    if (auto pin = options_.pins.find(captured_.inputs[i].name); pin != options_.pins.end()) {
      auto value = pinned(captured_.inputs[i], pin->second);
      if (!value) return fail(value.error().in("pinned input " + quoted(pin->first)));
      scope_.names[argumentNames[i]] = Item::tensor(*value);
    }
  return checkPins();
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
    if (scope_.names.contains(name)) continue;  // reported as not served
    std::string known;
    for (const ir::Signature& input : captured_.inputs)
      known += (known.empty() ? "" : ", ") + quoted(input.name);
    return fail(Code::kInvalidArgument, "a value is pinned for " + quoted(name) +
                                            ", which is no input of the model; its inputs are " + known);
  }
  return {};
}

Status Importer::outputs() {
  Values results;
  for (const ValueInfo& output : model_.graph.outputs) {
    KILN_ASSIGN(Item item, graph_.value(scope_, output.name));
    if (item.isPoisoned()) continue;  // reported already
    if (!item.isTensor()) {
      graph_.unserved(std::string(output.name), "(output)", "", "an output that is " + std::string(kindText(item)));
      continue;
    }
    Value result = item.value;
    auto dtype = *ir::dtypeOf(elementOf(result));
    if (output.isTensor && output.type != 0 && toDType(output.type) != dtype)
      return fail(Code::kInvalidArgument, "output " + quoted(output.name) + " is declared as " +
                                              elementTypeName(output.type) + ", the graph computes " +
                                              std::string(dtypeName(dtype)));
    ir::Signature signature{std::string(output.name), dtype, shapeOf(result).vec(), {}};
    signature.dimNames.resize(signature.shape.size());
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
  if (model_.graph.hasSparse) graph_.unserved("", "(initializer)", "", "sparse initializers are not served");
  KILN_TRY(inputs());
  KILN_TRY(graph_.nodes(scope_));
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
