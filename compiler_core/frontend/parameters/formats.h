// The readers of each format. What they have in common: views into `file`, kept alive by `owner`; nothing is
// allocated by a number that the file only claims; messages name the tensor or the byte, and the door
// (read.cc) puts the path in front.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "compiler_core/ir/weight_table.h"
#include "manifest/base/digest.h"

namespace kiln::parameters {

using Tensors = std::vector<ir::Weight>;
using Owner = std::shared_ptr<const void>;

// Format: safetensors of Hugging Face. The header has at most 32 MiB here, which is a quarter of a million
// tensors.
Result<Tensors> readSafetensors(Bytes file, const Owner& owner);

// Format: numpy.savez and savez_compressed, a zip archive of .npy files.
Result<Tensors> readNpz(Bytes file, const Owner& owner);

// One array.
Result<Tensors> readNpy(Bytes file, const Owner& owner, std::string_view name);

// Format: the GGUF specification (ggml), little-endian, versions 2 and 3. Dimensions are turned round: the
// format states the innermost first.
Result<Tensors> readGguf(Bytes file, const Owner& owner);

}  // namespace kiln::parameters
