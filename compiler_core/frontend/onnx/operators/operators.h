// The table of ONNX operators Kiln imports. One file per family in operators/; each gives its rows.
#pragma once

#include <span>

#include "compiler_core/frontend/onnx/graph/node_context.h"
#include "compiler_core/frontend/onnx/served/served_operators.h"

namespace kiln::onnx {

// Makes the node's results, one per output in order. kInvalidArgument: the model is wrong; kUnimplemented:
// Kiln cannot serve this use. Both without the node's name, which the caller adds.
using ImportFunction = Result<Values> (*)(NodeContext& node);
// The same where operands or results may be sequences or optionals. All results poisoned: what is not served
// has been noted.
using ImportItems = Result<Items> (*)(NodeContext& node);

struct Operator {
  std::string_view domain;  // "" is ONNX
  std::string_view name;
  std::int64_t since, until;  // opset versions, inclusive, whose definition `import` serves
  ImportFunction import;
  ImportItems items = nullptr;  // instead of `import`, which is null then
};

// Null when no row has this domain and name for `opset`; `reason` then says what is served.
const Operator* findOperator(std::string_view domain, std::string_view name, std::int64_t opset,
                             std::string& reason);
// Every row, for support tables.
std::vector<Operator> allOperators();

// The operators of the domain com.microsoft, which ONNX Runtime's tools write (contrib/).
std::vector<Operator> contribOperators();

// The families.
std::span<const Operator> elementwiseOperators();
std::span<const Operator> activationOperators();
std::span<const Operator> linearOperators();
std::span<const Operator> convolutionOperators();
std::span<const Operator> poolingOperators();
std::span<const Operator> normalizationOperators();
std::span<const Operator> reductionOperators();
std::span<const Operator> shapeOperators();
std::span<const Operator> sliceOperators();
std::span<const Operator> constantOperators();
std::span<const Operator> attentionOperators();
std::span<const Operator> deformOperators();
std::span<const Operator> gridOperators();
std::span<const Operator> padOperators();
std::span<const Operator> rearrangeOperators();
std::span<const Operator> resizeOperators();
std::span<const Operator> roiOperators();
std::span<const Operator> controlFlowOperators();
std::span<const Operator> sequenceOperators();
std::span<const Operator> recurrentOperators();
std::span<const Operator> generatorOperators();
std::span<const Operator> indexingOperators();
std::span<const Operator> selectionOperators();
std::span<const Operator> determinantOperators();
std::span<const Operator> einsumOperators();
std::span<const Operator> featureOperators();
std::span<const Operator> linearAttentionOperators();
std::span<const Operator> lossOperators();
std::span<const Operator> quantizeOperators();
std::span<const Operator> signalOperators();
std::span<const Operator> trainingOperators();
// ml/, the domain ai.onnx.ml.
std::span<const Operator> mlEncoderOperators();
std::span<const Operator> mlFeatureOperators();
std::span<const Operator> mlLinearOperators();
std::span<const Operator> mlSvmOperators();
std::span<const Operator> mlTreeOperators();

}  // namespace kiln::onnx
