#include "compiler_core/frontend/parameters/shared_weights.h"

#include <algorithm>
#include <utility>

namespace kiln::parameters {
namespace {

constexpr std::size_t kSampleBytes = 64;

std::string sampleOf(Bytes bytes) {
  std::string out;
  for (const std::size_t at :
       {std::size_t{0}, bytes.size() / 2, bytes.size() - std::min(bytes.size(), kSampleBytes)}) {
    const Bytes part = bytes.subspan(at, std::min(kSampleBytes, bytes.size() - at));
    out.append(reinterpret_cast<const char*>(part.data()), part.size());
  }
  return out;
}

}  // namespace

std::size_t SharedWeights::add(ir::Weight weight) {
  const auto append = [&] {
    weights_.push_back(std::move(weight));
    return weights_.size() - 1;
  };
  const Kind kind(weight.dtype, weight.shape, sampleOf(weight.bytes));
  const auto alone = alone_.find(kind);
  if (alone == alone_.end()) return alone_[kind] = append();
  auto& entries = compared_[kind];
  if (entries.empty()) entries.emplace(digestOf(weights_[alone->second].bytes), alone->second);
  const Digest digest = digestOf(weight.bytes);
  if (const auto found = entries.find(digest); found != entries.end()) return found->second;
  return entries[digest] = append();
}

}  // namespace kiln::parameters
