// Capability tables: which operation a target serves on which element types. Data; a further back end adds a
// table (capability.cc) and a row of capabilitiesOf.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "manifest/artifact/dtype.h"

namespace kiln::partition {

// Element types as bits of a mask.
enum Types : unsigned {
  kFull = 1,   // f32, f64
  kHalf = 2,   // f16, bf16
  kWhole = 4,  // integers of 8 bits and more
  kBool = 8,
  kSmall = 16,  // 8- and 4-bit floats, integers below a byte
  kReals = kFull | kHalf,
  kNumbers = kReals | kWhole,
  kArithmetic = kNumbers | kBool,
  kAll = kArithmetic | kSmall
};
unsigned typeBit(DType type);

struct Capability {
  std::string_view operation;  // "kiln.matmul"
  unsigned native = 0;         // calculated in the type itself
  unsigned emulated = 0;       // calculated in a wider type, with conversions around
};
using CapabilityTable = std::vector<Capability>;

// By the target's kind ("cpu:"); an empty table for an unknown one.
const CapabilityTable& capabilitiesOf(std::string_view target);

enum class Service { kNative, kEmulated, kNone };
struct Verdict {
  Service service = Service::kNative;
  std::string reason;  // where it is kNone
};
// What `target` with `table` makes of an operation on tensors of `types`.
Verdict serve(const CapabilityTable& table, std::string_view target, std::string_view operation,
              const std::vector<DType>& types);

}  // namespace kiln::partition
