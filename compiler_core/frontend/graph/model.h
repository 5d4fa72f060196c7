// A model of any format, read and checked, ready for import.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler_core/frontend/graph/captured.h"
#include "manifest/base/result.h"
#include "manifest/spec/partition_rules.h"

namespace kiln::frontend {

// Immutable: may be shared among threads.
class Model {
 public:
  virtual ~Model() = default;

  // What the file was taken for: "ONNX", "StableHLO bytecode 1.17.0".
  virtual std::string form() const = 0;
  // Of what a run is given, in order, composites not taken apart.
  virtual std::vector<std::string> inputNames() const = 0;
  // Of the tensors that lie outside the model file, relative to its directory; each once. kInvalidArgument
  // for a path that is none.
  virtual Result<std::vector<std::string>> externalFiles() const = 0;
  // One sentence for each pattern and operator of the rules that the model does not have.
  virtual std::vector<std::string> unknownNames(const PartitionRules& rules) const = 0;

  // The graph with its symbolic dimensions bound and its pinned inputs fixed; references to the model are
  // kept by what its weights own alone. kInvalidArgument: the model is wrong, or a pin does not fit it; names
  // the place. kUnimplemented: with `details` that list everything that is not served, or an unbound
  // dimension.
  virtual Result<Captured> import(mlir::MLIRContext& context, const ImportOptions& options) const = 0;
};

using LoadedModel = std::unique_ptr<const Model>;

}  // namespace kiln::frontend
