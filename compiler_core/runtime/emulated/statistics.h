/* What the emulated driver counts for tests. Plain C. */
#ifndef KILN_COMPILER_CORE_RUNTIME_EMULATED_STATISTICS_H
#define KILN_COMPILER_CORE_RUNTIME_EMULATED_STATISTICS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kiln_emulated_statistics {
  uint64_t launches;           /* kernels run, those of graphs included */
  uint64_t graph_launches;     /* graphs started */
  uint64_t copied_bytes;       /* between host and device */
  uint64_t device_bytes;       /* allocated now, on all devices */
  uint64_t device_allocations; /* made so far */
  uint64_t pinned_bytes;       /* allocated now */
  uint64_t modules;            /* loaded now */
  uint64_t
      unscrubbed; /* allocations, pinned ones too, that were given back with something other than zeros */
} kiln_emulated_statistics;

/* Since cuInit was last called with no context open. */
void kiln_emulated_read_statistics(kiln_emulated_statistics* statistics);

#ifdef __cplusplus
}
#endif
#endif
