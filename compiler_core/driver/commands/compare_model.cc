#include "compiler_core/driver/commands/compare_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "compiler_core/driver/commands/command.h"
#include "compiler_core/driver/commands/fixture_tolerance.h"
#include "compiler_core/driver/evaluate_reference.h"
#include "compiler_core/package/files.h"
#include "compiler_core/runtime/element/element.h"
#include "compiler_core/runtime/runtime.h"
#include "manifest/base/scratch_directory.h"

namespace kiln::driver {
namespace {

namespace fs = std::filesystem;
using reference::HostTensor;
using runtime::NamedTensor;

double largest(const HostTensor& tensor) {
  double most = 0;
  const std::size_t width = dtypeBytes(tensor.dtype);
  for (std::size_t at = 0; at < tensor.bytes.size(); at += width)
    if (const auto value = static_cast<double>(runtime::elementValue(tensor.dtype, tensor.bytes.data() + at));
        std::isfinite(value))
      most = std::max(most, std::fabs(value));
  return most;
}

runtime::Tolerance toleranceOf(const HostTensor& expected, const Noise& noise, runtime::Tolerance stated) {
  if (expected.dtype == DType::kI8 || expected.dtype == DType::kU8) return {0, 1};
  if (runtime::holdsIntegers(expected.dtype)) return {0, 0};
  stated.absolute = std::max(stated.absolute * std::max(1.0, largest(expected)), noise.absolute);
  stated.relative = std::max(stated.relative, noise.relative);
  return runtime::toleranceFor(expected.dtype, stated);
}

class Comparer {
 public:
  explicit Comparer(const CompareRequest& request) : request_(request) {}

  Result<CompareReport> run() {
    if (request_.spec.profiles.size() != 1)
      return fail(Code::kFailedPrecondition, "the spec has several profiles; compare one at a time");
    for (const auto& [name, range] : request_.spec.profiles.front().dims) dims_[name] = range.opt;
    KILN_ASSIGN(reference_, evaluateReference({request_.compile.model, request_.compile.parameters}, dims_,
                                              request_.spec.pins, request_.spec.sequences, request_.seed,
                                              request_.inputs));
    inputs_ = reference_.inputValues;
    CompareReport report;
    KILN_ASSIGN(const Ran ran, compileAndRun({}));
    for (std::size_t i = 0; i < reference_.outputValues.size(); ++i) {
      KILN_ASSIGN(Compared compared,
                  compare({}, reference_.outputs[i].name, ran.outputs[i].tensor, reference_.outputValues[i]));
      KILN_TRY(dump("output", i, compared, ran.outputs[i].tensor, reference_.outputValues[i]));
      report.outputs.push_back(std::move(compared));
    }
    KILN_ASSIGN(report.kernels, probed(ProbeRequest::Point::kRewritten, "kernel"));
    if (request_.everyNode || !report.agrees()) {
      KILN_ASSIGN(report.nodes, probed(ProbeRequest::Point::kCaptured, "node"));
    }
    return report;
  }

 private:
  struct Ran {
    CompileResult result;
    std::vector<NamedTensor> outputs;
  };

  Result<Ran> compileAndRun(std::optional<ProbeRequest::Point> point) const {
    KILN_ASSIGN(const ScratchDirectory folder,
                ScratchDirectory::make((fs::temp_directory_path() / "kiln-compare-").string()));
    CompileRequest wanted = request_.compile;
    wanted.out = folder.path();
    wanted.probe.reset();
    if (point) wanted.probe = ProbeRequest{*point, inputs_, dims_};
    Ran ran;
    KILN_ASSIGN(ran.result, driver::compile(wanted));
    KILN_TRY(writeDocuments(request_.spec, ran.result, folder.path()));
    KILN_ASSIGN(const auto artifact, runtime::Artifact::open(folder.path()));
    KILN_ASSIGN(auto session,
                runtime::Session::open(artifact, {.threads = request_.threads, .run_before_ready = 1}));
    std::vector<NamedTensor> inputs;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      inputs.push_back({ran.result.inputs[i].name, {inputs_[i].dtype, inputs_[i].shape, inputs_[i].bytes}});
    KILN_ASSIGN(ran.outputs, session.run(inputs));
    return ran;
  }

  Result<std::vector<Compared>> probed(ProbeRequest::Point point, const char* kind) const {
    KILN_ASSIGN(const Ran ran, compileAndRun(point));
    std::vector<Compared> all;
    for (const Probe& probe : ran.result.probes) {
      const npy::Tensor& got = ran.outputs[probe.output].tensor;
      KILN_ASSIGN(Compared compared, compare(probe.nodes, probe.operation, got, probe.expected));
      KILN_TRY(dump(kind, all.size(), compared, got, probe.expected));
      all.push_back(std::move(compared));
    }
    return all;
  }

  Result<Compared> compare(std::vector<std::string> nodes, std::string what, const npy::Tensor& got,
                           const HostTensor& expected) const {
    Compared compared{std::move(nodes), std::move(what), expected.dtype, got.shape, expected.shape, {}};
    if (got.shape != expected.shape) return compared;
    const runtime::Tolerance tolerance = toleranceOf(
        expected, noiseOf(reference_, appliedNumerics(request_.spec), expected), request_.tolerance);
    KILN_ASSIGN(compared.comparison, runtime::compare(expected.dtype, got.data, expected.bytes, tolerance));
    return compared;
  }

  Status dump(const char* kind, std::size_t index, const Compared& compared, const npy::Tensor& got,
              const HostTensor& expected) const {
    if (request_.dump.empty()) return {};
    std::string name = compared.nodes.empty() ? compared.what : compared.nodes.front();
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c) && c != '.' && c != '-'; },
        '_');
    const std::string path = fmt::format("{}/{}-{:04}-{:.80}", request_.dump, kind, index, name);
    KILN_TRY(npy::write(path + ".got.npy", got));
    return npy::write(path + ".expected.npy", {expected.dtype, expected.shape, expected.bytes});
  }

  const CompareRequest& request_;
  std::map<std::string, std::int64_t> dims_;
  std::vector<HostTensor> inputs_;
  ReferenceResult reference_;
};

}  // namespace

bool CompareReport::agrees() const {
  return !firstWrong(outputs) && !firstWrong(kernels) && !firstWrong(nodes);
}

const Compared* firstWrong(const std::vector<Compared>& compared) {
  const auto found = std::ranges::find_if_not(compared, &Compared::agrees);
  return found == compared.end() ? nullptr : &*found;
}

Result<CompareReport> compareModel(const CompareRequest& request) {
  return Comparer(request).run();
}

}  // namespace kiln::driver
