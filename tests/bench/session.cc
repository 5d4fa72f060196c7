// Runs one artifact on request, for scripts that measure several engines in turn.
// usage: bench_session DIR THREADS [EXTENT]
// Loads DIR and says "ready LOAD_SECONDS RESIDENT_KIB"; then for each line "N" on standard input runs N times
// on seeded inputs and answers with N times in seconds on one line.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "compiler_core/runtime/runtime.h"

namespace kiln::runtime {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A tensor in memory as a server keeps it: aligned, so that runs use it in place.
struct Buffer {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::size_t bytes = 0;
  std::unique_ptr<std::byte[], decltype(&std::free)> data{nullptr, &std::free};
};

// Symbolic extents are `symbolic`.
Buffer makeBuffer(const TensorSpec& spec, std::int64_t symbolic) {
  Buffer buffer{spec.name, std::string(dtypeName(spec.dtype)), spec.shape};
  buffer.bytes = dtypeBytes(spec.dtype);
  for (std::int64_t& extent : buffer.shape) {
    if (extent < 1) extent = symbolic;
    buffer.bytes *= static_cast<std::size_t>(extent);
  }
  buffer.data.reset(static_cast<std::byte*>(std::aligned_alloc(64, (buffer.bytes + 63) / 64 * 64)));
  std::memset(buffer.data.get(), 0, buffer.bytes);
  return buffer;
}

// Normal numbers for f32, any bytes for u8 and i8, zeros for what else there is.
void fillInput(Buffer& buffer) {
  std::mt19937 generator(1);
  if (buffer.dtype == "u8" || buffer.dtype == "i8")
    for (std::size_t at = 0; at < buffer.bytes; ++at) buffer.data[at] = static_cast<std::byte>(generator());
  if (buffer.dtype != "f32") return;
  std::normal_distribution<float> normal;
  for (std::size_t at = 0; at < buffer.bytes; at += sizeof(float)) {
    const float value = normal(generator);
    std::memcpy(buffer.data.get() + at, &value, sizeof value);
  }
}

Status checked(kiln_status* status) {
  if (status == nullptr) return {};
  const std::string message = kiln_status_message(status);
  const Code code = codeOf(kiln_status_class(status));
  kiln_status_free(status);
  return fail(code, message);
}

std::uint64_t residentKiB() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (std::uint64_t size = 0; word == "VmRSS:" && status >> size) return size;
  return 0;
}

Status serve(const std::string& directory, std::uint32_t threads, std::int64_t symbolic) {
  const auto start = Clock::now();
  KILN_ASSIGN(const Artifact artifact, Artifact::open(directory));
  KILN_ASSIGN(Session session, Session::open(artifact, {.threads = threads, .run_before_ready = 1}));
  const double load = secondsSince(start);
  std::vector<Buffer> buffers;
  std::vector<kiln_tensor> inputs;
  std::vector<kiln_output> outputs;
  const auto inputSpecs = artifact.inputs(), outputSpecs = artifact.outputs();
  for (const auto* specs : {&inputSpecs, &outputSpecs})
    for (const TensorSpec& spec : *specs) buffers.push_back(makeBuffer(spec, symbolic));
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    Buffer& one = buffers[i];
    if (i >= inputSpecs.size()) {
      outputs.push_back({one.name.c_str(), one.dtype.c_str(), one.data.get(), one.bytes, one.shape.data(),
                         one.shape.size(), 0});
      continue;
    }
    fillInput(one);
    inputs.push_back(
        {one.name.c_str(), one.dtype.c_str(), one.shape.data(), one.shape.size(), one.data.get(), one.bytes});
  }
  const auto run = [&] {
    return checked(
        kiln_session_run(session.handle(), inputs.data(), inputs.size(), outputs.data(), outputs.size()));
  };
  KILN_TRY(run());
  fmt::print("ready {:.6f} {}\n", load, residentKiB());
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    std::string answer;
    for (int left = std::stoi(line); left > 0; --left) {
      const auto begin = Clock::now();
      KILN_TRY(run());
      answer += fmt::format("{:.9f} ", secondsSince(begin));
    }
    fmt::print("{}\n", answer);
    std::fflush(stdout);
  }
  return {};
}

}  // namespace
}  // namespace kiln::runtime

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: bench_session DIR THREADS [EXTENT]\n");
    return 2;
  }
  const auto done = kiln::runtime::serve(argv[1], static_cast<std::uint32_t>(std::stoul(argv[2])),
                                         argc == 4 ? std::stol(argv[3]) : 1);
  if (!done) std::fprintf(stderr, "bench_session: %s\n", done.error().message.c_str());
  return done ? 0 : 1;
}
