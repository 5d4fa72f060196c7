// Binding weights beside reading and hashing their file, from the page cache. Ratios are what counts.
// usage: bench_parameters DIR [MIB]   (files of that size, 1024 unless said, are made in DIR and removed)
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "compiler_core/frontend/parameters/binding.h"
#include "compiler_core/runtime/npy/npy.h"
#include "manifest/base/digest.h"
#include "tests/compiler_core/frontend/archive/zip_writer.h"

namespace {

using namespace kiln;
using namespace kiln::parameters;

constexpr std::size_t kTensorBytes = std::size_t{16} << 20;

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The bytes of tensor `i`: no two tensors are alike unless all are.
std::string contents(std::size_t i, bool tied) {
  std::string out(kTensorBytes, '\0');
  std::uint64_t state = tied ? 1 : 2 * i + 1;
  for (std::size_t at = 0; at < out.size(); at += 8) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    for (std::size_t k = 0; k < 8; ++k) out[at + k] = static_cast<char>(state >> (8 * k));
  }
  return out;
}

void writeSafetensors(const std::string& path, std::size_t count, bool tied) {
  std::string header = "{";
  for (std::size_t i = 0; i < count; ++i) {
    header += fmt::format("{}\"w{}\":{{\"dtype\":\"F32\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                          i == 0 ? "" : ",", i, kTensorBytes / 4, i * kTensorBytes, (i + 1) * kTensorBytes);
  }
  header += "}";
  std::ofstream out(path, std::ios::binary);
  const std::uint64_t length = header.size();
  out.write(reinterpret_cast<const char*>(&length), 8);
  out << header;
  for (std::size_t i = 0; i < count; ++i) out << contents(i, tied);
}

void writeNpz(const std::string& path, std::size_t count) {
  std::vector<testing_support::ZipWritten> members;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string data = contents(i, false);
    const auto file = npy::serialise({DType::kF32, {kTensorBytes / 4}, {data.begin(), data.end()}});
    members.push_back({fmt::format("w{}.npy", i), {file.begin(), file.end()}});
  }
  std::ofstream(path, std::ios::binary) << testing_support::writeZip(members);
}

std::vector<Argument> argumentsOf(std::size_t count) {
  std::vector<Argument> out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back({fmt::format("w{}", i), DType::kF32, {static_cast<std::int64_t>(kTensorBytes / 4)}});
  return out;
}

void report(const std::string& name, const std::string& path, std::size_t count) {
  double read = 1e9, bound = 1e9;
  std::size_t weights = 0;
  for (int turn = 0; turn < 3; ++turn) {
    read = std::min(read, seconds([&] {
                      if (!digestOfFile(path)) std::exit(1);
                    }));
    bound = std::min(bound, seconds([&] {
                       const auto file = readParameters(path);
                       const auto bindings = file ? bind(argumentsOf(count), {*file}) : fail(file.error());
                       if (!bindings) {
                         fmt::print("{}\n", bindings.error().message);
                         std::exit(1);
                       }
                       weights = bindings->weights.size();
                     }));
  }
  fmt::print(
      "{:<22} {:3} weights  bound in {:6.3f} s, read and hashed in {:6.3f} s: {:5.2f} x (aim: at most 1.5)\n",
      name, weights, bound, read, bound / read);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::size_t count = (argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1024) / (kTensorBytes >> 20);
  const std::string path = std::string(argv[1]) + "/bench_parameters.bin";
  for (const bool tied : {false, true}) {
    writeSafetensors(path, count, tied);
    report(tied ? "safetensors, all tied" : "safetensors", path, count);
  }
  writeNpz(path, count);
  report("npz, stored", path, count);
  std::remove(path.c_str());
}
