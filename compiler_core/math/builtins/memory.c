/* memcpy, memmove, memset and memcmp: code generation may call them for any aggregate copy or loop it
 * recognises. Built with -ffreestanding -fno-builtin; without these, the compiler would turn the loops below
 * into calls of themselves. Chunks are moved through vector types, which no idiom recogniser touches. */
#include "compiler_core/math/builtins/builtins.h"

typedef unsigned char Chunk __attribute__((vector_size(32), aligned(1), may_alias));
enum { kChunk = sizeof(Chunk) };

static Chunk load(const unsigned char* from) {
  return *(const Chunk*)from;
}
static void store(unsigned char* to, Chunk value) {
  *(Chunk*)to = value;
}

/* Keeps byte loops byte loops. */
#define OPAQUE() __asm__ volatile("" ::: "memory")

KILN_BUILTIN void* memmove(void* destination, const void* source, Size n) {
  unsigned char* to = destination;
  const unsigned char* from = source;
  if ((Size)(to - from) >= n) { /* forwards is safe */
    Size i = 0;
    for (; i + kChunk <= n; i += kChunk) store(to + i, load(from + i));
    for (; i < n; ++i) {
      to[i] = from[i];
      OPAQUE();
    }
  } else {
    Size i = n;
    for (; i >= kChunk; i -= kChunk) store(to + i - kChunk, load(from + i - kChunk));
    for (; i > 0; --i) {
      to[i - 1] = from[i - 1];
      OPAQUE();
    }
  }
  return destination;
}

KILN_BUILTIN void* memcpy(void* destination, const void* source, Size n) {
  unsigned char* to = destination;
  const unsigned char* from = source;
  if (n < kChunk) {
    for (Size i = 0; i < n; ++i) {
      to[i] = from[i];
      OPAQUE();
    }
    return destination;
  }
  const Chunk last = load(from + n - kChunk);
  for (Size i = 0; i + kChunk < n; i += kChunk) store(to + i, load(from + i));
  store(to + n - kChunk, last);
  return destination;
}

KILN_BUILTIN void* memset(void* destination, int value, Size n) {
  unsigned char* to = destination;
  const unsigned char byte = (unsigned char)value;
  if (n < kChunk) {
    for (Size i = 0; i < n; ++i) {
      to[i] = byte;
      OPAQUE();
    }
    return destination;
  }
  const Chunk chunk = byte - (Chunk){0};
  for (Size i = 0; i + kChunk < n; i += kChunk) store(to + i, chunk);
  store(to + n - kChunk, chunk);
  return destination;
}

KILN_BUILTIN int memcmp(const void* left, const void* right, Size n) {
  const unsigned char *a = left, *b = right;
  for (Size i = 0; i < n; ++i) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    OPAQUE();
  }
  return 0;
}
