#include "compiler_core/frontend/dialects/import/operation_table.h"

#include <array>

#include "compiler_core/frontend/dialects/linalg/rows.h"
#include "compiler_core/frontend/dialects/tosa/rows.h"

namespace kiln::dialects {
namespace {

constexpr std::array kFamilies = {
    tosa::arithmeticRows,   tosa::unaryRows,      tosa::integerRows,      tosa::reductionRows,
    tosa::shapeRows,        tosa::shapeValueRows, tosa::indexingRows,     tosa::convolutionRows,
    tosa::poolingRows,      tosa::resizeRows,     tosa::controlRows,      linalg::arithRows,
    linalg::conversionRows, linalg::mathRows,     linalg::structuredRows, linalg::tensorRows,
    linalg::sliceRows,
};

constexpr std::array<std::string_view, 4> kTerminators = {"func.return", "linalg.yield", "tensor.yield",
                                                          "tosa.yield"};

std::string_view nameOf(mlir::Operation& operation) {
  return operation.getName().getStringRef();
}

}  // namespace

const Row* findRow(std::string_view name) {
  for (const auto& family : kFamilies)
    for (const Row& row : family())
      if (row.name == name) return &row;
  return nullptr;
}

std::vector<Row> allRows() {
  std::vector<Row> rows;
  for (const auto& family : kFamilies) rows.insert(rows.end(), family().begin(), family().end());
  return rows;
}

bool isTerminator(mlir::Operation& operation) {
  return llvm::is_contained(kTerminators, nameOf(operation));
}

std::string whyMissing(mlir::Operation& operation) {
  const std::string_view name = nameOf(operation);
  if (name == "func.call" || isTerminator(operation) || findRow(name)) return {};
  std::string_view why = tosa::whyMissing(name);
  if (why.empty()) why = linalg::whyMissing(name);
  return why.empty() ? "the operation is not served" : std::string(why);
}

}  // namespace kiln::dialects
