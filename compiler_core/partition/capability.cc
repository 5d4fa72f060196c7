#include "compiler_core/partition/capability.h"

#include <algorithm>

#include "manifest/spec/target_device.h"

namespace kiln::partition {
namespace {

// All processors alike: code generation calculates f16 and bf16 in f32 everywhere.
const CapabilityTable& cpu() {
  static const CapabilityTable table = {
      {"kiln.weight", kAll},
      {"kiln.constant", kAll},
      {"kiln.unary", kFull | kWhole | kBool, kHalf},
      {"kiln.binary", kFull | kWhole | kBool, kHalf},
      {"kiln.compare", kFull | kWhole | kBool, kHalf},
      {"kiln.select", kAll},
      {"kiln.cast", kAll},
      {"kiln.bitcast", kAll},
      {"kiln.dequantise", kFull | kWhole},
      {"kiln.broadcast", kAll},
      {"kiln.reshape", kAll},
      {"kiln.transpose", kAll},
      {"kiln.concat", kAll},
      {"kiln.slice", kAll},
      {"kiln.gather", kAll},
      {"kiln.reduce", kFull | kWhole, kHalf},
      {"kiln.softmax", kFull, kHalf},
      {"kiln.matmul", kFull | kWhole, kHalf},
      {"kiln.conv", kFull | kWhole, kHalf},
      {"kiln.pool", kFull | kWhole, kHalf},
      {"kiln.batch_norm", kFull, kHalf},
      {"kiln.sort", kFull | kWhole | kBool, kHalf},
      {"kiln.arg_reduce", kFull | kWhole | kBool, kHalf},
      {"kiln.cumulative", kFull | kWhole, kHalf},
      {"kiln.scatter", kAll},
      {"kiln.compress", kAll},
      {"kiln.unique", kFull | kWhole | kBool, kHalf},
      {"kiln.nms", kFull | kWhole, kHalf},
      {"kiln.pad", kAll},
      {"kiln.shape_value", kWhole},
      {"kiln.truncate", kAll},
      {"kiln.iota", kFull | kWhole, kHalf},
      {"kiln.attention", kFull, kHalf},
      {"kiln.if", kAll},
      {"kiln.loop", kAll},
  };
  return table;
}

// GPUs: what becomes loops over elements. What walks its data in an order that depends on them, or finds out
// sizes, has no form there; tensor cores multiply f16 and bf16 themselves.
const CapabilityTable& device() {
  static const CapabilityTable table = [] {
    constexpr std::string_view kNot[] = {"kiln.sort",     "kiln.compress", "kiln.unique", "kiln.nms",
                                         "kiln.truncate", "kiln.if",       "kiln.loop"};
    constexpr std::string_view kByTensorCores[] = {"kiln.matmul", "kiln.conv", "kiln.attention"};
    CapabilityTable rows = cpu();
    std::erase_if(rows, [&](const Capability& row) { return std::ranges::count(kNot, row.operation) != 0; });
    for (Capability& row : rows)
      if (std::ranges::count(kByTensorCores, row.operation) != 0)
        row = {row.operation, row.native | row.emulated};
    return rows;
  }();
  return table;
}

}  // namespace

unsigned typeBit(DType type) {
  switch (type) {
    case DType::kF32:
    case DType::kF64:
      return kFull;
    case DType::kF16:
    case DType::kBF16:
      return kHalf;
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
      return kWhole;
    case DType::kBool:
      return kBool;
    default:
      return kSmall;
  }
}

const CapabilityTable& capabilitiesOf(std::string_view target) {
  static const CapabilityTable none;
  if (wantsDevice(target)) return device();
  return target.starts_with("cpu:") ? cpu() : none;
}

Verdict serve(const CapabilityTable& table, std::string_view target, std::string_view operation,
              const std::vector<DType>& types) {
  const std::string name = "target " + std::string(target);
  const auto row = std::ranges::find(table, operation, &Capability::operation);
  if (row == table.end()) return {Service::kNone, name + " has no " + std::string(operation)};
  Verdict verdict;
  for (const DType type : types) {
    if (typeBit(type) & row->native) continue;
    if (!(typeBit(type) & row->emulated))
      return {Service::kNone,
              name + " does not serve " + std::string(operation) + " on " + std::string(dtypeName(type))};
    verdict.service = Service::kEmulated;
  }
  return verdict;
}

}  // namespace kiln::partition
