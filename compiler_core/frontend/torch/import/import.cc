#include "compiler_core/frontend/torch/import/import.h"

#include "compiler_core/analysis/shape_report.h"
#include "compiler_core/frontend/graph/bound_parameters.h"
#include "compiler_core/frontend/graph/input_symbols.h"
#include "compiler_core/frontend/graph/main_function.h"
#include "compiler_core/frontend/graph/pinned.h"
#include "compiler_core/frontend/graph/tensors.h"
#include "compiler_core/frontend/graph/unsupported.h"
#include "compiler_core/frontend/torch/import/graph_importer.h"
#include "compiler_core/frontend/torch/import/survey.h"
#include "compiler_core/ir/attributes.h"
#include "compiler_core/ir/types.h"
#include "mlir/IR/Verifier.h"

namespace kiln::torch {
namespace {

using frontend::Captured;

constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 40;
constexpr std::size_t kMaxRank = 16;

std::string quoted(std::string_view text) {
  return (llvm::Twine("'") + llvm::StringRef(text) + "'").str();
}

// An input of the graph that a run is given.
struct Given {
  std::string name;    // outside
  std::string tensor;  // in the graph
  bool isWritten = false;
};

// In the order of the program's interface.
std::vector<Given> givenInputs(const Program& program, const Survey& found) {
  std::vector<Given> users, buffers;
  for (const InputSpec& input : program.inputs) {
    const auto* tensor = std::get_if<TensorName>(&input.argument);
    if (!tensor) continue;
    const bool isWritten = found.written.contains(tensor->name);
    if (input.kind == InputSpec::Kind::kUser) users.push_back({tensor->name, tensor->name, isWritten});
    if (input.kind == InputSpec::Kind::kBuffer && isWritten)
      buffers.push_back({input.target, tensor->name, true});
  }
  users.insert(users.end(), buffers.begin(), buffers.end());
  return users;
}

// One import: the boundary of the program; GraphImporter does what is in between.
class Importer {
 public:
  Importer(mlir::MLIRContext& context, const Program& program, const frontend::ImportOptions& options)
      : program_(program),
        found_(survey(program)),
        given_(givenInputs(program, found_)),
        builder_(&context),
        options_(options),
        symbols_(&context, program, options),
        graph_(builder_, symbols_, captured_) {}

  Result<Captured> run();

 private:
  mlir::Location location(const std::string& name) {
    return mlir::NameLoc::get(builder_.getStringAttr(name));
  }
  void describe();
  void refuseSignature();
  Status bindParameters();
  Result<mlir::Type> argument(const Given& given);
  Status inputs();
  Status weights();
  Result<std::vector<std::pair<std::string, std::string>>> namedOutputs();
  Status outputs();

  const Program& program_;
  const Survey found_;
  const std::vector<Given> given_;
  Captured captured_;
  mlir::OpBuilder builder_;
  mlir::func::FuncOp main_;
  const frontend::ImportOptions& options_;
  Symbols symbols_;
  GraphImporter graph_;
  std::optional<frontend::BoundParameters> parameters_;
};

void Importer::describe() {
  ir::CaptureEvidence& evidence = captured_.capture;
  evidence.format = "torch.export";
  evidence.producer = "pytorch";
  evidence.producerVersion = program_.torchVersion;
  if (program_.opset > 0) evidence.opsets["aten"] = program_.opset;
  evidence.nodes = found_.nodes;
  evidence.nodesByOp = found_.byName;
  evidence.unsupported = found_.unsupported;
}

// Inputs and outputs that no program here can have.
void Importer::refuseSignature() {
  auto refuse = [&](const std::string& place, const char* op, std::string why) {
    captured_.capture.unsupported.push_back({place, op, "", 0, std::move(why)});
  };
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
    const InputSpec& input = program_.inputs[i];
    const std::string place = "input " + std::to_string(i);
    if (input.kind == InputSpec::Kind::kOther)
      refuse(place, "(input)", "an input of kind " + input.target + " is not served");
    const auto* integer = std::get_if<IntegerArgument>(&input.argument);
    if (integer && !integer->name.empty())
      refuse(place, "(input)",
             "an integer that sizes depend on is not served as an input; export it as a constant");
    const auto* tensor = std::get_if<TensorName>(&input.argument);
    const auto meta = tensor ? program_.graph.tensors.find(tensor->name) : program_.graph.tensors.end();
    if (!tensor || meta == program_.graph.tensors.end()) continue;
    if (!dtypeOf(meta->second.type))
      refuse(place, "(input)", "element type " + scalarTypeName(meta->second.type) + " is not served");
    else if (!meta->second.isStrided)
      refuse(place, "(input)", "sparse tensors are not served");
  }
  for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
    const OutputSpec& output = program_.outputs[i];
    const std::string place = "output " + std::to_string(i);
    if (output.kind == OutputSpec::Kind::kOther)
      refuse(place, "(output)", "an output of kind " + output.target + " is not served");
    else if (!std::holds_alternative<TensorName>(output.argument) &&
             !std::holds_alternative<std::monostate>(output.argument))
      refuse(place, "(output)",
             "an output that is no tensor is not served; leave it out or make it a tensor");
  }
}

