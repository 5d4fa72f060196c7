// Runs a compiled program; built for AArch64 and RISC-V by Debian's cross compilers, where qemu-user runs it.
// What depends on the architecture is the runtime's own: the ELF checks, the processor's features, the
// floating-point control state. The whole runtime is not built, because Debian has no libcrypto for cross
// builds.
// usage: run_program PROGRAM TARGET FEATURE,... THREADS,... SYMBOL,... WEIGHT... -- INPUT... --
//        OUTPUT:BYTES:RANK...
// Tensors are files of raw bytes; an output is named with the bytes of its element and its rank, and a line
// says the shape that it has: "output I dims D D". Every number of threads must give the same bits; for each,
// one line says how long it took: "threads N seconds S".
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
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

struct Output {
  std::string path;
  std::size_t elementBytes = 0, rank = 0;
};

struct Request {
  std::string program, target;
  std::vector<std::string> features, threads, symbols;
  Paths weights, inputs;
  std::vector<Output> outputs;
};

Output outputOf(const std::string& text) {
  const std::size_t second = text.rfind(':'), first = text.rfind(':', second - 1);
  return {text.substr(0, first), std::stoull(text.substr(first + 1)), std::stoull(text.substr(second + 1))};
}

// The bytes that each output takes in shapes that lie one behind the other.
std::vector<std::size_t> bytesOf(const std::vector<Output>& outputs, std::span<const std::int64_t> dims) {
  std::vector<std::size_t> sizes;
  for (const Output& output : outputs) {
    std::size_t bytes = output.elementBytes;
    for (const std::int64_t extent : dims.first(output.rank)) bytes *= static_cast<std::size_t>(extent);
    dims = dims.subspan(output.rank);
    sizes.push_back(bytes);
  }
  return sizes;
}

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

struct Results {
  std::vector<Buffer> buffers;
  std::vector<std::int64_t> dims;
  std::vector<std::size_t> bytes;
  bool operator==(const Results& other) const {
    if (dims != other.dims) return false;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (!std::ranges::equal(buffers[i].as<char>().first(bytes[i]),
                              other.buffers[i].as<char>().first(bytes[i])))
        return false;
    return true;
  }
};

Status write(const std::vector<Output>& outputs, const Results& results) {
  auto dim = results.dims.begin();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto bytes = results.buffers[i].as<char>().first(results.bytes[i]);
    if (!std::ofstream(outputs[i].path, std::ios::binary)
             .write(bytes.data(), static_cast<std::streamsize>(bytes.size())))
      return fail(Code::kInternal, outputs[i].path + ": cannot be written");
    fmt::print("output {} dims", i);
    for (std::size_t d = 0; d < outputs[i].rank; ++d) fmt::print(" {}", *dim++);
    fmt::print("\n");
  }
  return {};
}

#if defined(__riscv)
// qemu-user has no riscv_hwprobe before 8.2; the tests start it with these extensions (compiled.py).
Status checkFeatures(const Request& request) {
  runtime::RiscvCapabilities host = runtime::hostRiscv();
  constexpr std::uint64_t kZbaZbbZbsZfhmin = 0x38 | std::uint64_t{1} << 28;
  if (!host.extensions) host.extensions = kZbaZbbZbsZfhmin;
  return runtime::checkRiscvFeatures(request.features, request.target, host);
}
#else
Status checkFeatures(const Request& request) {
  return runtime::checkHostFeatures(request.features, request.target);
}
#endif

Status run(const Request& request) {
  KILN_TRY(checkFeatures(request));
  KILN_ASSIGN(const std::string elf, readAll(request.program));
  KILN_TRY(runtime::checkElf({reinterpret_cast<const std::uint8_t*>(elf.data()), elf.size()},
                             runtime::hostMachine(), KILN_PROGRAM_SYMBOL, sizeof(kiln_program)));
  KILN_ASSIGN(const ProgramHost host, ProgramHost::load(elf));
  KILN_ASSIGN(const auto weights, readBuffers(request.weights));
  KILN_ASSIGN(const auto inputs, readBuffers(request.inputs));
  std::vector<std::int64_t> symbols;
  for (const std::string& symbol : request.symbols) symbols.push_back(std::stoll(symbol));
  if (symbols.size() != host.table().symbol_count)
    return fail(Code::kInvalidArgument, fmt::format("the program has {} symbols", host.table().symbol_count));
  std::optional<Results> first;
  for (const std::string& threads : request.threads) {
    Results results;
    for (const std::size_t bytes : bytesOf(request.outputs, host.shapes(0, symbols)))
      results.buffers.emplace_back(bytes);
    const auto start = std::chrono::steady_clock::now();
    const runtime::FpScope state;
    KILN_ASSIGN(results.dims, host.run(0, symbols, weights, inputs, results.buffers, std::stoi(threads)));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    fmt::print("threads {} seconds {:.6f}\n", threads, took.count());
    results.bytes = bytesOf(request.outputs, results.dims);
    if (!first)
      first = std::move(results);
    else if (!(*first == results))
      return fail(Code::kDataLoss, fmt::format("other bits with {} threads", threads));
  }
  return write(request.outputs, *first);
}

int main(const std::vector<std::string>& arguments) {
  if (arguments.size() < 5) {
    fmt::print(stderr,
               "usage: run_program PROGRAM TARGET FEATURES THREADS SYMBOLS WEIGHT... -- INPUT... -- "
               "OUTPUT:BYTES:RANK...\n");
    return 2;
  }
  Request request{
      arguments[0], arguments[1], split(arguments[2]), split(arguments[3]), split(arguments[4]), {}, {}, {}};
  std::size_t list = 0;
  for (std::size_t i = 5; i < arguments.size(); ++i) {
    if (arguments[i] == "--")
      ++list;
    else if (list < 2)
      (list == 0 ? request.weights : request.inputs).push_back(arguments[i]);
    else
      request.outputs.push_back(outputOf(arguments[i]));
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
