#include "compiler_core/partition/partition.h"

#include <set>

#include "compiler_core/ir/ir.h"
#include "compiler_core/ir/types.h"

namespace kiln::partition {
namespace {

using namespace mlir;

// The capability table of the CPU back end: element types an operation's tensors may have.
enum Types : unsigned {
  kReals = 1,  // f16 to f64
  kWhole = 2,  // integers of 8 bits and more
  kBool = 4,
  kSmall = 8,  // 8- and 4-bit floats, integers below a byte: they move and are cast
  kNumbers = kReals | kWhole,
  kArithmetic = kNumbers | kBool,
  kAll = kArithmetic | kSmall
};
struct Capability {
  StringRef operation;
  unsigned types;
};
const Capability kCpu[] = {
    {"kiln.weight", kAll},
    {"kiln.constant", kAll},
    {"kiln.unary", kArithmetic},
    {"kiln.binary", kArithmetic},
    {"kiln.compare", kArithmetic},
    {"kiln.select", kAll},
    {"kiln.cast", kAll},
    {"kiln.bitcast", kAll},
    {"kiln.broadcast", kAll},
    {"kiln.reshape", kAll},
    {"kiln.transpose", kAll},
    {"kiln.concat", kAll},
    {"kiln.slice", kAll},
    {"kiln.gather", kAll},
    {"kiln.reduce", kNumbers},
    {"kiln.softmax", kReals},
    {"kiln.matmul", kNumbers},
    {"kiln.conv", kNumbers},
    {"kiln.pool", kNumbers},
    {"kiln.batch_norm", kReals},
    {"kiln.sort", kArithmetic},
    {"kiln.arg_reduce", kArithmetic},
    {"kiln.cumulative", kNumbers},
    {"kiln.scatter", kAll},
    {"kiln.compress", kAll},
    {"kiln.unique", kArithmetic},
    {"kiln.nms", kNumbers},
    {"kiln.pad", kAll},
    {"kiln.shape_value", kWhole},
    {"kiln.truncate", kAll},
    {"kiln.iota", kNumbers},
    {"kiln.attention", kReals},
    {"kiln.if", kAll},
    {"kiln.loop", kAll},
};

// 0 for a type that no operation has.
unsigned typeBit(Type element) {
  const auto dtype = ir::dtypeOf(element);
  if (!dtype) return 0;
  if (*dtype == DType::kBool) return kBool;
  const unsigned width = element.getIntOrFloatBitWidth();
  if (isa<FloatType>(element)) return width >= 16 ? kReals : kSmall;
  return width >= 8 ? kWhole : kSmall;
}

std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

// Empty if the target serves the operation.
std::string refusal(Operation* op, const std::string& target) {
  const auto* row =
      llvm::find_if(kCpu, [&](const Capability& c) { return c.operation == op->getName().getStringRef(); });
  if (row == std::end(kCpu)) return "target " + target + " has no " + op->getName().getStringRef().str();
  for (Type type : llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()),
                                            SmallVector<Type>(op->getResultTypes()))) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor) return "target " + target + " serves tensors, not " + textOf(type);
    if ((typeBit(tensor.getElementType()) & row->types) == 0)
      return "target " + target + " does not serve " + op->getName().getStringRef().str() + " on " +
             textOf(tensor.getElementType());
  }
  return {};
}

}  // namespace

PartitionResult partition(ModuleOp module, const std::string& target) {
  PartitionResult result;
  Partition all{target, 0, {}};
  llvm::SetVector<std::string, std::vector<std::string>, std::set<std::string>> names;
  module.walk([&](Operation* op) {
    if (op->getName().getDialectNamespace() != ir::KilnDialect::getDialectNamespace()) return;
    if (isa<ir::FusedOp, ir::YieldOp>(op)) return;
    ++all.operations;
    for (std::string& name : ir::nodeNames(op->getLoc())) names.insert(std::move(name));
    if (std::string reason = refusal(op, target); !reason.empty())
      result.unsupported.push_back(
          {ir::nodeName(op->getLoc()), op->getName().getStringRef().str(), "", 0, reason});
  });
  all.nodes = names.takeVector();
  result.evidence.partitions.push_back(std::move(all));
  return result;
}

}  // namespace kiln::partition
