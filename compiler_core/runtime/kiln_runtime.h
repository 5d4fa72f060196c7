/* The runtime's C API: loads a verified artifact directory, warms it up and runs it. runtime.h is C++ over
 * this.
 *
 * An artifact is what `kiln fetch` leaves: DIR/manifest.json, DIR/program.so, DIR/weights/...,
 * DIR/fixtures/... . Its digests have been checked before (kiln verify, or the node library); the program's
 * digest is checked again here, on the very bytes that are mapped. The directory must not change while the
 * artifact is open. A program with kernels for a GPU (the manifest's program.devices) runs them through
 * CUDA's driver library, which is loaded when a session is opened; nothing of CUDA is needed otherwise.
 *
 *   kiln_artifact* artifact; kiln_session* session; kiln_status* status;
 *   if ((status = kiln_artifact_open("dir", &artifact))) ...            load
 *   if ((status = kiln_session_open(artifact, NULL, &session))) ...     allocate
 *   if ((status = kiln_session_warmup(session))) ...                    run the fixtures, then ready
 *   status = kiln_session_run(session, inputs, 1, outputs, 1);
 *
 * A function returns NULL for success, else a kiln_status owned by the caller (kiln_status_free).
 * An artifact may be used by any number of threads and sessions at once; a session runs one call at a time,
 * later callers wait. Results do not depend on the number of threads. Nothing here writes to the directory.
 */
#ifndef KILN_COMPILER_CORE_RUNTIME_KILN_RUNTIME_H
#define KILN_COMPILER_CORE_RUNTIME_KILN_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kiln_class {
  KILN_INVALID_ARGUMENT = 1,   /* the call itself: unknown name, wrong element type, overlapping buffers */
  KILN_NOT_READY = 2,          /* run before warmup, or nothing to warm up with */
  KILN_INVALID_ARTIFACT = 3,   /* files missing, malformed, or not what the manifest says */
  KILN_UNSUPPORTED_TARGET = 4, /* this machine lacks a feature, a device or a driver that the program needs */
  KILN_OUTSIDE_PROFILES = 5,   /* a shape or pinned value that the program was not compiled for */
  KILN_ALLOCATION_FAILURE = 6, /* memory, the device's included, or threads */
  KILN_BACKEND_FAILURE = 7, /* the program, the operating system or the device's driver reported an error */
  KILN_NUMERICAL_CHECK_FAILED = 8, /* a fixture's outputs are outside its tolerance, or with check_indices a
                                      run met an index outside its dimension */
  KILN_DEVICE_LOST = 9             /* the device has stopped working; another one may serve */
} kiln_class;

typedef struct kiln_status kiln_status;
typedef struct kiln_artifact kiln_artifact;
typedef struct kiln_session kiln_session;

kiln_class kiln_status_class(const kiln_status* status);
/* "unsupported target" and so on. */
const char* kiln_class_name(kiln_class error_class);
/* Names the place and the next step. Valid until the status is freed. */
const char* kiln_status_message(const kiln_status* status);
void kiln_status_free(kiln_status* status); /* NULL is allowed */

/* Loads DIR: checks manifest, target and program, maps program and weights. No memory for running yet.
 * KILN_INVALID_ARGUMENT if `directory` is "". */
kiln_status* kiln_artifact_open(const char* directory, kiln_artifact** artifact);
/* Sessions keep what they need; closing first is allowed. NULL is allowed. */
void kiln_artifact_close(kiln_artifact* artifact);

/* What the program takes and gives. Pointers live as long as the artifact is open. */
typedef struct kiln_tensor_info {
  const char* name;
  const char* dtype;       /* "f32", "i64", "bool": the manifest's names */
  const int64_t* shape;    /* -1 where a dimension may differ between runs */
  const char* const* dims; /* each dimension as text: "8", "N", "(N + 1) floordiv 2", "? <= 64" */
  size_t rank;
  size_t bytes;    /* dense, row-major, little-endian; 0 where the shape varies */
  int32_t is_text; /* not 0: of i64, places in kiln_artifact_strings; any other number is a text not there */
} kiln_tensor_info;
size_t kiln_artifact_input_count(const kiln_artifact* artifact);
size_t kiln_artifact_output_count(const kiln_artifact* artifact);
/* NULL when the index is out of range. */
const kiln_tensor_info* kiln_artifact_input(const kiln_artifact* artifact, size_t index);
const kiln_tensor_info* kiln_artifact_output(const kiln_artifact* artifact, size_t index);

/* Fills at most `capacity` of the texts that tensors with is_text hold places of, in the order of their
 * bytes; returns how many there are. */
size_t kiln_artifact_strings(const kiln_artifact* artifact, const char** texts, size_t capacity);