// Files may give what a run would give.
Status Importer::bindParameters() {
  if (!options_.parameters || options_.parameters->empty()) return {};
  std::vector<parameters::Argument> arguments;
  for (const Given& given : given_) {
    const TensorMeta& meta = program_.graph.tensors.find(given.tensor)->second;
    parameters::Argument& argument =
        arguments.emplace_back(parameters::Argument{given.name, *dtypeOf(meta.type), {}});
    for (const Expression& size : meta.sizes)
      argument.shape.push_back(size.kind == Expression::Kind::kInteger ? size.value : -1);
  }
  KILN_ASSIGN(parameters_, frontend::BoundParameters::bind(arguments, *options_.parameters));
  return {};
}

Result<mlir::Type> Importer::argument(const Given& given) {
  const TensorMeta& meta = program_.graph.tensors.find(given.tensor)->second;
  if (meta.sizes.size() > kMaxRank)
    return unserved("input " + quoted(given.name) + ": a rank of more than " + std::to_string(kMaxRank) +
                    " is not served");
  KILN_ASSIGN(const Symbols::Bound bound, symbols_.bind(given.name, meta.sizes));
  const DType dtype = *dtypeOf(meta.type);
  const mlir::Type element = ir::elementType(builder_.getContext(), dtype);
  const auto bytes = ir::checkedBytes(mlir::RankedTensorType::get(bound.most, element));
  if (!bytes || *bytes > kMaxTensorBytes)
    return invalid("input " + quoted(given.name) + " has the absurd shape " + shapeText(bound.most));
  captured_.inputs.push_back({given.name, dtype, bound.signature.shape, bound.signature.dimNames});
  return mlir::Type(ir::tensorTypeOf(bound.shape, element));
}

Status Importer::inputs() {
  llvm::SmallVector<mlir::Type> types;
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if (parameters_ && parameters_->isBound(i)) continue;
    KILN_ASSIGN(const mlir::Type type, argument(given_[i]));
    types.push_back(type);
  }
  KILN_TRY(symbols_.finish());
  captured_.symbols = symbols_.all();
  main_ = mlir::func::FuncOp::create(builder_, builder_.getUnknownLoc(), ir::kMain,
                                     builder_.getFunctionType(types, {}));
  mlir::Block* block = main_.addEntryBlock();
  builder_.setInsertionPointToEnd(block);
  frontend::nameArguments(main_, captured_.inputs);
  ir::addSymbols(*captured_.module, captured_.symbols);
  unsigned next = 0;
  for (std::size_t i = 0; i < given_.size(); ++i) {
    const mlir::Location place = location(given_[i].name);
    const auto pin = options_.pins.find(given_[i].name);
    Value value;
    if (parameters_ && parameters_->isBound(i)) {
      if (pin != options_.pins.end())
        return fail(Code::kFailedPrecondition, "a value is pinned for " + quoted(given_[i].name) +
                                                   ", which the parameters give; leave one of them out");
      value = parameters_->value(i, captured_.weights, builder_, place);
    } else {
      value = block->getArgument(next);
      value.setLoc(place);
      if (pin != options_.pins.end()) {
        KILN_ASSIGN(value, frontend::pinnedValue(builder_, place, captured_.inputs[next], pin->second));
      }
      ++next;
    }
    KILN_TRY(graph_.tensors().define(given_[i].tensor, value));
  }
  return frontend::checkPins(options_.pins, captured_.inputs);
}

