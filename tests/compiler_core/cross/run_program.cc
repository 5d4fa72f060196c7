// Runs a compiled program; built for AArch64 by Debian's cross compiler, where qemu-aarch64 runs it. What
// depends on the architecture is the runtime's own: the ELF checks, the processor's features, the
// floating-point control state. The whole runtime is not built, because Debian has no libcrypto for cross
// builds.
// usage: run_program PROGRAM TARGET FEATURE[,FEATURE...] THREADS[,THREADS...] WEIGHT... -- INPUT... --
//        OUTPUT:BYTES...
// Tensors are files of raw bytes. Every number of threads must give the same bits; for each, one line says
// how long it took: "threads N seconds S".
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "compiler_core/runtime/elf/elf_check.h"
#include "compiler_core/runtime/parallel/fp_state.h"
#include "compiler_core/runtime/program/cpu_features.h"
#include "tests/compiler_core/host/program_host.h"

namespace kiln::testing {
namespace {

using Paths = std::vector<std::string>;

struct Request {
  std::string program, target;
  std::vector<std::string> features, threads;
  Paths weights, inputs, outputs;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

Result<std::string> readAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(Code::kNotFound, path + ": cannot be read");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<std::vector<Buffer>> readBuffers(const Paths& paths) {
  std::vector<Buffer> buffers;
  for (const std::string& path : paths) {
    KILN_ASSIGN(const std::string bytes, readAll(path));
    buffers.push_back(Buffer::of<char>(bytes));
  }
  return buffers;
}

bool same(const Buffer& a, const Buffer& b) {
  return std::ranges::equal(a.as<char>(), b.as<char>());
}

Status run(const Request& request) {
  KILN_TRY(runtime::checkHostFeatures(request.features, request.target));
  KILN_ASSIGN(const std::string elf, readAll(request.program));
  KILN_TRY(runtime::checkElf({reinterpret_cast<const std::uint8_t*>(elf.data()), elf.size()},
                             runtime::hostMachine(), KILN_PROGRAM_SYMBOL, sizeof(kiln_program)));
  KILN_ASSIGN(const ProgramHost host, ProgramHost::load(elf));
  KILN_ASSIGN(const auto weights, readBuffers(request.weights));
  KILN_ASSIGN(const auto inputs, readBuffers(request.inputs));
  const auto outputBuffers = [&] {
    std::vector<Buffer> outputs;
    for (const std::string& output : request.outputs)
      outputs.emplace_back(std::stoull(output.substr(output.rfind(':') + 1)));
    return outputs;
  };
  std::vector<Buffer> first;
  for (const std::string& threads : request.threads) {
    std::vector<Buffer> outputs = outputBuffers();
    const auto start = std::chrono::steady_clock::now();
    const runtime::FpScope state;
    KILN_TRY(host.run(weights, inputs, outputs, std::stoi(threads)));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    fmt::print("threads {} seconds {:.6f}\n", threads, took.count());
    if (first.empty())
      first = std::move(outputs);
    else if (!std::ranges::equal(first, outputs, same))
      return fail(Code::kDataLoss, fmt::format("other bits with {} threads", threads));
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    const std::string path = request.outputs[i].substr(0, request.outputs[i].rfind(':'));
    const auto bytes = first[i].as<char>();
    if (!std::ofstream(path, std::ios::binary)
             .write(bytes.data(), static_cast<std::streamsize>(bytes.size())))
      return fail(Code::kInternal, path + ": cannot be written");
  }
  return {};
}

int main(const std::vector<std::string>& arguments) {
  if (arguments.size() < 4) {
    fmt::print(
        stderr,
        "usage: run_program PROGRAM TARGET FEATURES THREADS WEIGHT... -- INPUT... -- OUTPUT:BYTES...\n");
    return 2;
  }
  Request request{arguments[0], arguments[1], split(arguments[2]), split(arguments[3]), {}, {}, {}};
  Paths* lists[] = {&request.weights, &request.inputs, &request.outputs};
  std::size_t list = 0;
  for (std::size_t i = 4; i < arguments.size(); ++i) {
    if (arguments[i] != "--")
      lists[list]->push_back(arguments[i]);
    else
      list = std::min<std::size_t>(list + 1, 2);
  }
  const Status status = run(request);
  if (status) return 0;
  fmt::print(stderr, "run_program: {}\n", status.error().message);
  return 1;
}

}  // namespace
}  // namespace kiln::testing

int main(int argc, char** argv) {
  return kiln::testing::main({argv + 1, argv + argc});
}
