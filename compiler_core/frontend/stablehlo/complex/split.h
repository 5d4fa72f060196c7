// Programs of complex numbers as programs of reals: a complex value is two values, its real and its imaginary
// part, both with its shape. Everything below the importer knows reals only. No MLIR.
#pragma once

#include <span>

#include "compiler_core/frontend/stablehlo/program/program.h"

namespace kiln::stablehlo {

bool isComplex(const Type& type);

// Whether splitComplex() can write this operation of `function`, which has a complex operand or result.
bool isSplittable(const Operation& operation, const Function& function);

bool hasComplex(const Program& program);

// The program without complex values, and without those functions that have any and are not among `reached`.
// In these every operation that has any is splittable; the entry function has none among its arguments and
// results. Shares the literals of `program`; formulas of several steps are calculated in f64 and rounded
// once.
Program splitComplex(const Program& program, std::span<const Function* const> reached);

}  // namespace kiln::stablehlo
