#include "compiler_core/package/weights.h"

#include <fmt/format.h>

#include <cstring>
#include <numeric>

#include "compiler_core/package/files.h"

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

Result<std::vector<std::uint8_t>> asWords(const ir::Weight& weight, const Words& words) {
  const std::size_t width = dtypeBytes(weight.dtype);
  if (words.axis < 0 || words.axis >= std::int64_t(weight.shape.size()) || words.steps < 1 ||
      width * static_cast<std::size_t>(words.steps) != 4)
    return fail(Code::kInternal, fmt::format("weight {}: no words of {} steps along dimension {}",
                                             weight.name, words.steps, words.axis));
  std::size_t outer = 1, inner = 1;
  for (std::int64_t i = 0; i < std::int64_t(weight.shape.size()); ++i)
    if (i != words.axis) (i < words.axis ? outer : inner) *= static_cast<std::size_t>(weight.shape[i]);
  const auto extent = static_cast<std::size_t>(weight.shape[words.axis]),
             steps = static_cast<std::size_t>(words.steps), count = (extent + steps - 1) / steps;
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
    if (use.words) {
      KILN_ASSIGN(const auto bytes, asWords(*weight, *use.words));
      KILN_ASSIGN(file.digest, writeFile(path, bytes));
    } else if (use.permutation.empty()) {
      KILN_ASSIGN(file.digest, writeFile(path, weight->bytes));
    } else {
      KILN_ASSIGN(const auto bytes, permuted(*weight, use.permutation));
      KILN_ASSIGN(file.digest, writeFile(path, bytes));
    }
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace kiln::package
