#include "compiler_core/package/weights.h"

#include <fmt/format.h>

#include <cstring>
#include <numeric>

#include "compiler_core/package/files.h"
#include "compiler_core/package/panels.h"

namespace kiln::package {

Result<std::vector<std::uint8_t>> permuted(const ir::Weight& weight,
                                           const std::vector<std::int64_t>& permutation) {
  const std::size_t rank = weight.shape.size(), width = dtypeBytes(weight.dtype);
  std::vector<bool> seen(rank, false);
  for (const std::int64_t dim : permutation)
    if (dim >= 0 && dim < std::int64_t(rank)) seen[dim] = true;
  if (permutation.size() != rank || std::find(seen.begin(), seen.end(), false) != seen.end())
    return fail(Code::kInternal,
                fmt::format("weight {}: not a permutation of its {} dimensions", weight.name, rank));
  std::size_t elements = 1;
  for (const std::int64_t dim : weight.shape) elements *= static_cast<std::size_t>(dim);
  if (weight.bytes.size() != elements * width)
    return fail(Code::kInternal, fmt::format("weight {}: {} bytes for {} elements", weight.name,
                                             weight.bytes.size(), elements));

  // Strides of the source, in the order of the result's dimensions.
  std::vector<std::size_t> source(rank, 1), strides(rank), extents(rank);
  for (std::size_t i = rank; i-- > 1;) source[i - 1] = source[i] * static_cast<std::size_t>(weight.shape[i]);
  for (std::size_t i = 0; i < rank; ++i) {
    strides[i] = source[permutation[i]];
    extents[i] = static_cast<std::size_t>(weight.shape[permutation[i]]);
  }
  std::vector<std::uint8_t> result(weight.bytes.size());
  std::vector<std::size_t> index(rank, 0);
  std::size_t at = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    std::memcpy(result.data() + i * width, weight.bytes.data() + at * width, width);
    for (std::size_t dim = rank; dim-- > 0;) {
      at += strides[dim];
      if (++index[dim] < extents[dim]) break;
      at -= strides[dim] * extents[dim];
      index[dim] = 0;
    }
  }
  return result;
}

std::uint64_t bytesOf(const ir::Weight& weight, const WeightUse& use) {
  if (use.panelLanes == 0 || weight.shape.size() != 2) return weight.bytes.size();
  const auto columns = weight.shape[use.permutation.empty() ? 1 : use.permutation[1]];
  const auto padded = (columns + use.panelLanes - 1) / use.panelLanes * use.panelLanes;
  return weight.bytes.size() / static_cast<std::uint64_t>(columns) * static_cast<std::uint64_t>(padded);
}

Result<std::vector<std::uint8_t>> laidOut(const ir::Weight& weight, const WeightUse& use) {
  std::vector<std::uint8_t> turned;
  std::vector<std::int64_t> shape = weight.shape;
  if (!use.permutation.empty()) {
    KILN_ASSIGN(turned, permuted(weight, use.permutation));
    for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = weight.shape[use.permutation[i]];
  }
  const Bytes bytes = use.permutation.empty() ? weight.bytes : Bytes(turned);
  if (use.panelLanes == 0) return std::vector<std::uint8_t>(bytes.begin(), bytes.end());
  if (shape.size() != 2)
    return fail(Code::kInternal,
                fmt::format("weight {}: panels of {} dimensions", weight.name, shape.size()));
  return inPanels(bytes, {shape[0], shape[1], dtypeBytes(weight.dtype)}, use.panelLanes);
}

Result<std::vector<WeightFile>> writeWeights(const ir::WeightTable& table, const std::vector<WeightUse>& uses,
                                             const std::string& directory) {
  std::vector<WeightFile> files;
  if (!uses.empty()) KILN_TRY(makeDirectory(directory + "/weights"));
  for (const WeightUse& use : uses) {
    const ir::Weight* weight = table.find(use.source);
    if (!weight)
      return fail(Code::kInternal,
                  fmt::format("the program uses weight {}, which the model lacks", use.source));
    WeightFile file{fmt::format("weights/{:04}.bin", files.size()), weight->name, {}, use.space};
    const std::string path = directory + "/" + file.path;
    if (use.permutation.empty() && use.panelLanes == 0) {  // from where it lies
      KILN_ASSIGN(file.digest, writeFile(path, weight->bytes));
    } else {
      KILN_ASSIGN(const auto bytes, laidOut(*weight, use));
      KILN_ASSIGN(file.digest, writeFile(path, bytes));
    }
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace kiln::package
