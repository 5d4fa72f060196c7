#include "worker/devices/known_answers.h"

#include <bit>
#include <cstdio>
#include <vector>

#include "worker/devices/known_answers_module.h"

namespace kiln::devices {
namespace {

constexpr std::uint32_t kThreads = 64, kBlocks = 4, kNumbers = kThreads * kBlocks;
constexpr char kKernel[] = "known_answers";

std::vector<std::uint32_t> numbers() {
  std::vector<std::uint32_t> in(kNumbers);
  std::uint32_t state = 1;
  for (std::uint32_t& number : in) number = state = state * 1664525u + 1013904223u;
  return in;
}

// What known_answers.spvasm says. A compiler may join a product and a sum, but not across a variable that it
// must store.
std::uint32_t answer(std::uint32_t given) {
  const std::uint32_t n = (given * 2654435761u) ^ (given >> 7);
  volatile float x = static_cast<float>(n >> 8) * 0.1f;
  if (n % 2 == 1) x = x - 3.0f;
  float y = 0;
  for (int i = 0; i < 8; ++i) {
    volatile float scaled = y * 0.7f;
    y = scaled + x;
  }
  return std::bit_cast<std::uint32_t>(y);
}

std::string hex(std::uint32_t number) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", number);
  return text;
}

}  // namespace

Status checkKnownAnswers(const runtime::VulkanDevice& device) {
  const std::string words(reinterpret_cast<const char*>(kKnownAnswersModule), sizeof kKnownAnswersModule);
  DeviceImageInfo image;
  image.target = "vulkan:1.3";
  image.image.path = kKernel;
  image.kernels = {kKernel};
  image.driver = "1.3";
  image.computeCapability = "1.6";
  KILN_ASSIGN(const auto module, device.load(image, words, ""));
  const std::vector<std::uint32_t> in = numbers();
  const std::uint64_t bytes = in.size() * sizeof(std::uint32_t);
  KILN_ASSIGN(const auto memory, device.allocate(2 * bytes, "a kernel with known answers"));
  KILN_ASSIGN(const auto queue, device.makeQueue({memory->address(), 2 * bytes, 0, 0}));
  KILN_TRY(queue->upload(memory->address(), in.data(), bytes));
  const std::uint64_t arguments[] = {memory->address(), memory->address() + bytes};
  kiln_launch launch{};
  launch.space = 1;
  launch.grid[0] = kBlocks;
  launch.grid[1] = launch.grid[2] = 1;
  launch.block = kThreads;
  launch.argument_count = 2;
  launch.arguments = arguments;
  KILN_TRY(queue->launch(*module, launch));
  std::vector<std::uint32_t> out(kNumbers);
  KILN_TRY(queue->download(out.data(), memory->address() + bytes, bytes));
  KILN_TRY(queue->wait());
  for (std::uint32_t i = 0; i < kNumbers; ++i) {
    const std::uint32_t expected = answer(in[i / kThreads * kThreads + (kThreads - 1 - i % kThreads)]);
    if (out[i] != expected)
      return fail(Code::kUnavailable, "a kernel's results are wrong: number " + std::to_string(i) + " of " +
                                          std::to_string(kNumbers) + " is " + hex(out[i]) + " where " +
                                          hex(expected) + " is right");
  }
  return {};
}

}  // namespace kiln::devices
