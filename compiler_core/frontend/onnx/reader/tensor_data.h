// The payload of a TensorProto as a Weight: a view wherever the file already holds the bytes as Kiln wants
// them.
#pragma once

#include "compiler_core/frontend/onnx/reader/external_data.h"
#include "compiler_core/ir/weight_table.h"

namespace kiln::onnx {

inline constexpr std::size_t kMaxRank = 16;

// `file` owns the bytes that `tensor` views; types below a byte are unpacked to one byte each. The payload
// must be exactly what the shape asks for. kInvalidArgument for a broken tensor, kUnimplemented for element
// types and ranks that Kiln does not serve (named).
Result<ir::Weight> tensorData(const Tensor& tensor, const std::shared_ptr<const MappedFile>& file,
                              ExternalData& external);

// What the payload takes in a file, raw or external; errors as tensorData() has them for the shape and type.
Result<std::uint64_t> bytesInFile(const Tensor& tensor);

// Why an element type is refused, or "" for those that are served.
std::string unservedType(std::int32_t type);
// Why an input of the model is refused whatever the options say, or "".
std::string unservedInput(const ValueInfo& input);

}  // namespace kiln::onnx