#define KILN_MEASURE_SPANS 2

typedef struct kiln_session_options {
  uint32_t threads; /* running tasks, the caller's included; 0: one per processor this process may use */
  int32_t run_before_ready; /* not 0: run() works without warmup */
  int32_t measure_kernels; /* not 0: runs are measured, see kiln_session_kernels; KILN_MEASURE_SPANS: and each
                              thread's part of each call is kept, see kiln_session_spans */
  /* For programs with kernels for a device; others do not look at them. */
  const char* device_driver; /* the CUDA driver library or Vulkan loader: path or name, not ""; NULL:
                                "libcuda.so.1", "libvulkan.so.1" */
  int32_t device;            /* which of the driver's devices, from 0 */
  int32_t check_indices;     /* not 0: a run with an index outside its dimension fails (kiln_index_check) */
  const char* device_cache;  /* directory of this user's alone that keeps what Vulkan drivers compile of
                                kernels, so  that the next session of the artifact on the device loads faster;
                                made where there  is none; NULL: nothing is kept */
} kiln_session_options;

/* Allocates the arena (plan + threads x scratch) and starts the threads. options may be NULL (all zero).
 * With devices: first compares driver, compute capability and free memory with what the artifact states (an
 * error names both sides), then puts kernels and weights on the device, once for all sessions of the artifact
 * there, and allocates the arenas. An error leaves nothing on the device. What a session wrote there is
 * overwritten when it is closed. After an error that ends the device for the process, every run fails and
 * says so. */
kiln_status* kiln_session_open(kiln_artifact* artifact, const kiln_session_options* options,
                               kiln_session** session);
/* Waits for a run in progress. NULL is allowed. */
void kiln_session_close(kiln_session* session);

/* Runs every profile's fixture (DIR/fixtures/fixtures.json) and compares; ready afterwards. */
kiln_status* kiln_session_warmup(kiln_session* session);
int32_t kiln_session_ready(const kiln_session* session);

/* An input: a dense, row-major, little-endian buffer of the caller. Aligned to 64 bytes it is used in place,
 * else copied. A tensor without elements may have no data. */
typedef struct kiln_tensor {
  const char* name;
  const char* dtype;
  const int64_t* shape;
  size_t rank;
  const void* data;
  size_t bytes;
} kiln_tensor;

/* An output: the caller's buffer of `capacity` bytes and room for `rank` dimensions, which a call fills in.
 * Aligned to 64 bytes the buffer is used in place, else copied into. */
typedef struct kiln_output {
  const char* name;
  const char* dtype;
  void* data;
  size_t capacity;
  int64_t* shape; /* may be NULL when rank is 0 */
  size_t rank;
  size_t bytes; /* filled in: of this shape */
} kiln_output;

/* The shapes that a run on these inputs will give, and the bytes to have ready for it; a dimension that
 * depends on values is stated at its upper bound. Inputs need `data` only where a size depends on their value
 * (program.symbols in the manifest); outputs' data and capacity are not looked at. */
kiln_status* kiln_session_output_shapes(kiln_session* session, const kiln_tensor* inputs, size_t input_count,
                                        kiln_output* outputs, size_t output_count);

/* All inputs and all outputs, by name, in any order. Outputs' shape and bytes become the actual ones. On
 * error their contents are unspecified. */
kiln_status* kiln_session_run(kiln_session* session, const kiln_tensor* inputs, size_t input_count,
                              kiln_output* outputs, size_t output_count);

