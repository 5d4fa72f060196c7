#include "compiler_core/frontend/stablehlo/import/program_importer.h"

#include "compiler_core/analysis/constant_values.h"
#include "compiler_core/frontend/graph/tensors.h"
#include "compiler_core/frontend/stablehlo/import/names.h"
#include "compiler_core/frontend/stablehlo/import/unserved.h"
#include "compiler_core/frontend/stablehlo/program/name.h"
#include "compiler_core/ir/types.h"

namespace kiln::stablehlo {
namespace {

// Functions that call functions and bodies that are run again and again can grow without bound.
constexpr std::int64_t kMaxOperations = 1 << 18;
constexpr std::size_t kMaxFrames = 40;
constexpr int kMaxRegions = 64;

// "tensor<2xf32>" as the program has it.
std::string typeText(const Type& type) {
  return type.text.empty() ? "a tensor of shape " + shapeText(type.shape) : type.text;
}

// Whether extents are those that the program declares, which may be left open there.
bool fits(llvm::ArrayRef<std::int64_t> shape, llvm::ArrayRef<std::int64_t> declared) {
  return shape.size() == declared.size() && llvm::all_of(llvm::zip_equal(shape, declared), [](auto pair) {
           const auto [extent, wanted] = pair;
           return extent == wanted || wanted == kDynamic;
         });
}

class Restored {
 public:
  Restored(bool& flag, bool value) : flag_(flag), before_(flag) { flag = value; }
  ~Restored() { flag_ = before_; }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  bool& flag_;
  bool before_;
};

}  // namespace

Result<Values> ProgramImporter::function(const Function& function, const Values& arguments) {
  if (arguments.size() != function.body.arguments.size())
    return invalid("function " + function.name + " takes " + std::to_string(function.body.arguments.size()) +
                   " values, the call gives " + std::to_string(arguments.size()));
  Frame frame{
      function, {}, std::vector<Value>(function.types.size()), std::vector<bool>(function.types.size())};
  if (!frames_.empty()) frame.path = frames_.back()->path;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ValueId value = function.body.arguments[i];
    if (value >= frame.values.size()) return invalid("function " + function.name + ": a value has no type");
    KILN_TRY(check(frame, value, arguments[i]));
    frame.values[value] = arguments[i];
  }
  frames_.push_back(&frame);
  Status done = operations(frame, function.body);
  frames_.pop_back();
  if (!done) return fail(done.error());
  return returned(frame, function.body);
}

Result<Values> ProgramImporter::returned(Frame& frame, const Region& region) const {
  if (region.operations.empty() || region.operations.back().name != "return")
    return invalid("function " + frame.function.name + ": a region ends without a return");
  Values results;
  for (ValueId value : region.operations.back().operands) {
    if (value >= frame.values.size() || (!frame.values[value] && !frame.poisoned[value]))
      return invalid("function " + frame.function.name + " returns a value that is not defined there");
    if (frame.poisoned[value] && regions_ > 0) return unserved("it depends on what is not served");
    results.push_back(frame.values[value]);
  }
  return results;
}

Result<Values> ProgramImporter::run(const Region& region, const Values& arguments, bool pointwise) {
  Frame& frame = *frames_.back();
  if (arguments.size() != region.arguments.size())
    return invalid("a region takes " + std::to_string(region.arguments.size()) + " values and is given " +
                   std::to_string(arguments.size()));
  if (regions_ >= kMaxRegions) return unserved("regions are nested too deeply");
  const Restored mode(isPointwise_, isPointwise_ || pointwise);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ValueId value = region.arguments[i];
    if (value >= frame.values.size()) return invalid("a value has no type");
    KILN_TRY(check(frame, value, arguments[i]));
    frame.values[value] = arguments[i];
  }
  ++regions_;
  Status done = operations(frame, region);
  auto results = done ? returned(frame, region) : Result<Values>(fail(done.error()));
  --regions_;
  // Nothing outside of the region sees its values.
  for (ValueId value : region.arguments) frame.values[value] = {};
  for (const Operation& operation : region.operations)
    for (ValueId value : operation.results)
      if (value < frame.values.size()) frame.values[value] = {};
  return results;
}

bool ProgramImporter::isPointwise(const Region& region) const {
  return isPointwise(frames_.back()->function, region, 0);
}

bool ProgramImporter::isPointwise(const Function& function, const Region& region, int depth) const {
  constexpr int kMaxDepth = 8;
  for (const Operation& operation : region.operations) {
    if (operation.name == "return") continue;
    if (operation.name == "call") {
      const Function* callee = calleeOf(operation, "callee");
      if (!callee || depth >= kMaxDepth || !isPointwise(*callee, callee->body, depth + 1)) return false;
      continue;
    }
    const Row* row = findRow(operation.name);
    // Where everything is a scalar, these change nothing.
    const bool isNothing = operation.name == "reshape" || operation.name == "broadcast_in_dim";
    if (!row || !(row->pointwise || isNothing)) return false;
    for (const auto* list : {&operation.operands, &operation.results})
      for (ValueId value : *list)
        if (value >= function.types.size() || !function.types[value].shape.empty()) return false;
  }
  return true;
}

