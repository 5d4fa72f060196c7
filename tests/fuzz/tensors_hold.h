// What holds for every file of parameters that was read.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "compiler_core/frontend/parameters/formats.h"
#include "compiler_core/frontend/parameters/tensor_checks.h"

namespace kiln::fuzzing {

inline void checkTensorsHold(const Result<parameters::Tensors>& tensors) {
  if (!tensors) return;
  std::vector<Bytes> places;
  volatile unsigned sum = 0;  // so that all of the bytes are read
  for (const ir::Weight& tensor : *tensors) {
    const auto bytes = parameters::bytesOf(tensor.dtype, tensor.shape);
    if (!bytes || *bytes != tensor.bytes.size()) std::abort();
    for (const std::uint8_t byte : tensor.bytes) sum = sum + byte;
    if (!tensor.bytes.empty()) places.push_back(tensor.bytes);
  }
  std::ranges::sort(places, {}, [](Bytes one) { return one.data(); });
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i].data() < places[i - 1].data() + places[i - 1].size()) std::abort();
  }
}

}  // namespace kiln::fuzzing
