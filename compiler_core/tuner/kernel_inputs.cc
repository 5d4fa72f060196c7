#include "compiler_core/tuner/kernel_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "compiler_core/package/filter_transform.h"
#include "compiler_core/package/panels.h"
#include "compiler_core/runtime/program_abi.h"

namespace kiln::tuner {
namespace {

// Copies of the inputs take as much as a core's own caches hold and more.
constexpr std::uint64_t kCopiesBytes = 4 << 20, kMaxCopies = 8, kMaxWeightCopies = 64;

template <class T>
void fillWith(void* memory, std::uint64_t elements, const auto& next) {
  T* at = static_cast<T*>(memory);
  for (std::uint64_t i = 0; i < elements; ++i) at[i] = static_cast<T>(next());
}

void fillSeeded(void* memory, const KernelTensor& tensor, std::mt19937_64& random) {
  const auto real = [&] { return 0.25 + static_cast<double>(random() >> 11) * 0x1p-53 * 0.75; };
  switch (tensor.element) {
    case Element::kF32:
      return fillWith<float>(memory, tensor.elements, real);
    case Element::kF64:
      return fillWith<double>(memory, tensor.elements, real);
    case Element::kI16:
      // Codes of f16 from 1 to 2 and of bf16 from 1/128 to 1/2, and small integers.
      return fillWith<std::uint16_t>(memory, tensor.elements, [&] { return 0x3c00 + random() % 0x300; });
    case Element::kPackedDot:
      return fillWith<std::uint16_t>(memory, 2 * tensor.elements, [&] { return 0x3c00 + random() % 0x300; });
    case Element::kI1:
    case Element::kI8:
      return fillWith<std::uint8_t>(memory, tensor.elements, [&] { return random() % 2; });
    case Element::kI32:
    case Element::kI64:
      std::memset(memory, 0, tensor.bytes());
  }
}

}  // namespace

Result<Memory> allocate(std::uint64_t bytes) {
  Memory memory(std::aligned_alloc(KILN_ALIGNMENT, (bytes / KILN_ALIGNMENT + 1) * KILN_ALIGNMENT));
  if (!memory)
    return fail(Code::kResourceExhausted, fmt::format("no memory for {} bytes of a kernel", bytes));
  return memory;
}

Result<KernelInputs> KernelInputs::make(const KernelTensors& tensors, std::uint64_t seed,
                                        std::uint64_t weightBytes) {
  std::uint64_t bytes = 1;
  for (const auto* list : {&tensors.inputs, &tensors.weights})
    for (const KernelTensor& tensor : *list) bytes += tensor.bytes();
  const std::uint64_t copies = std::clamp<std::uint64_t>(kCopiesBytes / bytes, 1, kMaxCopies);
  std::uint64_t ofWeights = 1;
  for (const KernelTensor& tensor : tensors.weights) ofWeights += tensor.bytes();
  KernelInputs made;
  std::mt19937_64 random(seed);
  const auto fill = [&](const KernelTensor& tensor,
                        std::uint64_t wanted) -> Result<std::vector<const void*>> {
    std::vector<const void*> pointers;
    while (pointers.size() < wanted) {
      KILN_ASSIGN(Memory memory, allocate(tensor.bytes()));
      if (pointers.empty())
        fillSeeded(memory.get(), tensor, random);
      else
        std::memcpy(memory.get(), pointers.front(), tensor.bytes());
      pointers.push_back(memory.get());
      made.memory_.push_back(std::move(memory));
    }
    return pointers;
  };
  made.inputs_.resize(copies);
  for (const KernelTensor& tensor : tensors.inputs) {
    KILN_ASSIGN(const auto pointers, fill(tensor, copies));
    for (std::uint64_t copy = 0; copy < copies; ++copy) made.inputs_[copy].push_back(pointers[copy]);
  }
  made.weightCopies_ = std::clamp(weightBytes / ofWeights, copies, kMaxWeightCopies);
  for (std::size_t i = 0; i < tensors.weights.size(); ++i) {
    KILN_ASSIGN(made.weights_[{i}], fill(tensors.weights[i], made.weightCopies_));
  }
  made.weightTensors_ = tensors.weights;
  return made;
}

namespace {

// [rows][columns] of what is [columns][rows].
std::vector<std::uint8_t> transposed(Bytes matrix, const package::MatrixSize& size) {
  const auto rows = static_cast<std::size_t>(size.rows), columns = static_cast<std::size_t>(size.columns);
  std::vector<std::uint8_t> result(matrix.size());
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      std::memcpy(result.data() + (row * columns + column) * size.elementBytes,
                  matrix.data() + (column * rows + row) * size.elementBytes, size.elementBytes);
  return result;
}

// What the artifact would have of the kernel's weight.
Result<std::vector<std::uint8_t>> laidOut(const std::uint8_t* plain, const KernelTensor& tensor,
                                          const KernelWeight& weight) {
  const package::MatrixSize size{static_cast<std::int64_t>(tensor.elements / weight.columns),
                                 static_cast<std::int64_t>(weight.columns), tensor.bytes() / tensor.elements};
  const auto lanes = static_cast<std::int64_t>(weight.panelLanes);
  if (weight.filterTransform != 0)
    return package::transformFilters({plain, tensor.bytes()}, size.columns, size.rows / 9,
                                     static_cast<std::int64_t>(weight.filterTransform), lanes);
  const std::vector<std::uint8_t> matrix = weight.transposed != 0
                                               ? transposed({plain, tensor.bytes()}, size)
                                               : std::vector<std::uint8_t>(plain, plain + tensor.bytes());
  return package::inPanels(matrix, size, lanes);
}

}  // namespace

Result<std::vector<std::vector<const void*>>> KernelInputs::weights(const std::vector<KernelWeight>& wanted) {
  std::vector<std::vector<const void*>> all(weightCopies_);
  for (const KernelWeight& weight : wanted) {
    if (weight.number >= weightTensors_.size() || (weight.columns == 0) != (weight.panelLanes == 0) ||
        weight.transposed > 1 || (weight.filterTransform != 0 && weight.panelLanes == 0) ||
        (weight.columns != 0 && weightTensors_[weight.number].elements % weight.columns != 0))
      return fail(Code::kInvalidArgument, "a program reads a weight that its kernel does not have");
    std::vector<const void*>& made = weights_[weight];
    if (made.empty()) {
      KILN_ASSIGN(const auto bytes, laidOut(static_cast<const std::uint8_t*>(weights_[{weight.number}][0]),
                                            weightTensors_[weight.number], weight));
      while (made.size() < weightCopies_) {
        KILN_ASSIGN(Memory memory, allocate(bytes.size()));
        std::memcpy(memory.get(), bytes.data(), bytes.size());
        made.push_back(memory.get());
        memory_.push_back(std::move(memory));
      }
    }
    for (std::size_t copy = 0; copy < weightCopies_; ++copy) all[copy].push_back(made[copy]);
  }
  return all;
}

}  // namespace kiln::tuner