Status ProgramImporter::operations(Frame& frame, const Region& region) {
  for (std::size_t i = 0; i < region.operations.size(); ++i) {
    if (region.operations[i].name == "return") {
      if (i + 1 != region.operations.size())
        return invalid(placeOf(frame.function, i) + ": a return that is not last");
      continue;
    }
    KILN_TRY(operation(frame, region.operations[i], i));
  }
  return {};
}

std::string ProgramImporter::labelOf(const Frame& frame, const Operation& operation, std::size_t index) {
  std::string label = frame.path + nodeName(operation, index);
  constexpr std::size_t kMaxLabel = 1024;
  label.resize(cutName(label, kMaxLabel).size());
  return label;
}

Status ProgramImporter::operation(Frame& frame, const Operation& operation, std::size_t index) {
  const std::string place = placeOf(frame.function, index) + " (" + fullName(operation) + ")";
  if (++made_ > kMaxOperations)
    return unserved(place + ": the program expands to more than " + std::to_string(kMaxOperations) +
                    " operations");
  Values operands;
  bool isPoisoned = false;
  for (ValueId value : operation.operands) {
    if (value >= frame.values.size()) return invalid(place + ": an operand has no type");
    isPoisoned |= frame.poisoned[value];
    if (!frame.values[value] && !frame.poisoned[value])
      return invalid(place + ": an operand is used where it is not defined");
    operands.push_back(frame.values[value]);
  }
  for (ValueId value : operation.results)
    if (value >= frame.values.size()) return invalid(place + ": a result has no type");
  auto poison = [&] {
    for (ValueId value : operation.results) frame.poisoned[value] = true;
  };
  if (isPoisoned) {
    poison();
    return {};
  }
  const std::string label = labelOf(frame, operation, index);
  auto results = made(frame, operation, operands, label);
  if (!results) {
    // Inside of a region the operation around it is what is not served.
    if (results.error().code != Code::kUnimplemented || regions_ > 0) return fail(results.error().in(place));
    captured_.capture.unsupported.push_back(
        {placeOf(frame.function, index), fullName(operation), "", 0, results.error().message});
    poison();
    return {};
  }
  if (results->size() != operation.results.size())
    return invalid(place + ": the operation has " + std::to_string(results->size()) +
                   " results, the program takes " + std::to_string(operation.results.size()));
  for (std::size_t i = 0; i < results->size(); ++i) {
    const ValueId value = operation.results[i];
    if (!(*results)[i]) {  // of a call whose inside has been noted
      frame.poisoned[value] = true;
      continue;
    }
    if (Status same = check(frame, value, (*results)[i]); !same) return fail(same.error().in(place));
    frame.values[value] = (*results)[i];
  }
  if (frames_.size() == 1 && regions_ == 0) ++captured_.capture.served;
  return {};
}

// Elementwise operations take operands of one shape; the graph would broadcast others.
Status ProgramImporter::checkShapes(OperationContext& context, const Frame& frame, const Operation& operation,
                                    const Values& operands) const {
  const auto& shape = frame.function.types[operation.results[0]].shape;
  const Value* first = nullptr;  // that is no scalar beside tensors
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool mayBeScalar = (operation.name == "select" && i == 0) || (operation.name == "clamp" && i != 1);
    if (mayBeScalar && rankOf(operands[i]) == 0) continue;
    if (!fits(shapeOf(operands[i]), shape))
      return invalid("operand " + std::to_string(i) + " has the shape " + shapeText(shapeOf(operands[i])) +
                     ", the result has " + shapeText(shape));
    if (!first) first = &operands[i];
    KILN_TRY(sameExtents(context, dimsOf(operands[i]), dimsOf(*first), "operands differ in shape"));
  }
  return {};
}

