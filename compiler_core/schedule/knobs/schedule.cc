#include "compiler_core/schedule/knobs/schedule.h"

namespace kiln::schedule {

std::int64_t numberOf(const Schedule& schedule, std::string_view knob, std::int64_t otherwise) {
  const auto found = schedule.find(knob);
  return found == schedule.end() || found->second.size() != 1 ? otherwise : found->second.front();
}

std::span<const std::int64_t> listOf(const Schedule& schedule, std::string_view knob) {
  const auto found = schedule.find(knob);
  return found == schedule.end() ? std::span<const std::int64_t>() : std::span(found->second);
}

void setNumber(Schedule& schedule, std::string_view knob, std::int64_t value) {
  setList(schedule, knob, {value});
}

void setList(Schedule& schedule, std::string_view knob, std::vector<std::int64_t> values) {
  schedule.insert_or_assign(std::string(knob), std::move(values));
}

bool isProduct(const KernelShape& shape) {
  return shape.kind == KernelKind::kContraction || shape.kind == KernelKind::kConvolution ||
         shape.kind == KernelKind::kDepthwise;
}

std::optional<std::size_t> rowLoop(const KernelShape& shape) {
  const std::size_t behind = shape.kind == KernelKind::kConvolution ? shape.window + 1 : 2;
  if (shape.loops.size() < behind) return std::nullopt;
  return shape.loops.size() - behind;
}

double workOf(const KernelShape& shape) {
  auto work = static_cast<double>(shape.workPerPoint);
  for (const LoopInfo& loop : shape.loops) work *= static_cast<double>(loop.extent);
  return work;
}

std::string_view templateOf(KernelKind kind) {
  switch (kind) {
    case KernelKind::kContraction:
      return "contraction";
    case KernelKind::kConvolution:
      return "convolution";
    case KernelKind::kAttention:
      return "attention";
    case KernelKind::kReduction:
      return "reduction";
    case KernelKind::kDepthwise:
      return "depthwise";
    case KernelKind::kElementwise:
      break;
  }
  return "elementwise";
}

}  // namespace kiln::schedule
