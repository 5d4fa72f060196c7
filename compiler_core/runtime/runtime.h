// The runtime in C++: owning handles over the C API (kiln_runtime.h, which states what each call does).
// Errors carry their class as a canonical code, one to one: see errorClass().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler_core/runtime/kiln_runtime.h"
#include "compiler_core/runtime/npy/npy.h"
#include "manifest/base/result.h"

namespace kiln::runtime {

// KILN_INVALID_ARGUMENT is kInvalidArgument, NOT_READY kFailedPrecondition, INVALID_ARTIFACT kDataLoss,
// UNSUPPORTED_TARGET kUnimplemented, OUTSIDE_PROFILES kOutOfRange, ALLOCATION_FAILURE kResourceExhausted,
// BACKEND_FAILURE kInternal, NUMERICAL_CHECK_FAILED kAborted, DEVICE_LOST kUnavailable.
kiln_class errorClass(Code code);
Code codeOf(kiln_class errorClass);

struct NamedTensor {
  std::string name;
  npy::Tensor tensor;
};

struct TensorSpec {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;  // -1 where a dimension may differ between runs
  std::vector<std::string> dims;    // each as text
  bool isText = false;              // its elements are places in Artifact::strings()
};

// An open artifact. Thread safe. Movable.
class Artifact {
 public:
  static Result<Artifact> open(const std::string& directory);
  std::vector<TensorSpec> inputs() const;
  std::vector<TensorSpec> outputs() const;
  std::vector<std::string> strings() const;
  kiln_artifact* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(kiln_artifact* artifact) const { kiln_artifact_close(artifact); }
  };
  explicit Artifact(kiln_artifact* handle) : handle_(handle) {}
  std::unique_ptr<kiln_artifact, Close> handle_;
};

// Memory and threads to run an artifact with. Keeps the artifact's mappings alive. One run at a time; thread
// safe.
class Session {
 public:
  static Result<Session> open(const Artifact& artifact, kiln_session_options options = {});
  Status warmup();
  bool ready() const { return kiln_session_ready(handle_.get()) != 0; }
  // Inputs by name in any order; outputs in the artifact's order, freshly allocated, in their actual shapes.
  Result<std::vector<NamedTensor>> run(const std::vector<NamedTensor>& inputs);
  kiln_counters counters() const;
  std::vector<kiln_profile_counters> profiles() const;
  std::vector<kiln_kernel_time> kernels() const;
  // With KILN_MEASURE_SPANS. `left`: how many more there would have been.
  struct Spans {
    std::vector<kiln_span> kept;
    std::uint64_t left = 0;
  };
  Spans spans() const;
  std::vector<kiln_index_check> indexChecks() const;
  kiln_session* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(kiln_session* session) const { kiln_session_close(session); }
  };
  Session(kiln_session* handle, std::vector<TensorSpec> outputs)
      : handle_(handle), outputs_(std::move(outputs)) {}
  std::unique_ptr<kiln_session, Close> handle_;
  std::vector<TensorSpec> outputs_;
};

}  // namespace kiln::runtime
