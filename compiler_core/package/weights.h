// Weights as files of the artifact, laid out as the program wants them: mapped at run time, never copied.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler_core/ir/weight_table.h"

namespace kiln::package {

// Packed dot operands: `steps` elements that follow each other along `axis`, in 32 bits. [.., extent, ..]
// becomes [.., ceil(extent / steps), .., steps] bytes; the last operand is filled up with zeros.
struct DotPacking {
  std::int64_t axis = 0, steps = 0;
  bool operator==(const DotPacking&) const = default;
};

// One pointer of kiln_run's `weights`: an entry of the table, with its dimensions permuted when the program
// reads them in another order (result dimension i is dimension permutation[i] of the entry; empty: as they
// are), or as packed dot operands; then, its last dimension as columns, in panels of so many columns
// (panels.h; 0: as it is). With filterTransform, an entry [K, C, 3, 3] after the permutation, not packed, is
// transformed as a strategy of the schedule wants it, in panels of so many of its K (filter_transform.h).
struct WeightUse {
  std::int64_t source = 0;
  std::vector<std::int64_t> permutation;
  std::optional<DotPacking> dotPacking;
  std::uint32_t space = 0;  // whose memory the program wants it in (program_abi.h)
  std::int64_t panelLanes = 0;
  std::int64_t filterTransform = 0;  // which; 0: none
};

struct WeightFile {
  std::string path;  // relative to the artifact: "weights/0000.bin"
  std::string name;  // of the initialiser in the model
  Digest digest;
  std::uint32_t space = 0;
};

// Writes one file per use below `directory`, in order. kInternal: a use that the table does not hold.
Result<std::vector<WeightFile>> writeWeights(const ir::WeightTable& table, const std::vector<WeightUse>& uses,
                                             const std::string& directory);

// The same bytes, one vector per use. Errors as writeWeights.
Result<std::vector<std::vector<std::uint8_t>>> laidOutWeights(const ir::WeightTable& table,
                                                              const std::vector<WeightUse>& uses);

// What `weight` takes as `use` wants it.
std::uint64_t bytesOf(const ir::Weight& weight, const WeightUse& use);

// The bytes of `weight` as `use` wants them. kInternal: it has no such layout.
Result<std::vector<std::uint8_t>> laidOut(const ir::Weight& weight, const WeightUse& use);

// The bytes of `weight` with its dimensions permuted.
Result<std::vector<std::uint8_t>> permuted(const ir::Weight& weight,
                                           const std::vector<std::int64_t>& permutation);

// The bytes of `weight` as packed dot operands.
Result<std::vector<std::uint8_t>> packDotOperands(const ir::Weight& weight, const DotPacking& dotPacking);

}  // namespace kiln::package
