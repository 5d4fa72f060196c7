// What the verifiers refuse, and with which words.
// RUN: kiln-opt %s -split-input-file -verify-diagnostics

func.func @kind(%x: tensor<2xi64>) -> tensor<2xi64> {
  // expected-error @+1 {{exp is for floats}}
  %0 = kiln.unary <exp> %x : tensor<2xi64>
  return %0 : tensor<2xi64>
}

// -----

func.func @large() -> tensor<257xf32> {
  // expected-error @+1 {{holds more than 1024 bytes; use kiln.weight}}
  %0 = kiln.constant dense<"0x0000000000000100000002000000030000000400000005000000060000000700000008000000090000000a0000000b0000000c0000000d0000000e0000000f000000100000001100000012000000130000001400000015000000160000001700000018000000190000001a0000001b0000001c0000001d0000001e0000001f000000200000002100000022000000230000002400000025000000260000002700000028000000290000002a0000002b0000002c0000002d0000002e0000002f000000300000003100000032000000330000003400000035000000360000003700000038000000390000003a0000003b0000003c0000003d0000003e0000003f000000400000004100000042000000430000004400000045000000460000004700000048000000490000004a0000004b0000004c0000004d0000004e0000004f000000500000005100000052000000530000005400000055000000560000005700000058000000590000005a0000005b0000005c0000005d0000005e0000005f000000600000006100000062000000630000006400000065000000660000006700000068000000690000006a0000006b0000006c0000006d0000006e0000006f000000700000007100000072000000730000007400000075000000760000007700000078000000790000007a0000007b0000007c0000007d0000007e0000007f000000800000008100000082000000830000008400000085000000860000008700000088000000890000008a0000008b0000008c0000008d0000008e0000008f000000900000009100000092000000930000009400000095000000960000009700000098000000990000009a0000009b0000009c0000009d0000009e0000009f000000a0000000a1000000a2000000a3000000a4000000a5000000a6000000a7000000a8000000a9000000aa000000ab000000ac000000ad000000ae000000af000000b0000000b1000000b2000000b3000000b4000000b5000000b6000000b7000000b8000000b9000000ba000000bb000000bc000000bd000000be000000bf000000c0000000c1000000c2000000c3000000c4000000c5000000c6000000c7000000c8000000c9000000ca000000cb000000cc000000cd000000ce000000cf000000d0000000d1000000d2000000d3000000d4000000d5000000d6000000d7000000d8000000d9000000da000000db000000dc000000dd000000de000000df000000e0000000e1000000e2000000e3000000e4000000e5000000e6000000e7000000e8000000e9000000ea000000eb000000ec000000ed000000ee000000ef000000f0000000f1000000f2000000f3000000f4000000f5000000f6000000f7000000f8000000f9000000fa000000fb000000fc000000fd000000fe000000ff0000010000"> : tensor<257xf32>
  return %0 : tensor<257xf32>
}

// -----

func.func @inner(%x: tensor<2x3xf32>, %y: tensor<4x2xf32>) -> tensor<2x2xf32> {
  // expected-error @+2 {{inner dimensions differ: 3 and 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.matmul %x, %y : (tensor<2x3xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

func.func @window(%x: tensor<1x1x2x2xf32>, %w: tensor<1x1x3x3xf32>) -> tensor<1x1x1x1xf32> {
  // expected-error @+2 {{spatial dimension 0: window of 3 exceeds the padded input of 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.conv %x, %w strides [1, 1] pads [0, 0, 0, 0] dilations [1, 1] group 1 : (tensor<1x1x2x2xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x1x1xf32>
  return %0 : tensor<1x1x1x1xf32>
}

// -----

func.func @result(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{op inferred type(s) 'tensor<3x2xf32>' are incompatible with return type(s) of operation 'tensor<2x3xf32>'}}
  %0 = kiln.transpose %x [1, 0] : tensor<2x3xf32> to tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @slice(%x: tensor<4xf32>) -> tensor<3xf32> {
  // expected-error @+1 {{leaves the input in dimension 0}}
  %0 = kiln.slice %x offsets [2] strides [1] : tensor<4xf32> to tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @elements(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error @+1 {{changes the number of elements}}
  %0 = kiln.reshape %x : tensor<4xf32> to tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

func.func @repeat(%x: tensor<4xf32>) -> tensor<3x5xf32> {
  // expected-error @+1 {{cannot repeat 4 to 5}}
  %0 = kiln.broadcast %x : tensor<4xf32> to tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// -----

func.func @small(%x: tensor<2xi4>) -> tensor<2xi4> {
  // expected-error @+1 {{there is no arithmetic on 'i4'}}
  %0 = kiln.unary <abs> %x : tensor<2xi4>
  return %0 : tensor<2xi4>
}

// -----

func.func @signed(%c: tensor<2x8x6xi8>, %s: tensor<2x6xf32>) -> tensor<32x6xf32> {
  // expected-error @+2 {{codes below a byte lie in unsigned bytes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.dequantise %c scales %s bits 4 : (tensor<2x8x6xi8>, tensor<2x6xf32>) -> tensor<32x6xf32>
  return %0 : tensor<32x6xf32>
}

// -----

func.func @scales(%c: tensor<2x8x6xui8>, %s: tensor<2x5xf32>) -> tensor<32x6xf32> {
  // expected-error @+2 {{scales are not [blocks, columns]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.dequantise %c scales %s bits 4 : (tensor<2x8x6xui8>, tensor<2x5xf32>) -> tensor<32x6xf32>
  return %0 : tensor<32x6xf32>
}

// -----

func.func @bits(%c: tensor<2x8x6xui8>, %s: tensor<2x6xf32>) -> tensor<16x6xf32> {
  // expected-error @+2 {{codes have 2, 4 or 8 bits}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = kiln.dequantise %c scales %s bits 5 : (tensor<2x8x6xui8>, tensor<2x6xf32>) -> tensor<16x6xf32>
  return %0 : tensor<16x6xf32>
}
