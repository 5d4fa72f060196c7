// Archives of torch.export: nothing may crash, hang or allocate without bound, and tensors hold what their
// shapes say. A zip archive seldom survives a mutation, so the bytes are tried as texts of the reader too.
#include <cstdlib>

#include "compiler_core/frontend/torch/reader/expression_text.h"
#include "compiler_core/frontend/torch/reader/graph.h"
#include "compiler_core/frontend/torch/reader/payload.h"
#include "compiler_core/frontend/torch/reader/read.h"

namespace {

void checkHold(const std::map<std::string, kiln::torch::Tensor, std::less<>>& tensors) {
  for (const auto& [name, tensor] : tensors) {
    std::size_t bytes = kiln::dtypeBytes(tensor.dtype);
    for (std::int64_t extent : tensor.shape) bytes *= static_cast<std::size_t>(extent);
    if (bytes != tensor.bytes.size()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const kiln::Bytes bytes(data, size);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto program = kiln::torch::readProgram(bytes, "fuzzed", nullptr);
  // A wrong file is refused in words of its own; an internal error is a fault.
  if (!program && program.error().code == kiln::Code::kInternal) std::abort();
  if (program) checkHold(program->tensors);
  (void)kiln::torch::parseExpression(text);
  const auto json = kiln::parseJson(text, {.bytes = 1u << 20, .depth = 128});
  if (!json) return 0;
  (void)kiln::torch::readGraph(*json);
  std::map<std::string, kiln::torch::Tensor, std::less<>> tensors;
  auto file = [&](const std::string&) -> kiln::Result<kiln::torch::PayloadFile> {
    return kiln::torch::PayloadFile{bytes, nullptr};
  };
  if (kiln::torch::readPayload(*json, file, tensors)) checkHold(tensors);
  return 0;
}
