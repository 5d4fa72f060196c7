/* The contract between a compiled program and whoever runs it. Plain C, no dependencies.
 *
 * A program is a freestanding ELF shared object without imports, constructors, thread-local storage or system
 * calls. It exports one data symbol, KILN_PROGRAM_SYMBOL, of type kiln_program. The caller owns all memory.
 * Sizes are bytes; every pointer passed in is aligned to KILN_ALIGNMENT. Results do not depend on the number
 * of threads behind parallel_for, nor on the order in which it runs tasks.
 */
#ifndef KILN_COMPILER_CORE_RUNTIME_PROGRAM_ABI_H
#define KILN_COMPILER_CORE_RUNTIME_PROGRAM_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KILN_PROGRAM_ABI 1u
#define KILN_PROGRAM_SYMBOL "kiln_program"
#define KILN_ALIGNMENT 64u

/* One task of a parallel loop. `scratch` is private to the slot that runs the task,
 * kiln_program.scratch_bytes long (may be null when that is 0) and holds nothing across tasks. */
typedef void (*kiln_kernel)(void* env, int64_t task, void* scratch);

/* What the runtime gives a program. parallel_for runs kernel(env, i, scratch) once for each i in [0, tasks),
 * in any order and on any number of threads, and returns when all are done; writes made by tasks are then
 * visible to the caller. A task never calls parallel_for, and a program calls it from one thread at a time.
 * The field order is part of the ABI: new fields go at the end and raise KILN_PROGRAM_ABI. */
typedef struct kiln_callbacks {
  void (*parallel_for)(void* user, kiln_kernel kernel, void* env, int64_t tasks);
  void* user;
} kiln_callbacks;

/* Returns 0, or a status from 1 up that the manifest explains. Reentrant: all state is in the arguments.
 * arena: arena_bytes of uninitialised memory, exclusive for the call. weights, inputs, outputs: one pointer
 * per tensor in manifest order, dense row-major, little-endian; outputs never alias inputs. */
typedef int32_t (*kiln_run)(const kiln_callbacks* callbacks, void* arena, const void* const* weights,
                            const void* const* inputs, void* const* outputs);

typedef struct kiln_program {
  uint32_t abi; /* KILN_PROGRAM_ABI */
  uint32_t input_count;
  uint32_t output_count;
  uint32_t weight_count;
  uint64_t arena_bytes;
  uint64_t scratch_bytes; /* per slot */
  kiln_run run;
} kiln_program;

#ifdef __cplusplus
}
#endif
#endif
