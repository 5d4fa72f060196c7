// The generator's values, seen through a fold, and weights nobody should make up.
// RUN: kiln-opt %s --pass-pipeline='builtin.module(kiln-seed-weights,func.func(kiln-fold-constants),canonicalize)' | FileCheck %s
// RUN: sed 's/weight 0/weight 4096/' %s | not kiln-opt --pass-pipeline='builtin.module(kiln-seed-weights)' 2>&1 | FileCheck %s --check-prefix=LARGE

// LARGE: error: weight 4096 is too large to be made up
// CHECK-LABEL: func.func @main
// CHECK: kiln.constant dense<[-0.833345532, 0.245867133]> : tensor<2xf32>
func.func @main() -> tensor<2xf32> {
  %w = kiln.weight 0 : tensor<2xf32>
  %0 = kiln.unary <neg> %w : tensor<2xf32>
  return %0 : tensor<2xf32>
}
