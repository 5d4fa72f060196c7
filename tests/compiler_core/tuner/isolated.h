// Isolated kernels as kiln-tile writes them, for cpu:x86-64-v3 and, where that is said, another target with
// its features.
#pragma once

#include <fmt/format.h>

#include <string>

namespace kiln::tuner {

// [rows, steps] x [steps, columns], the right factor a weight.
inline std::string isolatedProduct(int rows, int steps, int columns, const char* target = "cpu:x86-64-v3") {
  constexpr char kText[] =
      R"(module attributes {{kiln.contraction = true, kiln.features = ["+64bit", "+avx", "+avx2", "+bmi", "+bmi2", "+cmov", "+crc32", "+cx16", "+cx8", "+f16c", "+fma", "+fxsr", "+lzcnt", "+mmx", "+movbe", "+nopl", "+popcnt", "+sahf", "+sse", "+sse2", "+sse3", "+sse4.1", "+sse4.2", "+ssse3", "+x87", "+xsave"], kiln.target = "{3}"}} {{
  func.func @main(%arg0: tensor<{0}x{1}xf32> {{kiln.input = 0 : i64}}, %arg1: tensor<{1}x{2}xf32> {{kiln.source = 0 : i64, kiln.weight = 0 : i64}}) -> tensor<{0}x{2}xf32> {{
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<{0}x{2}xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<{0}x{2}xf32>) -> tensor<{0}x{2}xf32>
    %2 = linalg.generic {{indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}} ins(%arg0, %arg1 : tensor<{0}x{1}xf32>, tensor<{1}x{2}xf32>) outs(%1 : tensor<{0}x{2}xf32>) {{
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %3 = arith.mulf %in, %in_0 : f32
      %4 = arith.addf %out, %3 : f32
      linalg.yield %4 : f32
    }} -> tensor<{0}x{2}xf32>
    return %2 : tensor<{0}x{2}xf32>
  }}
}}
)";
  return fmt::format(fmt::runtime(kText), rows, steps, columns, target);
}

// [1, channels, size + 2, size + 2] through a window of 3x3 to as many channels.
inline std::string isolatedConvolution(int channels, int size) {
  constexpr char kText[] =
      R"(module attributes {{kiln.contraction = true, kiln.features = ["+64bit", "+avx", "+avx2", "+bmi", "+bmi2", "+cmov", "+crc32", "+cx16", "+cx8", "+f16c", "+fma", "+fxsr", "+lzcnt", "+mmx", "+movbe", "+nopl", "+popcnt", "+sahf", "+sse", "+sse2", "+sse3", "+sse4.1", "+sse4.2", "+ssse3", "+x87", "+xsave"], kiln.target = "cpu:x86-64-v3"}} {{
  func.func @main(%arg0: tensor<{0}xf32> {{kiln.source = 0 : i64, kiln.weight = 0 : i64}}, %arg1: tensor<1x{0}x{2}x{2}xf32> {{kiln.input = 0 : i64}}, %arg2: tensor<{0}x{0}x3x3xf32> {{kiln.source = 1 : i64, kiln.weight = 1 : i64}}) -> tensor<1x{0}x{1}x{1}xf32> {{
    %0 = tensor.empty() : tensor<1x{0}x{1}x{1}xf32>
    %1 = linalg.generic {{indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}} ins(%arg0 : tensor<{0}xf32>) outs(%0 : tensor<1x{0}x{1}x{1}xf32>) {{
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }} -> tensor<1x{0}x{1}x{1}xf32>
    %2 = linalg.generic {{indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5, d3 + d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}} ins(%arg1, %arg2 : tensor<1x{0}x{2}x{2}xf32>, tensor<{0}x{0}x3x3xf32>) outs(%1 : tensor<1x{0}x{1}x{1}xf32>) {{
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %3 = arith.mulf %in, %in_0 : f32
      %4 = arith.addf %out, %3 : f32
      linalg.yield %4 : f32
    }} -> tensor<1x{0}x{1}x{1}xf32>
    return %2 : tensor<1x{0}x{1}x{1}xf32>
  }}
}}
)";
  return fmt::format(fmt::runtime(kText), channels, size, size + 2);
}

// The same kernel where sums may be reassociated.
inline std::string reassociated(std::string isolated) {
  return isolated.insert(isolated.find("kiln.target"), "kiln.reassociation = true, ");
}

}  // namespace kiln::tuner
