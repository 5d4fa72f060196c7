// The symbolic sizes of a program, bound by profiles.
#pragma once

#include "compiler_core/analysis/dim_binding.h"
#include "compiler_core/frontend/graph/captured.h"
#include "compiler_core/frontend/torch/program/program.h"
#include "compiler_core/ir/dims.h"

namespace kiln::torch {

// Sizes of inputs define symbols: a size that is a symbol is called by its name ("s77"); one that is a
// multiple of a symbol that no size is ("Mul(32, s77)") is called "<input>.<dimension>" and given in full, in
// multiples of that number. Not thread safe.
class Symbols {
 public:
  Symbols(mlir::MLIRContext* context, const Program& program, const frontend::ImportOptions& options);

  struct Bound {
    ir::Shape shape;
    analysis::BoundShape signature;
    std::vector<std::int64_t> most;  // the largest that the profiles let each be
  };
  // The shape of an input, in the order of the program's inputs. Errors as DimBinder has them; kUnimplemented
  // for a size that defines no symbol and is not calculated from those that are known;
  // kFailedPrecondition where a profile is not within what the program was exported for.
  Result<Bound> bind(const std::string& input, const std::vector<Expression>& sizes);
  // After all inputs; as DimBinder::finish().
  Status finish() const { return binder_.finish(); }

  // kUnimplemented: it names a symbol that no input has, or a function that is not served.
  Result<ir::Dim> extent(const Expression& expression) const;

  // Those that the caller gives, in the order of their numbers.
  const std::vector<ir::Symbol>& all() const { return all_; }
  const analysis::DimValues& used() const { return binder_.used(); }

 private:
  // How an input's dimension is declared, and which symbol it defines: the symbol is the size / factor.
  struct Definition {
    analysis::DeclaredDim dim;
    std::string symbol;  // "": none
    std::int64_t factor = 1;
  };
  Result<Definition> definitionOf(const std::string& input, std::size_t index, const Expression& size);
  Status checkRange(const Definition& definition, const std::string& name, analysis::DimBounds bounds) const;
  Result<ir::Dim> define(const Definition& definition, const std::string& input, std::size_t index,
                         const std::string& name, std::int64_t bound);
  std::optional<ir::Range> rangeOf(const ir::Dim& dim) const;
  Result<ir::Dim> bounded(const Expression& expression, const ir::Dim& made) const;

  mlir::MLIRContext* context_;
  const Program& program_;
  analysis::DimBinder binder_;
  std::map<std::string, ir::Dim, std::less<>> values_;  // by symbol
  std::map<std::string, std::string, std::less<>>
      multiples_;                                      // name of the dimension by what it is: "32*s77"
  std::map<std::string, ir::Dim, std::less<>> named_;  // size by the dimension's name
  std::vector<ir::Symbol> all_;
  llvm::SmallVector<ir::Range> limits_;
};

// "32*s77", for messages.
std::string textOf(const Expression& expression);

}  // namespace kiln::torch
