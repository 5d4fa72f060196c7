// The C API over LoadedArtifact and SessionCore. No exception crosses it: what the standard library throws
// for lack of memory becomes KILN_ALLOCATION_FAILURE.
#include "compiler_core/runtime/kiln_runtime.h"

#include <new>
#include <span>

#include "compiler_core/runtime/runtime.h"
#include "compiler_core/runtime/session/functions.h"
#include "compiler_core/runtime/session/session_core.h"

struct kiln_status {
  kiln_class error_class;
  std::string message;
};

namespace {

// The manifest's tensors as C sees them; points into the manifest and into itself.
class TensorInfos {
 public:
  explicit TensorInfos(const std::vector<kiln::TensorInfo>& tensors)
      : shapes_(tensors.size()), texts_(tensors.size()), pointers_(tensors.size()) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const kiln::TensorInfo& tensor = tensors[i];
      for (const kiln::Dim& dim : tensor.shape) {
        shapes_[i].push_back(dim.isStatic() ? dim.value : -1);
        texts_[i].push_back(dim.text());
      }
      for (const std::string& text : texts_[i]) pointers_[i].push_back(text.c_str());
      infos_.push_back({tensor.name.c_str(), kiln::dtypeName(tensor.dtype).data(), shapes_[i].data(),
                        pointers_[i].data(), tensor.shape.size(),
                        static_cast<size_t>(kiln::runtime::tensorBytes(tensor.dtype, shapes_[i]).value_or(0)),
                        tensor.isText ? 1 : 0});
    }
  }
  size_t size() const { return infos_.size(); }
  const kiln_tensor_info* at(size_t index) const { return index < infos_.size() ? &infos_[index] : nullptr; }

 private:
  std::vector<std::vector<std::int64_t>> shapes_;
  std::vector<std::vector<std::string>> texts_;
  std::vector<std::vector<const char*>> pointers_;
  std::vector<kiln_tensor_info> infos_;
};

}  // namespace

struct kiln_artifact {
  explicit kiln_artifact(std::shared_ptr<const kiln::runtime::LoadedArtifact> artifact)
      : loaded(std::move(artifact)), inputs(loaded->manifest.inputs), outputs(loaded->manifest.outputs) {}
  std::shared_ptr<const kiln::runtime::LoadedArtifact> loaded;
  TensorInfos inputs, outputs;
};

namespace kiln::runtime {

Result<std::vector<Function>> functionsOf(const kiln_artifact& artifact) {
  return artifact.loaded->program->functions();
}

}  // namespace kiln::runtime

struct kiln_session {
  std::unique_ptr<kiln::runtime::SessionCore> core;
};

namespace {

using kiln::Code;
using kiln::runtime::LoadedArtifact;
using kiln::runtime::SessionCore;

// What there is to say when there is no memory to say it in. Belongs to nobody and is never freed.
kiln_status* outOfMemory() {
  static const kiln_status status{KILN_ALLOCATION_FAILURE, "out of memory"};
  return const_cast<kiln_status*>(&status);
}

// A function that returns Status and may throw, without its exceptions but for lack of memory.
template <class F>
kiln::Status attempt(F&& function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return kiln::fail(Code::kInternal, error.what());
  }
}

template <class F>
kiln_status* guarded(F&& function) {
  try {
    const kiln::Status status = attempt(function);
    if (status) return nullptr;
    return new kiln_status{kiln::runtime::errorClass(status.error().code), status.error().message};
  } catch (const std::bad_alloc&) {
    return outOfMemory();
  }
}

kiln::Status missing(const char* what) {
  return kiln::fail(Code::kInvalidArgument, std::string(what) + " is NULL");
}

}  // namespace

