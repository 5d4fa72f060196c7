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

// Every function of the library has its operation.
// CHECK-LABEL: func.func @every
func.func @every(%x: vector<4xf32>) -> vector<4xf32> {
  // CHECK: call @kiln_exp_v4f32
  %0 = math.exp %x : vector<4xf32>
  // CHECK: call @kiln_expm1_v4f32
  %1 = math.expm1 %0 : vector<4xf32>
  // CHECK: call @kiln_log_v4f32
  %2 = math.log %1 : vector<4xf32>
  // CHECK: call @kiln_log1p_v4f32
  %3 = math.log1p %2 : vector<4xf32>
  // CHECK: call @kiln_tanh_v4f32
  %4 = math.tanh %3 : vector<4xf32>
  // CHECK: call @kiln_erf_v4f32
  %5 = math.erf %4 : vector<4xf32>
  // CHECK: call @kiln_sin_v4f32
  %6 = math.sin %5 : vector<4xf32>
  // CHECK: call @kiln_cos_v4f32
  %7 = math.cos %6 : vector<4xf32>
  // CHECK: call @kiln_tan_v4f32
  %8 = math.tan %7 : vector<4xf32>
  // CHECK: call @kiln_asin_v4f32
  %9 = math.asin %8 : vector<4xf32>
  // CHECK: call @kiln_acos_v4f32
  %10 = math.acos %9 : vector<4xf32>
  // CHECK: call @kiln_atan_v4f32
  %11 = math.atan %10 : vector<4xf32>
  // CHECK: call @kiln_sinh_v4f32
  %12 = math.sinh %11 : vector<4xf32>
  // CHECK: call @kiln_cosh_v4f32
  %13 = math.cosh %12 : vector<4xf32>
  // CHECK: call @kiln_asinh_v4f32
  %14 = math.asinh %13 : vector<4xf32>
  // CHECK: call @kiln_acosh_v4f32
  %15 = math.acosh %14 : vector<4xf32>
  // CHECK: call @kiln_atanh_v4f32
  %16 = math.atanh %15 : vector<4xf32>
  return %16 : vector<4xf32>
}
