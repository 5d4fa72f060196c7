// Artifacts on one device: parity with their fixtures, times by the device's events, ceilings, one table.
// usage: device_table [--driver LIB] [--device N] [--peers FILE] [--json FILE] [--runs N] ARTIFACT...
// An artifact is a folder as kiln-cc writes it, with fixtures. --peers: what peers.py wrote. Exit 0: every
// artifact passed; 10: one did not; 4: no usable device.
#include <dlfcn.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "compiler_core/runtime/device/device_context.h"
#include "compiler_core/runtime/runtime.h"
#include "manifest/artifact/small_float.h"
#include "manifest/base/exit_code.h"

namespace kiln::runtime {
namespace {

struct Flags {
  std::string driver = kCudaDriverLibrary, peers, json;
  int device = 0, runs = 50;
  std::vector<std::string> artifacts;
};

// What a device can do at most, measured: bytes read and written by a copy, per second, and by type the
// operations per second of the fastest product that PyTorch's library has.
struct Ceilings {
  double copyBytes = 0;
  std::map<std::string, double> flops;

  double flopsOf(const std::string& type) const {
    const auto found = flops.find(type);
    return found == flops.end() ? 0 : found->second;
  }
};

struct Row {
  std::string name, verdict;      // "passed", or why not
  std::string type;               // that products are of: "f32", "tf32", "f16", "bf16"
  double kernels = 0, whole = 0;  // milliseconds of one run: kernels by events, and as the caller sees it
  std::uint64_t moved = 0, flops = 0;
  std::optional<double> peer;  // milliseconds
  std::vector<std::pair<std::string, double>> slowest;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// cuMemcpyDtoD of a large buffer, the best of ten, both directions of the memory counted. The caller is in a
// Scope.
Result<double> copyBytesPerSecond(const std::shared_ptr<const DeviceContext>& context) {
  constexpr std::size_t kBytes = 512u << 20;
  const CudaDriver& driver = context->driver();
  using Copy = cuda::CUresult (*)(cuda::CUdeviceptr, cuda::CUdeviceptr, std::size_t, cuda::CUstream);
  void* const library = dlopen(driver.library().c_str(), RTLD_NOW | RTLD_NOLOAD);
  const auto copy = library ? reinterpret_cast<Copy>(dlsym(library, "cuMemcpyDtoDAsync_v2")) : nullptr;
  if (!copy) return fail(Code::kNotFound, "the driver has no cuMemcpyDtoDAsync_v2");
  KILN_ASSIGN(const DeviceStream stream, DeviceStream::create(context));
  KILN_ASSIGN(const DeviceBuffer from, DeviceBuffer::allocate(context, kBytes, stream, "the copy"));
  KILN_ASSIGN(const DeviceBuffer to, DeviceBuffer::allocate(context, kBytes, stream, "the copy"));
  struct Event {
    const CudaDriver& driver;
    cuda::CUevent event = nullptr;
    ~Event() {
      if (event != nullptr) driver->eventDestroy(event);
    }
  } start{driver}, stop{driver};
  KILN_TRY(driver.check(driver->eventCreate(&start.event, cuda::kEventDefault), "event"));
  KILN_TRY(driver.check(driver->eventCreate(&stop.event, cuda::kEventDefault), "event"));
  float best = 0;
  for (int i = 0; i < 10; ++i) {
    float milliseconds = 0;
    KILN_TRY(driver.check(driver->eventRecord(start.event, stream.get()), "event"));
    KILN_TRY(driver.check(copy(to.address(), from.address(), kBytes, stream.get()), "copy"));
    KILN_TRY(driver.check(driver->eventRecord(stop.event, stream.get()), "event"));
    KILN_TRY(driver.check(driver->streamSynchronize(stream.get()), "copy"));
    KILN_TRY(driver.check(driver->eventElapsedTime(&milliseconds, start.event, stop.event), "event"));
    if (milliseconds > 0) best = best == 0 ? milliseconds : std::min(best, milliseconds);
  }
  return best > 0 ? 2.0 * kBytes / best * 1e3 : 0;
}

// What cannot be measured is 0, and the reason is told.
Ceilings measureCeilings(const std::shared_ptr<const DeviceContext>& context, const nlohmann::json& peers) {
  const DeviceContext::Scope scope(*context);
  const auto measured = copyBytesPerSecond(context);
  if (!measured)
    std::fprintf(stderr, "device_table: no copy ceiling: %s\n", measured.error().message.c_str());
  Ceilings ceilings{measured.value_or(0), {}};
  if (peers.is_object())
    for (const auto& [type, flops] : peers.value("matmul flops", nlohmann::json::object()).items())
      if (flops.is_number()) ceilings.flops[type] = flops.get<double>();
  return ceilings;
}

nlohmann::json readJson(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
}

std::uint64_t number(const nlohmann::json& value) {
  if (value.is_string()) return std::strtoull(value.get_ref<const std::string&>().c_str(), nullptr, 10);
  return value.is_number() ? value.get<std::uint64_t>() : 0;
}

// What the manifest says that one run calculates, in which type, and moves.
void readWork(const nlohmann::json& manifest, Row& row) {
  if (!manifest.is_object() || !manifest.contains("stages")) return;
  row.type = manifest.value(nlohmann::json::json_pointer("/spec/numerics/precision"), "f32");
  for (const auto& input :
       manifest.value(nlohmann::json::json_pointer("/program/inputs"), nlohmann::json::array()))
    if (const std::string type = input.value("dtype", ""); type == "f16" || type == "bf16") row.type = type;
  const auto& stages = manifest["stages"];
  for (const auto& part :
       stages.value("partition", nlohmann::json::object()).value("partitions", nlohmann::json::array()))
    row.flops += number(part.value("flops", nlohmann::json()));
  for (const auto& kernel :
       stages.value("schedule", nlohmann::json::object()).value("kernels", nlohmann::json::array()))
    if (kernel.contains("device"))
      row.moved += number(kernel["device"].value("movedBytes", nlohmann::json()));
}

// Seeded numbers from -0.5 to 0.5 where elements are floats, zeros elsewhere.
std::vector<NamedTensor> inputsOf(const Artifact& artifact) {
  std::vector<NamedTensor> inputs;
  std::uint32_t state = 1;
  for (const TensorSpec& spec : artifact.inputs()) {
    npy::Tensor tensor{spec.dtype, spec.shape, {}};
    std::size_t elements = 1;
    for (std::int64_t& extent : tensor.shape)
      elements *= static_cast<std::size_t>(extent = std::max<std::int64_t>(extent, 1));
    tensor.data.resize(elements * dtypeBytes(spec.dtype));
    const FloatFormat* const narrow = floatFormat(spec.dtype);
    for (std::size_t i = 0; (narrow || spec.dtype == DType::kF32) && i < elements; ++i) {
      state = state * 1664525u + 1013904223u;
      const float value = static_cast<float>(state >> 8) / 16777216.0f - 0.5f;
      const std::uint32_t code =
          narrow ? encodeFloat(*narrow, value, /*overflow=*/true) : std::bit_cast<std::uint32_t>(value);
      // Little-endian: the code's low bytes.
      const std::size_t bytes = dtypeBytes(spec.dtype);
      std::memcpy(tensor.data.data() + bytes * i, &code, bytes);
    }
    inputs.push_back({spec.name, std::move(tensor)});
  }
  return inputs;
}

Status measure(const Flags& flags, const std::string& directory, Row& row) {
  kiln_session_options options{};
  options.device_driver = flags.driver.c_str();
  options.device = flags.device;
  KILN_ASSIGN(const Artifact artifact, Artifact::open(directory));
  KILN_ASSIGN(Session session, Session::open(artifact, options));
  if (Status warm = session.warmup(); !warm) return fail(warm.error().in("parity"));
  row.verdict = "passed";
  const auto inputs = inputsOf(artifact);
  std::vector<double> whole;
  for (int i = 0; i < flags.runs; ++i) {
    const auto before = session.counters().run_nanoseconds;
    KILN_TRY(session.run(inputs));
    whole.push_back(static_cast<double>(session.counters().run_nanoseconds - before) * 1e-6);
  }
  row.whole = median(whole);
  options.measure_kernels = 1;
  options.run_before_ready = 1;
  KILN_ASSIGN(Session measured, Session::open(artifact, options));
  KILN_TRY(measured.run(inputs));
  const auto first = measured.kernels();
  for (int i = 0; i < flags.runs; ++i) KILN_TRY(measured.run(inputs));
  const auto all = measured.kernels();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double each =
        static_cast<double>(all[i].nanoseconds - (i < first.size() ? first[i].nanoseconds : 0)) * 1e-6 /
        flags.runs;
    row.kernels += each;
    row.slowest.emplace_back(all[i].symbol, each);
  }
  std::ranges::sort(row.slowest, [](const auto& a, const auto& b) { return a.second > b.second; });
  if (row.slowest.size() > 5) row.slowest.resize(5);
  return {};
}

std::string text(const std::map<std::string, double>& flops) {
  std::string all;
  for (const auto& [type, each] : flops)
    all += fmt::format("{}{} {:.1f} TFLOP/s", all.empty() ? "" : ", ", type, each * 1e-12);
  return all;
}

std::string percent(double part, double whole) {
  return whole > 0 && part > 0 ? fmt::format("{:.0f} %", 100 * part / whole) : "";
}

void print(const std::vector<Row>& rows, const Ceilings& ceilings) {
  fmt::print(
      "| network | parity | type | kernels, ms | run, ms | PyTorch, ms | ratio | of the copy ceiling | of "
      "the "
      "type's matmul ceiling |\n"
      "|---|---|---|---:|---:|---:|---:|---:|---:|\n");
  for (const Row& row : rows) {
    const double seconds = row.kernels * 1e-3;
    fmt::print(
        "| {} | {} | {} | {:.4f} | {:.4f} | {} | {} | {} | {} |\n", row.name, row.verdict, row.type,
        row.kernels, row.whole, row.peer ? fmt::format("{:.4f}", *row.peer) : "",
        row.peer && row.kernels > 0 ? fmt::format("{:.2f}×", *row.peer / row.kernels) : "",
        seconds > 0 ? percent(static_cast<double>(row.moved) / seconds, ceilings.copyBytes) : "",
        seconds > 0 ? percent(static_cast<double>(row.flops) / seconds, ceilings.flopsOf(row.type)) : "");
  }
}

int run(const Flags& flags) {
  const auto stop = [](const Error& error) {
    std::fprintf(stderr, "device_table: %s\n", error.message.c_str());
    return exitCodeOf(error.code);
  };
  auto driver = CudaDriver::open(flags.driver);
  if (!driver) return stop(driver.error());
  auto info = deviceInfo(**driver, flags.device);
  if (!info) return stop(info.error());
  auto context = DeviceContext::open(*driver, *info);
  if (!context) return stop(context.error());
  const nlohmann::json peers = flags.peers.empty() ? nlohmann::json::object() : readJson(flags.peers);
  const Ceilings ceilings = measureCeilings(*context, peers);

  const nlohmann::json models =
      peers.is_object() ? peers.value("models", nlohmann::json::object()) : nlohmann::json::object();
  std::vector<Row> rows;
  for (const std::string& directory : flags.artifacts) {
    Row& row = rows.emplace_back(Row{.name = std::filesystem::path(directory).filename().string()});
    readWork(readJson(directory + "/manifest.json"), row);
    if (const Status measured = measure(flags, directory, row); !measured)
      row.verdict = measured.error().message;
    const auto peer = models.value(row.name, nlohmann::json::object());
    for (const char* kind : {"eager ms", "graph ms"})
      if (peer.contains(kind)) row.peer = std::min(row.peer.value_or(1e300), peer[kind].get<double>());
  }
  fmt::print(
      "{}, CUDA driver {}{}; copy ceiling {}; matmul ceilings (PyTorch's fastest products) {}; PyTorch "
      "{}\n\n",
      info->name, cudaVersionText((*driver)->version()),
      (*driver)->emulated() ? " (emulated: times mean nothing)" : "",
      ceilings.copyBytes > 0 ? fmt::format("{:.0f} GB/s", ceilings.copyBytes * 1e-9) : "not measured",
      ceilings.flops.empty() ? "not measured" : text(ceilings.flops),
      peers.is_object() && peers.contains("pytorch") ? peers["pytorch"].get<std::string>()
      : peers.is_object()                            ? peers.value("why", "not asked")
                                                     : "not asked");
  print(rows, ceilings);
  if (!flags.json.empty()) {
    nlohmann::json out = {{"device", info->name},
                          {"driver", (*driver)->version()},
                          {"emulated", (*driver)->emulated()},
                          {"copyBytesPerSecond", ceilings.copyBytes},
                          {"matmulFlopsPerSecond", ceilings.flops},
                          {"peers", peers}};
    for (const Row& row : rows) {
      nlohmann::json entry = {{"name", row.name},         {"parity", row.verdict}, {"type", row.type},
                              {"kernelsMs", row.kernels}, {"runMs", row.whole},    {"movedBytes", row.moved},
                              {"flops", row.flops}};
      for (const auto& [kernel, each] : row.slowest)
        entry["slowest"].push_back({{"kernel", kernel}, {"ms", each}});
      out["rows"].push_back(std::move(entry));
    }
    std::ofstream(flags.json) << out.dump(1) << "\n";
  }
  return std::ranges::all_of(rows, [](const Row& row) { return row.verdict == "passed"; }) ? 0 : kExitCheck;
}

}  // namespace
}  // namespace kiln::runtime

int main(int argc, char** argv) {
  kiln::runtime::Flags flags;
  CLI::App app(
      "Parity and times of artifacts on one device.\nexample: device_table --json results.json artifacts/*");
  app.add_option("artifacts", flags.artifacts, "artifact folders with fixtures")->required();
  app.add_option("--driver", flags.driver, "the CUDA driver library");
  app.add_option("--device", flags.device, "which of its devices, from 0");
  app.add_option("--runs", flags.runs, "runs per artifact")->check(CLI::Range(1, 100000));
  app.add_option("--peers", flags.peers, "what peers.py wrote");
  app.add_option("--json", flags.json, "also as JSON");
  CLI11_PARSE(app, argc, argv);
  return kiln::runtime::run(flags);
}