// Parameters, buffers and constants that are not written: tensors of the file, tied ones once.
Status Importer::weights() {
  std::map<std::tuple<const std::uint8_t*, std::size_t, DType, std::vector<std::int64_t>>, Value> made;
  for (const InputSpec& input : program_.inputs) {
    const auto* tensor = std::get_if<TensorName>(&input.argument);
    if (!tensor || input.kind == InputSpec::Kind::kUser || graph_.tensors().isDefined(tensor->name)) continue;
    const auto found = program_.tensors.find(input.target);
    if (found == program_.tensors.end())
      return invalid("the archive has no tensor " + quoted(input.target) + ", which the program takes");
    const Tensor& given = found->second;
    Value& value = made[{given.bytes.data(), given.bytes.size(), given.dtype, given.shape}];
    const mlir::Location place = location(input.target);
    const auto count = ir::checkedElements(given.shape);
    if (!value && count && *count == 0) {
      frontend::GraphBuilder builder(builder_, place);
      KILN_ASSIGN(value, builder.filled(ir::elementType(builder_.getContext(), given.dtype),
                                        ir::toShape(given.shape), 0));
    } else if (!value) {
      value = frontend::addTensor(captured_.weights, builder_, place,
                                  {input.target, given.dtype, given.shape, given.bytes, given.owner});
    }
    const auto meta = program_.graph.tensors.find(tensor->name);
    if (meta == program_.graph.tensors.end() || dtypeOf(meta->second.type) != given.dtype ||
        meta->second.sizes.size() != given.shape.size())
      return invalid("the archive's tensor " + quoted(input.target) + " is not what the program declares");
    for (std::size_t i = 0; i < given.shape.size(); ++i)
      if (meta->second.sizes[i] != number(given.shape[i]))
        return invalid("the archive's tensor " + quoted(input.target) +
                       " has another shape than the program declares");
    KILN_TRY(graph_.tensors().define(tensor->name, value));
  }
  return {};
}

// What the outside calls each output, and its tensor in the graph. Users' outputs first; then what was
// written, whether the signature says so (after run_decompositions()) or nodes do (as exported).
Result<std::vector<std::pair<std::string, std::string>>> Importer::namedOutputs() {
  std::vector<std::pair<std::string, std::string>> out;
  std::map<std::string, std::string, std::less<>> mutations;  // by buffer or input
  int next = 0;
  for (const OutputSpec& output : program_.outputs) {
    const auto* tensor = std::get_if<TensorName>(&output.argument);
    if (!tensor) continue;
    if (output.kind == OutputSpec::Kind::kUser)
      out.emplace_back("result" + std::to_string(next++), tensor->name);
    else
      mutations[output.target] = tensor->name;
  }
  for (const Given& given : given_) {
    if (!given.isWritten) continue;
    const auto found = mutations.find(given.name);
    out.emplace_back(given.name, found == mutations.end() ? given.tensor : found->second);
    if (found != mutations.end()) mutations.erase(found);
  }
  if (!mutations.empty())
    return invalid("the signature says that " + quoted(mutations.begin()->first) +
                   " is written, which is no input of the program");
  return out;
}

Status Importer::outputs() {
  KILN_ASSIGN(const auto named, namedOutputs());
  const ir::SizeTexts sizes(*captured_.module);
  Values results;
  for (const auto& [name, tensor] : named) {
    auto read = graph_.tensors().read(tensor);
    if (!read) return fail(read.error().in("output " + quoted(name)));
    const Value value = *read;
    captured_.outputs.push_back(frontend::signatureOf(name, ir::tensorType(value), sizes));
    results.push_back(value);
  }
  if (results.empty()) return invalid("the program gives no tensors");
  frontend::returnResults(builder_, main_, results, captured_.outputs);
  return frontend::addIndexChecks(builder_, main_, graph_.indexCounts());
}

Result<Captured> Importer::run() {
  describe();
  refuseSignature();
  if (!captured_.capture.unsupported.empty())
    return fail(frontend::unsupportedError(captured_.capture.unsupported, found_.nodes));
  for (const Given& given : given_)
    if (!program_.graph.tensors.contains(given.tensor))
      return invalid("the program says nothing of its input " + quoted(given.name));
  captured_.module = mlir::ModuleOp::create(builder_.getUnknownLoc());
  builder_.setInsertionPointToEnd(captured_.module->getBody());
  KILN_TRY(bindParameters());
  KILN_TRY(inputs());
  KILN_TRY(weights());
  KILN_TRY(graph_.nodes(program_.graph));
  if (!captured_.capture.unsupported.empty())
    return fail(frontend::unsupportedError(captured_.capture.unsupported, found_.nodes));
  KILN_TRY(outputs());
  if (failed(mlir::verify(*captured_.module)))
    return fail(Code::kInternal, "the imported module does not verify");
  captured_.analyse.dims = symbols_.used();
  captured_.analyse.shapes = analysis::shapeReport(*captured_.module);
  return std::move(captured_);
}

}  // namespace

std::vector<std::string> namesOfInputs(const Program& program) {
  std::vector<std::string> names;
  for (const Given& given : givenInputs(program, survey(program))) names.push_back(given.name);
  return names;
}

Result<Captured> importProgram(mlir::MLIRContext& context, const Program& program,
                               const frontend::ImportOptions& options) {
  return Importer(context, program, options).run();
}

}  // namespace kiln::torch
