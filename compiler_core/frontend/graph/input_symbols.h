// The symbols of a module that its caller gives: dimensions of inputs, and elements of integer inputs, as the
// profiles bind them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler_core/analysis/dim_binding.h"
#include "compiler_core/frontend/graph/captured.h"
#include "compiler_core/ir/dims.h"
#include "compiler_core/ir/profile.h"

namespace kiln::frontend {

// Of one import. Every named dimension is a symbol of the program, whatever profiles make of it; those of one
// value are that number in the graph.
class InputSymbols {
 public:
  InputSymbols(mlir::MLIRContext* context, const ImportOptions& options)
      : context_(context), binder_(options.dims, options.ranges) {}

  // An input with the extents that the graph sees.
  struct Input {
    ir::Signature signature;  // its shape is analysis::kSymbolic, with the name, where profiles give a range
    ir::Shape extents;
  };
  // Errors are those of analysis::DimBinder::bind(); kInvalidArgument where the largest size is absurd.
  Result<Input> input(std::string name, DType dtype, const std::vector<analysis::DeclaredDim>& dims);
  // The number or the symbol that profiles give for element `index` of an integer input; nullopt: none.
  std::optional<ir::Dim> element(const std::string& input, std::int64_t index);

  const analysis::DimBinder& binder() const { return binder_; }
  // In the order of their numbers, for Captured::symbols and the module.
  const std::vector<ir::Symbol>& symbols() const { return symbols_; }

 private:
  ir::Dim symbol(std::string name, std::string_view input, std::int64_t index, bool element,
                 analysis::DimBounds bounds);

  mlir::MLIRContext* context_;
  analysis::DimBinder binder_;
  std::vector<ir::Symbol> symbols_;
  llvm::SmallVector<ir::Range> limits_;     // of the symbols
  std::map<std::string, unsigned> byName_;  // their numbers
};

// What the outside is told of a tensor: its extents as numbers, or kSymbolic with their expression over
// sizes.
ir::Signature signatureOf(std::string name, mlir::RankedTensorType type, const ir::SizeTexts& sizes);

}  // namespace kiln::frontend