Result<Values> ProgramImporter::made(Frame& frame, const Operation& operation, const Values& operands,
                                     std::string label) {
  if (operation.name == "call") return call(operation, "callee", operands, label);
  if (operation.name == "composite") return composite(frame, operation, operands, label);
  const Row* row = findRow(operation.name);
  if (!row) return unserved("the operation is not served");
  if (operands.size() < row->operands)
    return invalid("it has " + std::to_string(operands.size()) + " operands and needs " +
                   std::to_string(row->operands));
  if (row->regions != kAnyRegions && operation.regions.size() != row->regions)
    return invalid("it has " + std::to_string(operation.regions.size()) + " regions and needs " +
                   std::to_string(row->regions));
  if (operation.results.empty() && operation.name != "custom_call" && operation.name != "while" &&
      operation.name != "optimization_barrier")
    return invalid("it has no result");
  captured_.operators.try_emplace(label, fullName(operation));
  const mlir::Location location = mlir::NameLoc::get(builder_.getStringAttr(label));
  OperationContext context(builder_, location, {frame.function, operation, operands, isPointwise_}, *this);
  if (row->pointwise && !isPointwise_) KILN_TRY(checkShapes(context, frame, operation, operands));
  if (!row->pointwise && !row->symbolic)
    for (Value operand : operands)
      if (!ir::tensorType(operand).hasStaticShape())
        return context.undecided("the size of an operand, of " + context.typeText(operand) + ",");
  return row->import(context);
}

const Function* ProgramImporter::calleeOf(const Operation& operation, std::string_view attribute) const {
  const auto found = operation.attributes.find(attribute);
  const auto* name =
      found == operation.attributes.end() ? nullptr : std::get_if<SymbolName>(&found->second.value);
  return name ? program_.find(name->name) : nullptr;
}

Result<Values> ProgramImporter::call(const Operation& operation, std::string_view attribute,
                                     const Values& operands, const std::string& label) {
  const Function* callee = calleeOf(operation, attribute);
  if (!callee) return invalid("there is no such function");
  for (const Frame* frame : frames_)
    if (&frame->function == callee) return invalid("function " + callee->name + " calls itself");
  if (frames_.size() >= kMaxFrames) return unserved("functions call each other too deeply");
  std::string& path = frames_.back()->path;
  const std::string before = std::exchange(path, label + "/");
  auto results = function(*callee, operands);
  path = before;
  return results;
}

// By its name where that is an operation of CHLO, with the composite's attributes; else what it is made of.
Result<Values> ProgramImporter::composite(Frame& frame, const Operation& operation, const Values& operands,
                                          const std::string& label) {
  const auto name = operation.attributes.find("name");
  const auto* text =
      name == operation.attributes.end() ? nullptr : std::get_if<std::string>(&name->second.value);
  if (text && text->starts_with("chlo.") && findRow(*text)) {
    Operation known{*text, operation.operands, operation.results, {}, {}, operation.location};
    if (const auto given = operation.attributes.find("composite_attributes");
        given != operation.attributes.end())
      if (const auto* attributes = std::get_if<Attributes>(&given->second.value))
        known.attributes = *attributes;
    return made(frame, known, operands, label);
  }
  return call(operation, "decomposition", operands, label);
}

Status ProgramImporter::check(const Frame& frame, ValueId value, Value made) const {
  if (isPointwise_ || !made) return {};
  const Type& declared = frame.function.types[value];
  auto type = ir::tensorType(made);
  if (declared.kind == Type::Kind::kTensor && fits(type.getShape(), declared.shape) &&
      type.getElementType() == elementType(builder_.getContext(), declared.element))
    return {};
  const bool isOpen = !type.hasStaticShape() && declared.shape.size() == type.getShape().size();
  if (isOpen)
    return unserved("a value whose sizes only a run gives where the program declares " + typeText(declared) +
                    ", is not served");
  return invalid("a value of type " + ir::typeText(*ir::dtypeOf(type.getElementType()), type.getShape()) +
                 " where the program declares " + typeText(declared));
}

Result<Value> ProgramImporter::literal(const Literal& literal, mlir::Location location) {
  frontend::GraphBuilder reader(builder_, location);
  if (literal.type.kind != Type::Kind::kTensor || literal.type.element == Element::kOther)
    return unserved("constants of type " + literal.type.text + " are not served");
  const mlir::Type element = elementType(builder_.getContext(), literal.type.element);
  const DType dtype = *ir::dtypeOf(element);
  const llvm::ArrayRef<std::int64_t> shape = literal.type.shape;
  for (std::int64_t extent : shape)
    if (extent < 0) return invalid("a constant's shape is not known");
  const auto count = ir::checkedElements(shape);
  const std::size_t width = dtypeBytes(dtype);
  if (!count) return invalid("a constant is absurdly large");
  const std::size_t wanted = literal.isSplat ? width : static_cast<std::size_t>(*count) * width;
  if (literal.bytes.size() != wanted)
    return invalid("a constant has " + std::to_string(literal.bytes.size()) + " bytes, its type needs " +
                   std::to_string(wanted));
  if (*count == 0) return reader.filled(element, Dims(shape), 0);
  if (literal.isSplat)
    return reader.constant(analysis::toElements(builder_.getContext(), dtype, shape, literal.bytes));
  return frontend::addTensor(
      captured_.weights, builder_, location,
      {"constant" + std::to_string(literals_++), dtype, literal.type.shape, literal.bytes, literal.owner});
}

}  // namespace kiln::stablehlo