typedef struct kiln_counters {
  uint64_t runs;                /* completed, warmup's not included */
  uint64_t failed_runs;         /* refused or failed, guard failures included */
  uint64_t guard_failures;      /* shapes and pinned values outside every profile */
  uint64_t transfer_bytes;      /* copied between the caller's buffers and the program's, and between the
                                   program's partitions (these as in the profile's largest shape) */
  uint64_t tensor_bytes;        /* inputs and outputs of completed runs, as the program had them */
  uint64_t padding_bytes;       /* the part of tensor_bytes that padding added */
  uint64_t planned_bytes;       /* the arena: plan + threads x scratch, of the largest profile */
  uint64_t observed_peak_bytes; /* of the arena, touched by one profile; in whole pages */
  uint64_t weight_bytes;        /* mapped, shared with other processes */
  uint64_t load_nanoseconds;    /* kiln_artifact_open */
  uint64_t warmup_nanoseconds;
  uint64_t first_run_nanoseconds; /* 0 before it */
  uint64_t run_nanoseconds;       /* completed runs together */
  uint32_t threads;
  const char* path; /* of the last run: "cpu:x86-64-v3 profile default"; lives as long as the session */
  /* Of a session with a device; else 0 and NULL. */
  uint64_t device_planned_bytes; /* arenas and weights on the device */
  uint64_t
      device_observed_bytes; /* by how much its free memory has fallen at most since before the artifact was
                                put there: kernels and the driver's own included, and whoever else uses it */
  uint64_t
      device_transfer_bytes; /* copied between the processor's memory and the device's by completed runs */
  uint64_t replayed_runs;    /* runs that repeated a recorded one as a CUDA graph */
  const char* device_name;   /* the driver's; lives as long as the session */
  int32_t device_driver_version; /* the CUDA version that the driver serves: 13000 is 13.0; the device's
                                    Vulkan: 1030 is 1.3 */
  int32_t device_compute_major, device_compute_minor; /* its compute capability */
  int32_t device_emulated;       /* not 0: no device, a test of its kernels on the processor */
  uint64_t out_of_range_indices; /* that runs met, see kiln_session_index_checks; warmup's not included */
  /* Of a session with a device, as long as the session; else NULL. */
  const char* device_api;         /* "cuda", "vulkan" */
  const char* device_api_version; /* that its driver serves: "13.0", "1.3.230" */
  const char* device_type;        /* of Vulkan: "discrete", "integrated", "virtual", "software" (the processor
                                     behind a real driver), "other"; else "" */
  const char* device_driver;      /* of Vulkan: "llvmpipe: Mesa 22.3.6 (LLVM 15.0.6)"; else "" */
  const char* device_conformance; /* of Vulkan: the tests that the driver passed, "1.3.1.1"; else "" */
  const char* device_cache; /* what became of the options' device_cache: "used", "kept 4096 bytes", "refused:
                               ..., kept 4096 bytes", "the driver keeps nothing"; without one "" */
} kiln_counters;
void kiln_session_counters(const kiln_session* session, kiln_counters* counters);

typedef struct kiln_profile_counters {
  const char* name; /* lives as long as the session */
  uint64_t runs, padded_runs;
  uint64_t planned_bytes; /* plan + threads x scratch */
  /* Of the arena, in whole pages: after the profile's first run and those until another profile had a turn,
   * because afterwards nobody can tell who touched a page. */
  uint64_t observed_peak_bytes;
} kiln_profile_counters;
/* Fills at most `capacity` entries, in the manifest's order; returns how many profiles there are. */
size_t kiln_session_profiles(const kiln_session* session, kiln_profile_counters* profiles, size_t capacity);

/* What the runs spent in one kernel: a parallel loop of the program, or a kernel on a device. */
typedef struct kiln_kernel_time {
  const char* symbol; /* the program's, as in the manifest's stages.schedule; lives as long as the session */
  uint64_t calls, tasks; /* tasks: on a device, blocks */
  uint64_t
      nanoseconds; /* from the first task's start to the last one's end; on a device as its events tell */
} kiln_kernel_time;
/* With measure_kernels: fills at most `capacity` entries, in the order of first use; returns how many kernels
 * have run. The rest of run_nanoseconds is copies and what the program does outside its loops. */
size_t kiln_session_kernels(const kiln_session* session, kiln_kernel_time* kernels, size_t capacity);

/* When a thread worked on a kernel, in which run. */
#define KILN_ON_DEVICE (-1)
typedef struct kiln_span {
  const char* symbol; /* as kiln_kernel_time's; NULL: the whole run, copies and checks of tensors included */
  uint64_t run;       /* from 0 */
  uint64_t tasks;     /* that the thread did; on a device, blocks; of a whole run 0 */
  uint64_t start_nanoseconds; /* since the session was opened */
  uint64_t nanoseconds;
  int32_t thread; /* from 0, the caller's; KILN_ON_DEVICE, where only distances between kernels are measured:
                     a run's last kernel is put where the wait for it ended */
} kiln_span;
/* With KILN_MEASURE_SPANS: fills at most `capacity` entries, in the order in which they ended; returns how
 * many are kept, 262,144 at most. `left` (may be NULL): how many more there would have been. */
size_t kiln_session_spans(const kiln_session* session, kiln_span* spans, size_t capacity, uint64_t* left);

/* Indices that a node of the model was given and that lie outside their dimension: of Gather, ScatterND and
 * the like. ONNX calls them an error. A run goes on with some element of the same tensor, or writes nothing,
 * and counts them; in a padded run those of the padding too. */
typedef struct kiln_index_check {
  const char* node; /* lives as long as the session */
  uint64_t out_of_range;
} kiln_index_check;
/* Fills at most `capacity` entries, in the manifest's order (program.indexChecks); returns how many nodes are
 * counted. A node that cannot be given such an index is not among them. */
size_t kiln_session_index_checks(const kiln_session* session, kiln_index_check* checks, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
