#include "compiler_core/package/weights.h"

#include <fmt/format.h>

#include <cstring>
#include <numeric>

#include "compiler_core/ir/permute_bytes.h"
#include "compiler_core/package/files.h"
#include "compiler_core/package/filter_transform.h"
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

  std::vector<std::uint8_t> result(weight.bytes.size());
  ir::permuteBytes(weight.bytes.data(), weight.shape, permutation, width, result.data());
  return result;
}

Result<std::vector<std::uint8_t>> packDotOperands(const ir::Weight& weight, const DotPacking& dotPacking) {
  const std::size_t width = dtypeBytes(weight.dtype);
  if (dotPacking.axis < 0 || dotPacking.axis >= std::int64_t(weight.shape.size()) || dotPacking.steps < 1 ||
      width * static_cast<std::size_t>(dotPacking.steps) != 4)
    return fail(Code::kInternal,
                fmt::format("weight {}: no packed dot operands of {} steps along dimension {}", weight.name,
                            dotPacking.steps, dotPacking.axis));
  std::size_t outer = 1, inner = 1;
  for (std::int64_t i = 0; i < std::int64_t(weight.shape.size()); ++i)
    if (i != dotPacking.axis)
      (i < dotPacking.axis ? outer : inner) *= static_cast<std::size_t>(weight.shape[i]);
  const auto extent = static_cast<std::size_t>(weight.shape[dotPacking.axis]),
             steps = static_cast<std::size_t>(dotPacking.steps), count = (extent + steps - 1) / steps;
  if (weight.bytes.size() != outer * extent * inner * width)
    return fail(Code::kInternal, fmt::format("weight {}: {} bytes for {} elements", weight.name,
                                             weight.bytes.size(), outer * extent * inner));
  std::vector<std::uint8_t> result(outer * count * inner * 4, 0);
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t at = 0; at < extent; ++at)
      for (std::size_t i = 0; i < inner; ++i)
        std::memcpy(result.data() + ((o * count + at / steps) * inner + i) * 4 + at % steps * width,
                    weight.bytes.data() + ((o * extent + at) * inner + i) * width, width);
  return result;
}

namespace {

std::int64_t packedExtent(std::int64_t extent, const DotPacking& dotPacking) {
  return (extent + dotPacking.steps - 1) / dotPacking.steps;
}

}  // namespace

std::uint64_t bytesOf(const ir::Weight& weight, const WeightUse& use) {
  std::vector<std::int64_t> shape = weight.shape;
  std::uint64_t bytes = weight.bytes.size();
  if (use.dotPacking) {
    std::int64_t& extent = shape[use.dotPacking->axis];
    const std::int64_t packed = packedExtent(extent, *use.dotPacking);
    bytes = bytes / static_cast<std::uint64_t>(extent) *
            static_cast<std::uint64_t>(packed * use.dotPacking->steps);
    extent = packed;
  }
  if (use.filterTransform != 0) return transformedFilterBytes(bytes, use.filterTransform);
  if (use.panelLanes == 0 || shape.empty()) return bytes;
  const auto columns = use.permutation.empty() ? shape.back() : shape[use.permutation.back()];
  const auto padded = (columns + use.panelLanes - 1) / use.panelLanes * use.panelLanes;
  return bytes / static_cast<std::uint64_t>(columns) * static_cast<std::uint64_t>(padded);
}

Result<std::vector<std::uint8_t>> laidOut(const ir::Weight& weight, const WeightUse& use) {
  std::vector<std::uint8_t> rearranged;
  std::vector<std::int64_t> shape = weight.shape;
  std::size_t width = dtypeBytes(weight.dtype);
  if (!use.permutation.empty()) {
    KILN_ASSIGN(rearranged, permuted(weight, use.permutation));
    for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = weight.shape[use.permutation[i]];
  } else if (use.dotPacking) {
    KILN_ASSIGN(rearranged, packDotOperands(weight, *use.dotPacking));
    shape[use.dotPacking->axis] = packedExtent(shape[use.dotPacking->axis], *use.dotPacking);
    width = 4;
  }
  const Bytes bytes = use.permutation.empty() && !use.dotPacking ? weight.bytes : Bytes(rearranged);
  if (use.filterTransform != 0) {
    if (weight.dtype != DType::kF32 || shape.size() != 4 || use.dotPacking)
      return fail(Code::kInternal, fmt::format("weight {}: no windows of f32", weight.name));
    return transformFilters(bytes, shape[0], shape[1], use.filterTransform, use.panelLanes);
  }
  if (use.panelLanes == 0) return std::vector<std::uint8_t>(bytes.begin(), bytes.end());
  if (shape.empty()) return fail(Code::kInternal, fmt::format("weight {}: panels of a number", weight.name));
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  return inPanels(bytes, {rows, shape.back(), width}, use.panelLanes);
}

namespace {

Result<const ir::Weight*> findWeight(const ir::WeightTable& table, const WeightUse& use) {
  const ir::Weight* weight = table.find(use.source);
  if (weight) return weight;
  return fail(Code::kInternal, fmt::format("the program uses weight {}, which the model lacks", use.source));
}

}  // namespace

Result<std::vector<std::vector<std::uint8_t>>> laidOutWeights(const ir::WeightTable& table,
                                                              const std::vector<WeightUse>& uses) {
  std::vector<std::vector<std::uint8_t>> out;
  for (const WeightUse& use : uses) {
    KILN_ASSIGN(const ir::Weight* weight, findWeight(table, use));
    KILN_ASSIGN(auto bytes, laidOut(*weight, use));
    out.push_back(std::move(bytes));
  }
  return out;
}

Result<std::vector<WeightFile>> writeWeights(const ir::WeightTable& table, const std::vector<WeightUse>& uses,
                                             const std::string& directory) {
  std::vector<WeightFile> files;
  if (!uses.empty()) KILN_TRY(makeDirectory(directory + "/weights"));
  for (const WeightUse& use : uses) {
    KILN_ASSIGN(const ir::Weight* weight, findWeight(table, use));
    WeightFile file{fmt::format("weights/{:04}.bin", files.size()), weight->name, {}, use.space};
    const std::string path = directory + "/" + file.path;
    if (use.permutation.empty() && !use.dotPacking && use.panelLanes == 0) {  // from where it lies
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
