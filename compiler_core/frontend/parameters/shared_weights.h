// Keeps weights of the same contents once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "compiler_core/ir/weight_table.h"
#include "manifest/base/digest.h"

namespace kiln::parameters {

// Hashes only what begins, stands in the middle and ends alike, so that weights that are not tied are not
// read. Not thread safe.
class SharedWeights {
 public:
  // Appends to `weights`, which must outlive this and gets entries from nobody else.
  explicit SharedWeights(std::vector<ir::Weight>& weights) : weights_(weights) {}

  // The entry with these contents: one that is there with the same type, shape and bytes, else a new one.
  std::size_t add(ir::Weight weight);

 private:
  using Kind = std::tuple<DType, std::vector<std::int64_t>, std::string>;  // type, shape, some of the bytes

  std::vector<ir::Weight>& weights_;
  std::map<Kind, std::size_t> alone_;                       // the first entry of each kind
  std::map<Kind, std::map<Digest, std::size_t>> compared_;  // all of a kind, from the second weight on
};

}  // namespace kiln::parameters
