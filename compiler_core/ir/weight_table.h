// The constants of a model, beside the module: `kiln.weight N` is entry N. Entries are views into the mapped
// model file wherever possible; rewritten weights own their bytes. No MLIR here: the packager and the
// evaluator use it too.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "manifest/artifact/dtype.h"
#include "manifest/base/digest.h"

namespace kiln::ir {

// Dense row-major, little-endian; bool is one byte, 0 or 1. `bytes` may be unaligned: read by memcpy.
struct Weight {
  std::string
      name;  // of the initialiser in the model; rewritten weights append what was done ("conv1.weight+bn1")
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  Bytes bytes;
  std::shared_ptr<const void> owner;  // keeps `bytes` alive
};

// Append only, so that an index stays valid; unused entries stay and are dropped by the packager. Not thread
// safe.
class WeightTable {
 public:
  std::int64_t add(Weight weight);
  // Takes the bytes over.
  std::int64_t addOwned(std::string name, DType dtype, std::vector<std::int64_t> shape,
                        std::vector<std::uint8_t> bytes);

  std::int64_t size() const { return static_cast<std::int64_t>(weights_.size()); }
  // Null when there is no such entry (IR text may claim any index).
  const Weight* find(std::int64_t index) const;

 private:
  std::vector<Weight> weights_;
};

}  // namespace kiln::ir
