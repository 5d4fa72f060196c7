// Transcendental functions become calls of the math library in the widths it has; the rest of an odd vector goes by parts.
// RUN: kiln-opt %s --kiln-math-to-calls | FileCheck %s

// CHECK-DAG: func.func private @kiln_exp_f32(f32) -> f32
// CHECK-DAG: func.func private @kiln_exp_v8f32(vector<8xf32>) -> vector<8xf32>
// CHECK-DAG: func.func private @kiln_powf_v4f64(vector<4xf64>, vector<4xf64>) -> vector<4xf64>
// CHECK-LABEL: func.func @f
func.func @f(%s: f32, %v: vector<8xf32>, %o: vector<6xf32>, %d: vector<4xf64>) -> (f32, vector<8xf32>, vector<6xf32>, vector<4xf64>, vector<4xf64>) {
  // CHECK: call @kiln_exp_f32(%{{.*}}) : (f32) -> f32
  %0 = math.exp %s : f32
  // CHECK: call @kiln_exp_v8f32
  %1 = math.exp %v : vector<8xf32>
  // Six lanes: four, one, one.
  // CHECK: vector.extract_strided_slice {{.*}}sizes = [4]
  // CHECK: call @kiln_tanh_v4f32
  // CHECK: call @kiln_tanh_f32
  // CHECK: call @kiln_tanh_f32
  %2 = math.tanh %o : vector<6xf32>
  // CHECK: call @kiln_powf_v4f64
  %3 = math.powf %d, %d : vector<4xf64>
  // What the processor does itself stays.
  // CHECK: math.sqrt
  %4 = math.sqrt %d : vector<4xf64>
  return %0, %1, %2, %3, %4 : f32, vector<8xf32>, vector<6xf32>, vector<4xf64>, vector<4xf64>
}
