// Integers of 128 bits from two of 64: devices have no wider ones, and on a processor they cost little more
// than the compiler's own. Shared by what is exact on devices and the reduction of large angles.
#pragma once

namespace kiln::math::wide {

using U32 = unsigned int;
using U64 = unsigned long long;

// 128 bits, since devices have none.
struct Wide {
  U64 high, low;
};

inline int leadingZeros(U32 x) {
  int count = 0;
  for (int step = 16; step != 0; step /= 2) {
    const bool empty = (x >> (32 - step)) == 0;
    count += empty ? step : 0;
    x = empty ? x << step : x;
  }
  return x == 0 ? 32 : count;
}
inline int leadingZeros(U64 x) {
  const U32 high = static_cast<U32>(x >> 32);
  return high != 0 ? leadingZeros(high) : 32 + leadingZeros(static_cast<U32>(x));
}
inline int leadingZeros(Wide x) {
  return x.high != 0 ? leadingZeros(x.high) : 64 + leadingZeros(x.low);
}

inline Wide product(U64 a, U64 b) {
  const U64 mask = 0xffffffffu, al = a & mask, ah = a >> 32, bl = b & mask, bh = b >> 32;
  const U64 ll = al * bl, lh = al * bh, hl = ah * bl;
  const U64 middle = (ll >> 32) + (lh & mask) + (hl & mask);
  return {ah * bh + (lh >> 32) + (hl >> 32) + (middle >> 32), (middle << 32) | (ll & mask)};
}

// By 0 to 63 (U64) and 0 to 127 places.
inline U64 shiftLeft(U64 x, int by) {
  return x << by;
}
inline Wide shiftLeft(Wide x, int by) {
  if (by >= 64) return {x.low << (by - 64), 0};
  return by == 0 ? x : Wide{(x.high << by) | (x.low >> (64 - by)), x.low << by};
}
inline U64 shiftRight(U64 x, int by) {
  return x >> by;
}
inline Wide shiftRight(Wide x, int by) {
  if (by >= 64) return {0, x.high >> (by - 64)};
  return by == 0 ? x : Wide{x.high >> by, (x.low >> by) | (x.high << (64 - by))};
}
inline bool isZero(U64 x) {
  return x == 0;
}
inline bool isZero(Wide x) {
  return (x.high | x.low) == 0;
}
inline bool isLess(U64 a, U64 b) {
  return a < b;
}
inline bool isLess(Wide a, Wide b) {
  return a.high != b.high ? a.high < b.high : a.low < b.low;
}
inline U64 sum(U64 a, U64 b) {
  return a + b;
}
inline Wide sum(Wide a, Wide b) {
  const U64 low = a.low + b.low;
  return {a.high + b.high + (low < a.low ? 1 : 0), low};
}
inline U64 difference(U64 a, U64 b) {
  return a - b;
}
inline Wide difference(Wide a, Wide b) {
  return {a.high - b.high - (a.low < b.low ? 1 : 0), a.low - b.low};
}
inline U64 lowWord(U64 x) {
  return x;
}
inline U64 lowWord(Wide x) {
  return x.low;
}
inline U64 withBit(U64 x, bool bit) {
  return x | (bit ? 1 : 0);
}
inline Wide withBit(Wide x, bool bit) {
  return {x.high, x.low | (bit ? 1 : 0)};
}

}  // namespace kiln::math::wide
