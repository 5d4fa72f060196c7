// What is known of values at compile time, and what a user is told where that is not enough.
#include "compiler_core/analysis/shape_report.h"
#include "compiler_core/frontend/graph/graph_builder.h"
#include "compiler_core/frontend/graph/symbolic_values.h"
#include "compiler_core/ir/profile.h"
#include "compiler_core/reference/element.h"
#include "compiler_core/reference/evaluator.h"
#include "llvm/ADT/SetVector.h"

namespace kiln::frontend {

std::optional<Dims> GraphBuilder::constantIntegers(Value value) {
  auto op = value.getDefiningOp<ir::ConstantOp>();
  auto elements = op ? llvm::dyn_cast<mlir::DenseIntElementsAttr>(op.getValue()) : nullptr;
  if (!elements || elements.getNumElements() > ir::kMaxConstantBytes) return std::nullopt;
  Dims result;
  for (const llvm::APInt& element : elements.getValues<llvm::APInt>())
    result.push_back(element.getSExtValue());
  return result;
}

std::optional<Shape> GraphBuilder::symbolicIntegers(Value value) {
  return symbolicElements(value);
}

std::optional<Shape> GraphBuilder::symbolicWholes(Value value) {
  return isFloat(value) ? symbolicReals(value) : symbolicElements(value);
}

std::optional<ir::Range> GraphBuilder::rangeOf(const Dim& dim) const {
  return frontend::rangeOf(dim, builder_.getInsertionBlock()->getParentOp());
}

mlir::ModuleOp GraphBuilder::module() const {
  mlir::Operation* place = builder_.getInsertionBlock()->getParentOp();
  auto module = llvm::dyn_cast<mlir::ModuleOp>(place);
  return module ? module : place->getParentOfType<mlir::ModuleOp>();
}

std::int64_t GraphBuilder::newSymbol() {
  const std::size_t number = ir::symbolCount(module());
  return ir::addSymbol(
      module(), {"size" + std::to_string(number) + "@" + ir::nodeName(location_), "", 0, false, 0, {0, 0}});
}

std::string GraphBuilder::describe(llvm::ArrayRef<Dim> shape) const {
  return ir::SizeTexts(module()).words(shape);
}

std::string GraphBuilder::describe(const Dim& dim) const {
  return ir::SizeTexts(module()).words(dim);
}

std::string GraphBuilder::typeText(Value value) const {
  return analysis::typeText(value.getType(), ir::SizeTexts(module()));
}

tl::unexpected<Error> GraphBuilder::undecided(const std::string& what) const {
  return fail(
      Code::kUnimplemented,
      what +
          " is not known at compile time; give the dimensions it depends on one number (min = opt = max) "
          "in the profile, ranges that settle it, or the number that their sizes are a multiple of "
          "(min:opt:max:multiple)");
}

namespace {

// An input of the model, or null.
mlir::BlockArgument modelInput(Value value) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
  return argument && llvm::isa_and_nonnull<mlir::func::FuncOp>(argument.getOwner()->getParentOp())
             ? argument
             : mlir::BlockArgument();
}

std::string nameOf(mlir::BlockArgument input) {
  auto name = llvm::dyn_cast<mlir::NameLoc>(input.getLoc());
  return name ? name.getName().str() : "";
}

// Whether a user would give the input a fixed value: a list of integers, or one number.
bool canBePinned(mlir::BlockArgument input) {
  auto type = ir::tensorType(input);
  auto elements = type.hasStaticShape() ? ir::checkedElements(type.getShape()) : std::nullopt;
  return elements && *elements <= (llvm::isa<mlir::FloatType>(type.getElementType()) ? 1 : 64) &&
         !nameOf(input).empty();
}

// What a value is calculated from, as far as it is followed.
struct Origins {
  std::vector<std::string> pins;  // inputs that a pin can fix, in their order; at most some
  std::string other;              // an input that none can fix, "" if there is none
  bool hasExtents = false;        // extents that the profiles leave open
  bool hasLoop = false;           // what a body calculates, or a node with bodies
  std::int64_t most = 0;          // elements of the largest constant
};

Origins originsOf(Value value) {
  constexpr std::size_t kMaxValues = 4096, kMaxPins = 8;
  llvm::SetVector<Value> found;
  found.insert(value);
  std::map<unsigned, std::string> inputs;
  Origins origins;
  for (std::size_t i = 0; i < found.size() && i < kMaxValues; ++i) {
    if (mlir::BlockArgument input = modelInput(found[i])) {
      if (canBePinned(input))
        inputs[input.getArgNumber()] = nameOf(input);
      else
        origins.other = nameOf(input);
    }
    mlir::Operation* op = found[i].getDefiningOp();
    origins.hasLoop |= op == nullptr ? !modelInput(found[i]) : op->getNumRegions() > 0;
    if (!op) continue;
    if (op->getNumOperands() == 0 && op->getNumRegions() == 0)
      origins.most =
          std::max(origins.most, ir::checkedElements(ir::tensorType(found[i]).getShape()).value_or(0));
    origins.hasExtents |= llvm::isa<ir::ShapeValueOp>(op);
    found.insert(op->operand_begin(), op->operand_end());
  }
  for (const auto& [number, name] : inputs)
    if (origins.pins.size() < kMaxPins) origins.pins.push_back(name);
  return origins;
}

// Where everything is constant: why it was not followed all the same.
std::string constantAdvice(std::int64_t elements) {
  if (elements > kMostFollowed)
    return "it is calculated from a constant of " + std::to_string(elements) + " elements, and at most " +
           std::to_string(kMostFollowed) + " are followed; give a smaller one";
  return "it is calculated from constants of more than " + std::to_string(ir::kMaxConstantBytes) +
         " bytes, or by nodes that are not followed; store its value in the model as a smaller constant";
}

}  // namespace

