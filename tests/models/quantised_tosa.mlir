// A small quantised network as TOSA has it: a convolution of i8, rescaling, an average, and probabilities in f32.
module @quantised {
  func.func @main(%image: tensor<1x8x8x2xi8> loc("image")) -> tensor<1x4xf32> {
    %filter = "tosa.const"() <{values = dense<[[[[1, -2], [3, 4]], [[-5, 6], [7, -8]]], [[[2, 1], [0, -1]], [[4, 3], [-2, 5]]],
      [[[-3, 3], [6, -6]], [[1, 0], [0, 1]]], [[[9, -9], [2, 2]], [[-4, 4], [8, 7]]]]> : tensor<4x2x2x2xi8>}> : () -> tensor<4x2x2x2xi8>
    %bias = "tosa.const"() <{values = dense<[10, -20, 30, 0]> : tensor<4xi32>}> : () -> tensor<4xi32>
    %zero = "tosa.const"() <{values = dense<3> : tensor<1xi8>}> : () -> tensor<1xi8>
    %none = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
    %wide_none = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
    %0 = tosa.conv2d %image, %filter, %bias, %zero, %none {acc_type = i32, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>, dilation = array<i64: 1, 1>} : (tensor<1x8x8x2xi8>, tensor<4x2x2x2xi8>, tensor<4xi32>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4x4xi32>
    %multiplier = "tosa.const"() <{values = dense<1518500250> : tensor<1xi32>}> : () -> tensor<1xi32>
    %shift = "tosa.const"() <{values = dense<37> : tensor<1xi8>}> : () -> tensor<1xi8>
    %1 = tosa.rescale %0, %multiplier, %shift, %wide_none, %none {scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = false} : (tensor<1x4x4x4xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<1x4x4x4xi8>
    %2 = tosa.avg_pool2d %1, %none, %none {acc_type = i32, kernel = array<i64: 4, 4>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 4, 4>} : (tensor<1x4x4x4xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x1x1x4xi8>
    %shape = tosa.const_shape {values = dense<[1, 4]> : tensor<2xindex>} : () -> !tosa.shape<2>
    %3 = tosa.reshape %2, %shape : (tensor<1x1x1x4xi8>, !tosa.shape<2>) -> tensor<1x4xi8>
    %4 = tosa.cast %3 : (tensor<1x4xi8>) -> tensor<1x4xf32>
    %5 = tosa.sigmoid %4 : (tensor<1x4xf32>) -> tensor<1x4xf32>
    return %5 : tensor<1x4xf32>
  }
}
