#include "compiler_core/runtime/runtime.h"

#include <algorithm>

namespace kiln::runtime {
namespace {

constexpr struct {
  kiln_class errorClass;
  Code code;
} kClasses[] = {
    {KILN_INVALID_ARGUMENT, Code::kInvalidArgument}, {KILN_NOT_READY, Code::kFailedPrecondition},
    {KILN_INVALID_ARTIFACT, Code::kDataLoss},        {KILN_UNSUPPORTED_TARGET, Code::kUnimplemented},
    {KILN_OUTSIDE_PROFILES, Code::kOutOfRange},      {KILN_ALLOCATION_FAILURE, Code::kResourceExhausted},
    {KILN_BACKEND_FAILURE, Code::kInternal},         {KILN_NUMERICAL_CHECK_FAILED, Code::kAborted},
    {KILN_DEVICE_LOST, Code::kUnavailable},
};

Status statusOf(kiln_status* status) {
  if (status == nullptr) return {};
  Error error{codeOf(kiln_status_class(status)), kiln_status_message(status)};
  kiln_status_free(status);
  return fail(std::move(error));
}

Result<TensorSpec> specOf(const kiln_tensor_info& info) {
  KILN_ASSIGN(const DType dtype, parseDType(info.dtype));
  return TensorSpec{info.name,
                    dtype,
                    {info.shape, info.shape + info.rank},
                    {info.dims, info.dims + info.rank},
                    info.is_text != 0};
}

}  // namespace

kiln_class errorClass(Code code) {
  for (const auto& row : kClasses) {
    if (row.code == code) return row.errorClass;
  }
  return KILN_BACKEND_FAILURE;
}

Code codeOf(kiln_class errorClass) {
  for (const auto& row : kClasses) {
    if (row.errorClass == errorClass) return row.code;
  }
  return Code::kInternal;
}

Result<Artifact> Artifact::open(const std::string& directory) {
  kiln_artifact* handle = nullptr;
  KILN_TRY(statusOf(kiln_artifact_open(directory.c_str(), &handle)));
  return Artifact(handle);
}

std::vector<TensorSpec> Artifact::inputs() const {
  std::vector<TensorSpec> specs;
  for (std::size_t i = 0; i < kiln_artifact_input_count(handle()); ++i) {
    specs.push_back(*specOf(*kiln_artifact_input(handle(), i)));
  }
  return specs;
}

std::vector<TensorSpec> Artifact::outputs() const {
  std::vector<TensorSpec> specs;
  for (std::size_t i = 0; i < kiln_artifact_output_count(handle()); ++i) {
    specs.push_back(*specOf(*kiln_artifact_output(handle(), i)));
  }
  return specs;
}

std::vector<std::string> Artifact::strings() const {
  std::vector<const char*> texts(kiln_artifact_strings(handle(), nullptr, 0));
  kiln_artifact_strings(handle(), texts.data(), texts.size());
  return {texts.begin(), texts.end()};
}

Result<Session> Session::open(const Artifact& artifact, kiln_session_options options) {
  kiln_session* handle = nullptr;
  KILN_TRY(statusOf(kiln_session_open(artifact.handle(), &options, &handle)));
  return Session(handle, artifact.outputs());
}

Status Session::warmup() {
  return statusOf(kiln_session_warmup(handle_.get()));
}

Result<std::vector<NamedTensor>> Session::run(const std::vector<NamedTensor>& inputs) {
  std::vector<kiln_tensor> in;
  for (const auto& [name, tensor] : inputs) {
    in.push_back({name.c_str(), dtypeName(tensor.dtype).data(), tensor.shape.data(), tensor.shape.size(),
                  tensor.data.data(), tensor.data.size()});
  }
  std::vector<NamedTensor> results;
  std::vector<kiln_output> out;
  for (const TensorSpec& spec : outputs_) results.push_back({spec.name, {spec.dtype, spec.shape, {}}});
  for (auto& [name, tensor] : results) {
    out.push_back({name.c_str(), dtypeName(tensor.dtype).data(), nullptr, 0, tensor.shape.data(),
                   tensor.shape.size(), 0});
  }
  // What is refused here is refused again by the run, which counts it.
  const Status asked =
      statusOf(kiln_session_output_shapes(handle_.get(), in.data(), in.size(), out.data(), out.size()));
  for (std::size_t i = 0; asked && i < out.size(); ++i) {
    results[i].tensor.data.resize(out[i].bytes);
    out[i].data = results[i].tensor.data.data();
    out[i].capacity = out[i].bytes;
  }
  KILN_TRY(statusOf(kiln_session_run(handle_.get(), in.data(), in.size(), out.data(), out.size())));
  for (std::size_t i = 0; i < out.size(); ++i) results[i].tensor.data.resize(out[i].bytes);
  return results;
}

std::vector<kiln_profile_counters> Session::profiles() const {
  std::vector<kiln_profile_counters> profiles(kiln_session_profiles(handle_.get(), nullptr, 0));
  kiln_session_profiles(handle_.get(), profiles.data(), profiles.size());
  return profiles;
}

std::vector<kiln_kernel_time> Session::kernels() const {
  std::vector<kiln_kernel_time> kernels(kiln_session_kernels(handle_.get(), nullptr, 0));
  kernels.resize(
      std::min(kernels.size(), kiln_session_kernels(handle_.get(), kernels.data(), kernels.size())));
  return kernels;
}

Session::Spans Session::spans() const {
  Spans spans;
  spans.kept.resize(kiln_session_spans(handle_.get(), nullptr, 0, nullptr));
  spans.kept.resize(std::min(spans.kept.size(), kiln_session_spans(handle_.get(), spans.kept.data(),
                                                                   spans.kept.size(), &spans.left)));
  return spans;
}

std::vector<kiln_index_check> Session::indexChecks() const {
  std::vector<kiln_index_check> checks(kiln_session_index_checks(handle_.get(), nullptr, 0));
  kiln_session_index_checks(handle_.get(), checks.data(), checks.size());
  return checks;
}

kiln_counters Session::counters() const {
  kiln_counters counters;
  kiln_session_counters(handle_.get(), &counters);
  return counters;
}

}  // namespace kiln::runtime
