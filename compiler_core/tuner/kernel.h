// A kernel by itself as its measurement sees it: tensors and programs. No MLIR.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::tuner {

// As stored: i16 may be codes of f16 or bf16, packed dot operands hold bytes or bf16
// (schedule/analysis/packed_dot.h).
enum class Element { kF32, kF64, kI1, kI8, kI16, kI32, kPackedDot, kI64 };

struct KernelTensor {
  Element element = Element::kF32;
  std::uint64_t elements = 0;

  std::uint64_t bytes() const {
    switch (element) {
      case Element::kI1:
      case Element::kI8:
        return elements;
      case Element::kI16:
        return elements * 2;
      case Element::kF32:
      case Element::kI32:
      case Element::kPackedDot:
        return elements * 4;
      case Element::kF64:
      case Element::kI64:
        break;
    }
    return elements * 8;
  }
};

// What a kernel reads and writes.
struct KernelTensors {
  std::vector<KernelTensor> inputs, weights, outputs;
};

// A weight as a program reads it.
struct KernelWeight {
  std::uint64_t number = 0;  // of the kernel's weights
  // The columns of a matrix that lies in panels (../package/panels.h), and those of a panel. 0: it lies as it
  // is.
  std::uint64_t columns = 0, panelLanes = 0;
  std::uint64_t transposed = 0;  // 1: the kernel's weight has the columns as its first dimension
  // Filters transformed (../package/filter_transform.h) in panels of `panelLanes` of `columns`, which are
  // the kernel's weight's first dimension of four: which transform. 0: none.
  std::uint64_t filterTransform = 0;
  auto operator<=>(const KernelWeight&) const = default;
};

// A program of KILN_PROGRAM_ABI with one profile and no symbols. One for a device does nothing but launch
// kernels: it takes the device's pointers, that of the arena among them, and calls kiln_callbacks.launch
// alone.
struct KernelProgram {
  std::string elf;
  std::uint64_t arenaBytes = 0, scratchBytes = 0;
  std::vector<KernelWeight> weights;      // in the order of its pointers
  std::string image;                      // for a device: the cubin of its kernels, or their SPIR-V
  std::string imageVersion = {};          // of SPIR-V: "1.6"
  std::vector<std::string> imageKernels;  // as the program numbers them
};

}  // namespace kiln::tuner
