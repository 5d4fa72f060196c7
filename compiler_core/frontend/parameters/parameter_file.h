// Files of named tensors, which a compile binds to a program's arguments as weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler_core/ir/weight_table.h"
#include "manifest/base/result.h"

namespace kiln::parameters {

enum class Format { kSafetensors, kNpz, kNpy, kGguf };

// Tensors are views into maps of the files, and keep those alive; compressed members of an .npz own memory.
struct ParameterFile {
  std::string path;  // as given
  Format format = Format::kSafetensors;
  // Names are UTF-8 without control characters, not empty, and no two are equal. In the order in which the
  // file holds the bytes.
  std::vector<ir::Weight> tensors;
  std::vector<std::string> files;  // every file that was read: `path`, or the index and its shards
};

inline constexpr std::size_t kMaxTensors = 1'000'000;
inline constexpr std::size_t kMaxNameBytes = 4096;
inline constexpr std::size_t kMaxRank = 64;

// Finds out by its bytes what `path` is: a .safetensors file, the index of shards of one
// (model.safetensors.index.json), an .npz archive, a .npy array (its tensor has the file's name without
// ".npy") or a GGUF file of version 2 or 3. A folder stands for its model.safetensors.index.json, else for
// its model.safetensors. Symbolic links are followed: caches of downloaded models are made of them.
// kInvalidArgument for what is malformed or nothing of the kind, kUnimplemented for what is well-formed and
// not served, such as quantised blocks; messages begin with the path and name the tensor or the byte.
Result<ParameterFile> readParameters(const std::string& path);

}  // namespace kiln::parameters
