// Recognises files that somebody took for an ONNX model.
#pragma once

#include <string>
#include <string_view>

#include "manifest/base/digest.h"

namespace kiln::onnx {

// "a Git LFS pointer: fetch the file itself with git lfs pull", "a PNG image"...; "" for a file of no kind
// known here, which an ONNX model is. Looks at magic numbers and, in archives, at the names of the first
// entries: meant for files that did not parse. `bytes` may be the beginning of the file only, of some 64 KiB;
// `size` is the whole file's.
std::string foreignKind(Bytes bytes, std::uint64_t size);

// Whether the whole of a small file is a Git LFS pointer, which stands in a repository where the file itself
// was not fetched.
bool isLfsPointer(Bytes bytes, std::uint64_t size);

}  // namespace kiln::onnx
