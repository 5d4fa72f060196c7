// Inputs for fixtures: a versioned, seeded generator with the same bytes on every platform.
//
// Version 1. state0 = FNV-1a (64 bit, offset 0xcbf29ce484222325, prime 0x100000001b3) over the UTF-8 bytes of
// the tensor's name, xor `seed`. Element i takes r = splitmix64(state0 + (i + 1) * 0x9e3779b97f4a7c15), where
// splitmix64 is the finaliser of Steele, Lea and Flood ("Fast splittable pseudorandom number generators",
// 2014):
//   z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9; z = (z ^ z >> 27) * 0x94d049bb133111eb; z ^ z >> 31
// f32 and f64: (r >> 40) / 2^23 - 1, in [-1, 1), exact. f16 and bf16: (r >> 56) / 2^7 - 1. f8e4m3 and f8e5m2
// (all variants): (r >> 60) / 2^3 - 1. f8e8m0fnu: 2^((r mod 8) - 4). f4e2m1fn: (r mod 4) / 2. Integers: r mod
// 8, i4 and u4 too; u2: r mod 4, i2: r mod 2. bool: the lowest bit of r.
#pragma once

#include <string_view>

#include "compiler_core/reference/host_tensor.h"

namespace kiln::reference {

inline constexpr int kInputGeneratorVersion = 1;

// The caller has bounded the size.
HostTensor makeInput(std::string_view name, DType dtype, std::vector<std::int64_t> shape, std::uint64_t seed);

}  // namespace kiln::reference
