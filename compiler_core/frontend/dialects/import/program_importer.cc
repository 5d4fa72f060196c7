#include "compiler_core/frontend/dialects/import/program_importer.h"

#include "compiler_core/frontend/dialects/import/literal.h"
#include "compiler_core/frontend/dialects/import/survey.h"
#include "compiler_core/ir/types.h"
#include "manifest/base/printable.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

namespace kiln::dialects {
namespace {

// Functions that call functions, and conditions that are run again, can grow without bound.
constexpr std::int64_t kMaxOperations = 1 << 18;
constexpr std::size_t kMaxFrames = 40;
constexpr int kMaxRegions = 64;

std::string nameOf(mlir::Operation& operation) {
  return printable(std::string_view(operation.getName().getStringRef()));
}

// Of types that the graph does not calculate with.
bool isSmall(Value value) {
  const unsigned width = elementOf(value).getIntOrFloatBitWidth();
  return isFloat(value) ? width == 8 : width > 1 && width < 8;
}

template <class T>
class Restored {
 public:
  Restored(T& place, T value) : place_(place), before_(place) { place = value; }
  ~Restored() { place_ = before_; }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  T& place_;
  T before_;
};

}  // namespace

Result<Values> ProgramImporter::function(mlir::func::FuncOp function, const Values& arguments) {
  Frame frame{function, printable(std::string_view(function.getName())), {}, 0};
  if (!frames_.empty()) frame.path = frames_.back()->path;
  KILN_TRY(bind(function.getBody().front(), arguments));
  const Restored<const Shape*> outside(space_, nullptr);
  frames_.push_back(&frame);
  auto results = block(function.getBody().front());
  frames_.pop_back();
  return results;
}

Status ProgramImporter::bind(mlir::Block& block, const Values& arguments) {
  if (block.getNumArguments() != arguments.size())
    return invalid("a region takes " + std::to_string(block.getNumArguments()) + " values and is given " +
                   std::to_string(arguments.size()));
  for (auto [declared, made] : llvm::zip_equal(block.getArguments(), arguments)) {
    KILN_TRY(check(declared, made));
    values_[declared] = made;
  }
  return {};
}

Result<Values> ProgramImporter::run(mlir::Region& region, const Values& arguments, const Shape* space) {
  if (regions_ >= kMaxRegions) return unserved("regions are nested too deeply");
  if (!llvm::hasSingleElement(region)) return unserved("a region of several blocks is not served");
  const Restored<const Shape*> inside(space_, space ? space : space_);
  const Restored<int> deeper(regions_, regions_ + 1);
  KILN_TRY(bind(region.front(), arguments));
  KILN_ASSIGN(Values results, block(region.front()));
  if (llvm::is_contained(results, Value())) return unserved("it depends on what is not served");
  return results;
}

Result<Values> ProgramImporter::block(mlir::Block& block) {
  for (mlir::Operation& one : block) {
    const std::int64_t index = frames_.back()->index++;
    if (!isTerminator(one)) {
      KILN_TRY(operation(one, index));
      continue;
    }
    Values results;
    for (const mlir::Value operand : one.getOperands()) results.push_back(values_.lookup(operand));
    return results;
  }
  return invalid("function " + frames_.back()->name + ": a region does not end as its operation needs it");
}

Status ProgramImporter::operation(mlir::Operation& operation, std::int64_t index) {
  Frame& frame = *frames_.back();
  const std::string place = placeOf(frame.name, index) + " (" + nameOf(operation) + ")";
  if (++made_ > kMaxOperations)
    return unserved(place + ": the program expands to more than " + std::to_string(kMaxOperations) +
                    " operations");
  Values operands;
  for (const mlir::Value operand : operation.getOperands()) operands.push_back(values_.lookup(operand));
  auto poison = [&] {
    for (const mlir::Value result : operation.getResults()) values_[result] = {};
  };
  if (llvm::is_contained(operands, Value())) {
    poison();
    return {};
  }
  constexpr std::size_t kMaxLabel = 1024;
  std::string label = frame.path + nodeName(operation, index);
  if (label.size() > kMaxLabel) label.resize(kMaxLabel);
  auto results = made(operation, operands, label);
  // Inside of a region the operation around it is what is not served.
  if (!results && (results.error().code != Code::kUnimplemented || regions_ > 0))
    return fail(results.error().in(place));
  if (!results) {
    captured_.capture.unsupported.push_back(
        {placeOf(frame.name, index), nameOf(operation), "", 0, results.error().message});
    poison();
    return {};
  }
  if (results->size() != operation.getNumResults())
    return fail(Code::kInternal, place + ": it was given another number of results");
  for (auto [declared, result] : llvm::zip_equal(operation.getResults(), *results)) {
    if (Status same = check(declared, result); !same) return fail(same.error().in(place));
    values_[declared] = result;
  }
  if (frames_.size() == 1 && regions_ == 0) ++captured_.capture.served;
  return {};
}

Result<Values> ProgramImporter::made(mlir::Operation& operation, const Values& operands,
                                     const std::string& label) {
  if (std::string why = whyMissing(operation); !why.empty()) return unserved(std::move(why));
  const std::string name = nameOf(operation);
  captured_.operators.try_emplace(label, name);
  if (llvm::isa<mlir::func::CallOp>(operation)) return call(operation, operands, label);
  const mlir::Location location = mlir::NameLoc::get(builder_.getStringAttr(label));
  OperationContext context(builder_, location, operation, operands, *this);
  auto results = findRow(name)->import(context);
  // The graph's verifiers object to arithmetic with them, whatever the operation is.
  if (!results && results.error().code == Code::kInvalidArgument && llvm::any_of(operands, isSmall))
    return unserved("integers below a byte and 8-bit floats are moved and cast alone: " +
                    results.error().message);
  return results;
}

Result<Values> ProgramImporter::call(mlir::Operation& operation, const Values& operands,
                                     const std::string& label) {
  const mlir::func::FuncOp callee = calleeOf(operation);
  if (!callee) return invalid("there is no such function with a body");
  if (frames_.size() >= kMaxFrames) return unserved("functions call each other too deeply");
  std::string& path = frames_.back()->path;
  const std::string before = std::exchange(path, label + "/");
  auto results = function(callee, operands);
  path = before;
  return results;
}

Status ProgramImporter::check(mlir::Value declared, Value made) const {
  if (!made || space_ || llvm::isa<mlir::tosa::shapeType>(declared.getType())) return {};
  const mlir::Type type = declared.getType();
  const auto own = ir::tensorType(made);
  const auto shaped = llvm::dyn_cast<mlir::ShapedType>(type);
  const llvm::ArrayRef<std::int64_t> shape = shaped ? shaped.getShape() : llvm::ArrayRef<std::int64_t>();
  bool fits = shape.size() == static_cast<std::size_t>(own.getRank()) &&
              kilnElement(builder_.getContext(), mlir::getElementTypeOrSelf(type)) == own.getElementType();
  for (std::size_t i = 0; fits && i < shape.size(); ++i)
    fits = mlir::ShapedType::isDynamic(shape[i]) || own.isDynamicDim(static_cast<unsigned>(i)) ||
           shape[i] == own.getDimSize(static_cast<unsigned>(i));
  if (fits) return {};
  const frontend::GraphBuilder graph(builder_, builder_.getUnknownLoc());
  return invalid("a value of type " + graph.typeText(made) + " where the program declares " + textOf(type));
}

Result<Value> ProgramImporter::literal(mlir::ElementsAttr elements, mlir::Location location) {
  return literalValue(builder_, location, captured_.weights, elements,
                      "constant" + std::to_string(literals_++), owner_);
}

}  // namespace kiln::dialects
