#include "compiler_core/runtime/runtime.h"

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
};

Status statusOf(kiln_status* status) {
  if (status == nullptr) return {};
  Error error{codeOf(kiln_status_class(status)), kiln_status_message(status)};
  kiln_status_free(status);
  return fail(std::move(error));
}

Result<TensorSpec> specOf(const kiln_tensor_info& info) {
  KILN_ASSIGN(const DType dtype, parseDType(info.dtype));
  return TensorSpec{info.name, dtype, {info.shape, info.shape + info.rank}};
}

kiln_tensor tensorOf(const std::string& name, npy::Tensor& tensor) {
  return {name.c_str(),        dtypeName(tensor.dtype).data(),
          tensor.shape.data(), tensor.shape.size(),
          tensor.data.data(),  tensor.data.size()};
}

std::uint64_t bytesOf(const TensorSpec& spec) {
  std::uint64_t bytes = dtypeBytes(spec.dtype);
  for (const std::int64_t dim : spec.shape) bytes *= static_cast<std::uint64_t>(dim);
  return bytes;
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

Result<Session> Session::open(const Artifact& artifact, kiln_session_options options) {
  kiln_session* handle = nullptr;
  KILN_TRY(statusOf(kiln_session_open(artifact.handle(), &options, &handle)));
  return Session(handle, artifact.outputs());
}

Status Session::warmup() {
  return statusOf(kiln_session_warmup(handle_.get()));
}

Result<std::vector<NamedTensor>> Session::run(const std::vector<NamedTensor>& inputs) {
  std::vector<NamedTensor> results;
  for (const TensorSpec& spec : outputs_) {
    results.push_back({spec.name, {spec.dtype, spec.shape, std::vector<std::uint8_t>(bytesOf(spec))}});
  }
  std::vector<kiln_tensor> in, out;
  for (const NamedTensor& input : inputs)
    in.push_back(tensorOf(input.name, const_cast<npy::Tensor&>(input.tensor)));
  for (NamedTensor& result : results) out.push_back(tensorOf(result.name, result.tensor));
  KILN_TRY(statusOf(kiln_session_run(handle_.get(), in.data(), in.size(), out.data(), out.size())));
  return results;
}

kiln_counters Session::counters() const {
  kiln_counters counters;
  kiln_session_counters(handle_.get(), &counters);
  return counters;
}

}  // namespace kiln::runtime
