#include <span>

#include "compiler_core/driver/compiler.h"
#include "compiler_core/frontend/onnx/mapped_file.h"
#include "tests/compiler_core/host/program_host.h"
#include "tests/conformance/run_case.h"

namespace kiln::conformance {

using kiln::testing::Buffer;

Status compileCase(const std::string& directory, const std::string& toolchainLib, const std::string& scratch,
                   Tolerance tolerance) {
  auto inputs = readTensors(directory, "input");
  driver::CompileRequest request;
  request.model = directory + "/model.onnx";
  KILN_ASSIGN(request.target, parseTarget("cpu:x86-64-v3"));
  KILN_ASSIGN(request.dims, dimsOf(directory, inputs ? *inputs : std::vector<HostTensor>()));
  request.toolchainLib = toolchainLib;
  request.out = scratch;
  request.progress = [](std::string_view) {};
  KILN_ASSIGN(driver::CompileResult compiled, driver::compile(request));
  if (!inputs) return fail(inputs.error());
  KILN_ASSIGN(std::vector<HostTensor> expected, readTensors(directory, "output"));

  std::vector<Buffer> weights, arguments, results;
  auto bytesOf = [](Bytes bytes) { return Buffer::of(bytes); };
  for (const auto& file : compiled.weights) {
    KILN_ASSIGN(auto mapped, onnx::MappedFile::open(scratch + "/" + file.path));
    weights.push_back(bytesOf(mapped->bytes()));
  }
  for (const HostTensor& input : *inputs) arguments.push_back(bytesOf(input.bytes));
  std::vector<HostTensor> got;
  for (const ir::Signature& output : compiled.outputs) {
    got.push_back(HostTensor::zeros(output.dtype, output.shape));
    results.emplace_back(got.back().bytes.size());
  }
  KILN_ASSIGN(auto elf, onnx::MappedFile::open(scratch + "/program.so"));
  const Bytes code = elf->bytes();
  KILN_ASSIGN(auto host, kiln::testing::ProgramHost::load({code.begin(), code.end()}));
  KILN_TRY(host.run(weights, arguments, results, 2));
  for (std::size_t i = 0; i < got.size(); ++i) {
    auto bytes = results[i].as<std::uint8_t>();
    got[i].bytes.assign(bytes.begin(), bytes.end());
  }
  return compareAll(got, expected, tolerance);
}

}  // namespace kiln::conformance
