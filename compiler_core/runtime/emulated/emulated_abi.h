/* The contract between the kernels of a device image, compiled for the CPU, and the emulated device that runs
 * them. Plain C, no dependencies. For tests alone: nothing of it is in an artifact.
 *
 * An emulation is a freestanding ELF shared object as a program is (program_abi.h): no imports, constructors,
 * thread-local storage or system calls. It exports one data symbol, KILN_EMULATION_SYMBOL, of type
 * kiln_emulation. It holds the kernels of one cubin in the order of the cubin's functions as the manifest
 * lists them: the same mapped code, with accesses and calls through kiln_emulated_thread where the device has
 * thread and block numbers, shared memory, barriers and tensor cores. All other arithmetic is that of the
 * CPU code generator on the same operations.
 */
#ifndef KILN_COMPILER_CORE_RUNTIME_EMULATED_EMULATED_ABI_H
#define KILN_COMPILER_CORE_RUNTIME_EMULATED_EMULATED_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KILN_EMULATION_ABI 2u
#define KILN_EMULATION_SYMBOL "kiln_emulation"
/* Of kiln_emulated_thread.shared. */
#define KILN_EMULATED_SHARED_ALIGNMENT 128u

/* Steps that the 32 threads of a warp (thread / 32) take together. All three are D = A * B + C of PTX's
 * mma.sync with row-major A, column-major B and f32 C and D; `in` holds the 4 registers of A, the 2 of B and
 * the 4 of C, `out` takes the 4 of D, each thread's fragments laid out as the PTX ISA says for the shape. In
 * which order the device adds the products is unspecified; an emulation may choose. */
enum {
  KILN_COLLECTIVE_MMA_F16_M16N8K16 = 0,  /* registers of A and B: two f16, the lower index in the low half */
  KILN_COLLECTIVE_MMA_BF16_M16N8K16 = 1, /* likewise bf16 */
  KILN_COLLECTIVE_MMA_TF32_M16N8K8 = 2   /* registers of A and B: f32 of which the low 13 bits do not count */
};
#define KILN_COLLECTIVE_MMA_INPUTS 10u
#define KILN_COLLECTIVE_MMA_OUTPUTS 4u

/* One thread of a block. The caller owns it and fills every field; kernels change none. The field order is
 * part of the ABI. */
typedef struct kiln_emulated_thread {
  uint32_t thread;                    /* in [0, threads of the kernel) */
  uint32_t block_x, block_y, block_z; /* of the launch's grid */
  void* shared;                       /* the block's: shared_bytes of the kernel, uninitialised */
  void* driver;                       /* the caller's own */
  /* Returns when every thread of the block has called it. */
  void (*barrier)(struct kiln_emulated_thread* self);
  /* Returns when every thread of the warp has called it with the same `kind` and `out` is written. `in` and
   * `out` belong to the calling thread and do not overlap. */
  void (*collective)(struct kiln_emulated_thread* self, uint32_t kind, const uint32_t* in, uint32_t* out);
} kiln_emulated_thread;

/* The work of one thread. `arguments`: one 8-byte word per parameter (kiln_launch.arguments), pointers among
 * them. Reentrant; many threads of a block are in the middle of it at the same time, each on a stack of its
 * own, of which it needs less than KILN_EMULATED_STACK. */
typedef void (*kiln_emulated_kernel)(const uint64_t* arguments, kiln_emulated_thread* thread);
#define KILN_EMULATED_STACK 65536u

/* Of kiln_emulated_entry.parameters. */
#define KILN_EMULATED_POINTER 'p' /* the address of memory that the kernel reads or writes */
#define KILN_EMULATED_VALUE 'v'   /* any other word */

typedef struct kiln_emulated_entry {
  const char* name; /* as in the cubin, zero-terminated */
  kiln_emulated_kernel kernel;
  uint32_t threads;        /* of a block: a multiple of 32, at most 1024 */
  uint32_t shared_bytes;   /* static shared memory of a block */
  uint32_t argument_count; /* words that `arguments` must have */
  uint32_t reserved;       /* 0 */
  const char* parameters;  /* one letter for each word, zero-terminated */
} kiln_emulated_entry;

typedef struct kiln_emulation {
  uint32_t abi; /* KILN_EMULATION_ABI */
  uint32_t count;
  const kiln_emulated_entry* entries;
} kiln_emulation;

#ifdef __cplusplus
}
#endif
#endif
