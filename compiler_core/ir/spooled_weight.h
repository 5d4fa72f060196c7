// Weights that a rewrite has made, kept in a file instead of memory: of a model of many gigabytes they would
// otherwise all be there at once. No MLIR.
#pragma once

#include <string>
#include <vector>

#include "compiler_core/ir/weight_table.h"

namespace kiln::ir {

// Smaller ones stay in memory.
inline constexpr std::size_t kSpooledBytes = std::size_t{1} << 20;

// As WeightTable::addOwned, with the bytes mapped from a file in `directory` that has no name any more: it
// vanishes with the table. In memory where `directory` is "", the bytes are few, or no file can be made
// there, since it saves memory and decides nothing.
std::int64_t addSpooled(WeightTable& table, const std::string& directory, std::string name, DType dtype,
                        std::vector<std::int64_t> shape, std::vector<std::uint8_t> bytes);

}  // namespace kiln::ir
