// The data of one case: its tensors by name, and what is learnt from them. No MLIR.
#pragma once

#include <string>
#include <vector>

#include "compiler_core/analysis/dim_binding.h"
#include "compiler_core/frontend/onnx/reader/load.h"
#include "compiler_core/reference/host_tensor.h"
#include "manifest/spec/composite.h"
#include "manifest/spec/pin.h"
#include "tests/conformance/suite.h"

namespace kiln::conformance {

using reference::HostTensor;

struct NamedTensor {
  std::string name;
  HostTensor tensor;
  std::vector<std::string> texts = {};  // of a tensor of strings, whose numbers placeTexts() fills in
};

// By the names of a compiled program's inputs and outputs: a sequence is its elements "name.0", "name.1" ...,
// an absent optional is nothing.
struct CaseData {
  std::vector<NamedTensor> inputs, outputs;
};
// kUnimplemented for element types that Kiln does not serve.
Result<CaseData> readData(const Case& one);

// Gives the elements of tensors of strings as a program has them: places in its table `strings`, which is in
// the order of bytes, and -1 for what is not there.
void placeTexts(CaseData& data, const std::vector<std::string>& strings);

// The values that the inputs given imply for the model's symbolic dimensions.
analysis::DimValues dimsOf(const onnx::Model& model, const std::vector<NamedTensor>& inputs);

// What the case's inputs of sequence or optional type hold.
Composites sequencesOf(const onnx::Model& model, const std::vector<NamedTensor>& inputs);

// The inputs whose values a refused compile asks for ("must be known at compile time"): those that `reason`
// names with --pin, or all small integer ones when it names none. Empty when it asks for nothing new.
Pins pinsAskedFor(const std::string& reason, const std::vector<NamedTensor>& inputs, const Pins& given);

// Whether ONNX leaves the case's result random.
bool isRandom(const onnx::Model& model, const std::vector<NamedTensor>& inputs);

// kDataLoss says which output differs and how.
Status compareAll(const std::vector<NamedTensor>& got, const std::vector<NamedTensor>& expected,
                  Tolerance tolerance);
// Names, element types and shapes alone.
Status compareTypes(const std::vector<NamedTensor>& got, const std::vector<NamedTensor>& expected);

}  // namespace kiln::conformance
