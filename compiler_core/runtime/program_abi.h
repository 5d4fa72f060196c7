/* The contract between a compiled program and whoever runs it. Plain C, no dependencies.
 * A program is a freestanding ELF shared object without imports, constructors or thread-local storage: others
 * are refused. That it makes no system calls is the compiler's word alone: it is machine code with the rights
 * of its process (few in `kiln run --isolated`, which gives it a process of its own under seccomp), trusted
 * because of who signed it. It exports one data symbol, KILN_PROGRAM_SYMBOL, of type kiln_program. The caller
 * owns all memory. Sizes are bytes; every pointer to a tensor, an arena or scratch is aligned to
 * KILN_ALIGNMENT. Results do not depend on the number of threads behind parallel_for, nor on the order in
 * which it runs tasks. A program serves one or more profiles. What may differ between two runs of a profile
 * are its symbols: integers that the caller reads off the inputs (a dimension, or an element of an integer
 * input's value, as the manifest's program.symbols say) and that lie in the profile's ranges, on multiples of
 * what the profile says divides them.
 *
 * There are two versions in use. A program that runs on the processor alone has ABI 2. One that also works on
 * devices has ABI 3: memory then lies in several spaces, 0 for the processor's and 1, 2 ... for those of the
 * manifest's program.devices in their order, and what happens on a device is asked for through
 * kiln_callbacks.launch and copy. These only enqueue; everything enqueued runs in that order.
 */
#ifndef KILN_COMPILER_CORE_RUNTIME_PROGRAM_ABI_H
#define KILN_COMPILER_CORE_RUNTIME_PROGRAM_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KILN_PROGRAM_ABI 2u
#define KILN_PROGRAM_ABI_DEVICES 3u
#define KILN_PROGRAM_SYMBOL "kiln_program"
#define KILN_ALIGNMENT 64u

/* One task of a parallel loop. `scratch` is private to the slot that runs the task,
 * kiln_profile.scratch_bytes long (may be null when that is 0) and holds nothing across tasks. */
typedef void (*kiln_kernel)(void* env, int64_t task, void* scratch);

/* A kernel to run on a device. */
typedef struct kiln_launch {
  uint32_t space;          /* of the device, from 1 */
  uint32_t kernel;         /* index of the device's kernels in the manifest */
  uint32_t grid[3];        /* blocks; y and z are 1 unless x alone would pass 2^31-1 */
  uint32_t block;          /* threads of a block, all along x */
  uint32_t argument_count; /* at most KILN_MAX_KERNEL_ARGUMENTS */
  uint32_t reserved;       /* 0 */
  /* Eight bytes each: a pointer in the device's space, an index as int64_t, or a number in the low bits (the
   * rest 0). The runtime copies them before launch returns. */
  const uint64_t* arguments;
} kiln_launch;

#define KILN_MAX_KERNEL_ARGUMENTS 500u /* what 4 KiB of parameters hold, less a reserve */

/* What the runtime gives a program. parallel_for runs kernel(env, i, scratch) once for each i in [0, tasks),
 * in any order and on any number of threads, and returns when all are done; writes made by tasks are then
 * visible to the caller. A task never calls parallel_for, and a program calls it from one thread at a time.
 * The field order is part of the ABI: new fields go at the end and raise the version.
 *
 * From launch on, fields are there in ABI 3 only; a program of ABI 2 never reads them and they may be null.
 * launch and copy enqueue (one of copy's spaces is always the processor's, and a copy to it is there after
 * the next wait); wait returns when all that was enqueued is done and what it wrote can be read. All three
 * return KILN_RUN_OK, or KILN_RUN_DEVICE_FAILED, which the program returns at once. At the end of kiln_run
 * the runtime itself waits. A program that works on devices alone calls neither parallel_for nor wait, reads
 * no tensor and decides nothing by values, so that what one run enqueues can be recorded and repeated.
 * arenas: one per space of the profile's arena_bytes there; [0] is kiln_run's `arena`. */
typedef struct kiln_callbacks {
  void (*parallel_for)(void* user, kiln_kernel kernel, void* env, int64_t tasks);
  void* user;
  int32_t (*launch)(void* user, const kiln_launch* launch);
  int32_t (*copy)(void* user, uint32_t to_space, void* to, uint32_t from_space, const void* from,
                  uint64_t bytes);
  int32_t (*wait)(void* user, uint32_t space);
  void* const* arenas;
} kiln_callbacks;

/* What kiln_run returns. After anything but KILN_RUN_OK, outputs and output_dims are unspecified. */
enum {
  KILN_RUN_OK = 0,
  KILN_RUN_BOUND_EXCEEDED = 1, /* a size that depends on values is larger than the program was built for */
  KILN_RUN_INVALID_VALUE = 2,  /* a value that the operator does not allow, such as an index out of range */
  KILN_RUN_DEVICE_FAILED = 3   /* a callback said so; the runtime knows why */
};

/* Reentrant: all state is in the arguments.
 * arena: the profile's arena_bytes of uninitialised memory, exclusive for the call. weights, inputs, outputs:
 * one pointer per tensor in manifest order, dense row-major, little-endian; outputs never alias inputs.
 * Inputs and outputs are the processor's, each weight lies in the space that the manifest states for it. Each
 * output has room for what `shapes` states. symbols: one value per symbol, within the profile's ranges.
 * output_dims: takes the dimensions of all outputs, one after the other in output order; where they depend
 * on values they are the actual ones, and the output is dense in that shape.
 * Where the manifest's program.indexChecks names nodes, one more output stands behind the others, with one
 * int64_t for each: how many indices the run gave it that are outside their dimension. Such an index reads or
 * writes nothing outside of the tensor; what it reads is not promised. */
typedef int32_t (*kiln_run)(const kiln_callbacks* callbacks, void* arena, const void* const* weights,
                            const void* const* inputs, void* const* outputs, const int64_t* symbols,
                            int64_t* output_dims);

/* The dimensions of all outputs as kiln_run lays them out, those that depend on values at their upper bound.
 * Serves every value of a symbol up to the profile's maximum; below its minimum too if the symbol may be
 * padded, because outputs are cut back to what this states. */
typedef void (*kiln_shapes)(const int64_t* symbols, int64_t* output_dims);

typedef struct kiln_profile {
  uint64_t arena_bytes;   /* for the worst case in the profile's ranges */
  uint64_t scratch_bytes; /* per slot, likewise */
  kiln_run run;
  kiln_shapes shapes;
} kiln_profile;

typedef struct kiln_program {
  uint32_t abi; /* KILN_PROGRAM_ABI or KILN_PROGRAM_ABI_DEVICES */
  uint32_t input_count;
  uint32_t output_count; /* with the counts of indices, where there are any */
  uint32_t weight_count;
  uint32_t symbol_count;
  uint32_t profile_count;
  uint32_t output_dim_count;    /* the ranks of all outputs together */
  uint32_t reserved;            /* 0 */
  const kiln_profile* profiles; /* in the order of the manifest's */
} kiln_program;

/* What KILN_PROGRAM_SYMBOL is in ABI 3. */
typedef struct kiln_device_program {
  kiln_program program;
  uint32_t space_count; /* the processor's and one per device */
  uint32_t reserved;    /* 0 */
  /* [profile][space], profile_count * space_count numbers; those of space 0 are the profiles' arena_bytes. */
  const uint64_t* arena_bytes;
} kiln_device_program;

#ifdef __cplusplus
}
#endif
#endif