extern "C" {

kiln_class kiln_status_class(const kiln_status* status) {
  return status->error_class;
}

const char* kiln_class_name(kiln_class error_class) {
  switch (error_class) {
    case KILN_INVALID_ARGUMENT:
      return "invalid argument";
    case KILN_NOT_READY:
      return "not ready";
    case KILN_INVALID_ARTIFACT:
      return "invalid artifact";
    case KILN_UNSUPPORTED_TARGET:
      return "unsupported target";
    case KILN_OUTSIDE_PROFILES:
      return "shape outside every profile";
    case KILN_ALLOCATION_FAILURE:
      return "allocation failure";
    case KILN_BACKEND_FAILURE:
      return "backend failure";
    case KILN_NUMERICAL_CHECK_FAILED:
      return "numerical check failed";
    case KILN_DEVICE_LOST:
      return "device lost";
  }
  return "unknown";
}

const char* kiln_status_message(const kiln_status* status) {
  return status->message.c_str();
}

void kiln_status_free(kiln_status* status) {
  if (status != outOfMemory()) delete status;
}

kiln_status* kiln_artifact_open(const char* directory, kiln_artifact** artifact) {
  return guarded([&]() -> kiln::Status {
    if (directory == nullptr || artifact == nullptr) return missing("an argument");
    *artifact = nullptr;
    // It would be the root folder, by how names are appended to it.
    if (*directory == '\0') return kiln::fail(Code::kInvalidArgument, "directory is \"\"");
    KILN_ASSIGN(auto loaded, LoadedArtifact::load(directory));
    *artifact = new kiln_artifact(std::move(loaded));
    return {};
  });
}

void kiln_artifact_close(kiln_artifact* artifact) {
  delete artifact;
}

size_t kiln_artifact_input_count(const kiln_artifact* artifact) {
  return artifact->inputs.size();
}
size_t kiln_artifact_output_count(const kiln_artifact* artifact) {
  return artifact->outputs.size();
}
const kiln_tensor_info* kiln_artifact_input(const kiln_artifact* artifact, size_t index) {
  return artifact->inputs.at(index);
}
const kiln_tensor_info* kiln_artifact_output(const kiln_artifact* artifact, size_t index) {
  return artifact->outputs.at(index);
}

size_t kiln_artifact_strings(const kiln_artifact* artifact, const char** texts, size_t capacity) {
  const std::vector<std::string>& strings = artifact->loaded->manifest.strings;
  for (size_t i = 0; i < std::min(capacity, strings.size()); ++i) texts[i] = strings[i].c_str();
  return strings.size();
}

kiln_status* kiln_session_open(kiln_artifact* artifact, const kiln_session_options* options,
                               kiln_session** session) {
  return guarded([&]() -> kiln::Status {
    if (artifact == nullptr || session == nullptr) return missing("an argument");
    *session = nullptr;
    KILN_ASSIGN(auto core,
                SessionCore::open(artifact->loaded, options != nullptr ? *options : kiln_session_options{}));
    *session = new kiln_session{std::move(core)};
    return {};
  });
}

void kiln_session_close(kiln_session* session) {
  delete session;
}

kiln_status* kiln_session_warmup(kiln_session* session) {
  return guarded(
      [&]() -> kiln::Status { return session == nullptr ? missing("session") : session->core->warmup(); });
}

int32_t kiln_session_ready(const kiln_session* session) {
  return session->core->ready() ? 1 : 0;
}

kiln_status* kiln_session_output_shapes(kiln_session* session, const kiln_tensor* inputs, size_t input_count,
                                        kiln_output* outputs, size_t output_count) {
  return guarded([&]() -> kiln::Status {
    if (session == nullptr) return missing("session");
    if ((inputs == nullptr && input_count != 0) || (outputs == nullptr && output_count != 0))
      return missing("tensors");
    return session->core->outputShapes({inputs, input_count}, {outputs, output_count});
  });
}

kiln_status* kiln_session_run(kiln_session* session, const kiln_tensor* inputs, size_t input_count,
                              kiln_output* outputs, size_t output_count) {
  return guarded([&]() -> kiln::Status {
    if (session == nullptr) return missing("session");
    if ((inputs == nullptr && input_count != 0) || (outputs == nullptr && output_count != 0))
      return missing("tensors");
    return session->core->run({inputs, input_count}, {outputs, output_count});
  });
}

void kiln_session_counters(const kiln_session* session, kiln_counters* counters) {
  *counters = session->core->counters();
}

size_t kiln_session_profiles(const kiln_session* session, kiln_profile_counters* profiles, size_t capacity) {
  return session->core->profiles({profiles, capacity});
}

size_t kiln_session_kernels(const kiln_session* session, kiln_kernel_time* kernels, size_t capacity) {
  return session->core->kernels({kernels, capacity});
}

size_t kiln_session_spans(const kiln_session* session, kiln_span* spans, size_t capacity, uint64_t* left) {
  uint64_t count = 0;
  const size_t kept = session->core->spans({spans, capacity}, count);
  if (left != nullptr) *left = count;
  return kept;
}

size_t kiln_session_index_checks(const kiln_session* session, kiln_index_check* checks, size_t capacity) {
  return session->core->indexChecks({checks, capacity});
}

}  // extern "C"