std::string GraphBuilder::pinAdvice(Value value) {
  if (mlir::BlockArgument input = modelInput(value); input && !nameOf(input).empty())
    return "fix its value with --pin " + nameOf(input) + "=";
  const Origins origins = originsOf(value);
  if (origins.pins.empty() && !origins.other.empty())
    return "it depends on the values of the input '" + origins.other + "', which no --pin can fix";
  if (origins.pins.empty() && origins.hasExtents)
    return "give the dimensions it depends on one number (min = opt = max) in the profile";
  if (origins.pins.empty() && origins.hasLoop)
    return "it depends on what a loop calculates as it goes, which no --pin can fix";
  if (origins.pins.empty()) return constantAdvice(origins.most);
  std::string text = "fix the inputs it depends on with --pin";
  for (std::size_t i = 0; i < origins.pins.size(); ++i)
    text += (i > 0 ? ", --pin " : " ") + origins.pins[i] + "=";
  return text;
}

tl::unexpected<Error> GraphBuilder::notConstant(std::string_view what, Value value) {
  mlir::BlockArgument input = modelInput(value);
  const bool isInput = input && !nameOf(input).empty();
  return fail(Code::kUnimplemented,
              std::string(what) + " must be known at compile time; here it is " +
                  (isInput ? "the input '" + nameOf(input) + "': " : "computed at run time: ") +
                  pinAdvice(value));
}

std::optional<std::vector<double>> GraphBuilder::constantReals(Value value) {
  auto op = value.getDefiningOp<ir::ConstantOp>();
  auto elements = op ? llvm::dyn_cast<mlir::DenseElementsAttr>(op.getValue()) : nullptr;
  if (!elements || elements.getNumElements() > ir::kMaxConstantBytes) return std::nullopt;
  std::vector<double> result;
  if (llvm::isa<mlir::FloatType>(elements.getElementType())) {
    for (llvm::APFloat element : elements.getValues<llvm::APFloat>()) {
      bool lost = false;
      element.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
      result.push_back(element.convertToDouble());
    }
  } else {
    const bool isUnsigned = elements.getElementType().isUnsignedInteger() || elementOf(value).isInteger(1);
    for (const llvm::APInt& element : elements.getValues<llvm::APInt>())
      result.push_back(element.roundToDouble(!isUnsigned));
  }
  return result;
}

std::optional<double> GraphBuilder::constantScalar(Value value) {
  auto op = value.getDefiningOp<ir::ConstantOp>();
  auto elements = op ? llvm::dyn_cast<mlir::DenseElementsAttr>(op.getValue()) : nullptr;
  if (!elements || elements.getNumElements() != 1) return std::nullopt;
  auto tensor = reference::constantValue(value, ir::WeightTable());
  if (!tensor) return std::nullopt;
  return reference::toDouble(reference::readElement(tensor->dtype, tensor->bytes.data()));
}

}  // namespace kiln::frontend
