// kiln.dequantise: a matrix of few bits per element. Importers make it of what quantisers of weights write;
// the schedule takes it into the product that multiplies with it (schedule/lower/packed.cc), so that the
// codes are what lies in the artifact and in memory.
#pragma once

#include "compiler_core/ir/ir.h"

#define GET_OP_CLASSES
#include "compiler_core/ir/packed/packed_ops.h.inc"
