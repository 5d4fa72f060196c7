#include "manifest/tuning/record.h"

namespace kiln {
namespace {

constexpr std::uint64_t kMinGainPercent = 2, kMaxSpreadPercent = 25;

}  // namespace

TuningChoice choose(const TunedKernel& kernel) {
  using State = TuningCandidate::State;
  using Reason = TuningChoice::Reason;
  const auto& candidates = kernel.candidates;
  if (candidates.empty() || candidates.front().state != State::kFinalist) return {};
  const TuningCandidate& standard = candidates.front();
  std::size_t best = 0, finalists = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].state != State::kFinalist) continue;
    ++finalists;
    if (candidates[i].medianNanoseconds < candidates[best].medianNanoseconds) best = i;
  }
  if (finalists < 2) return {};
  if (standard.spreadNanoseconds * 100 > standard.medianNanoseconds * kMaxSpreadPercent)
    return {Reason::kTooNoisy, 0};
  const std::uint64_t gain = standard.medianNanoseconds - candidates[best].medianNanoseconds;
  const bool faster = gain * 100 > standard.medianNanoseconds * kMinGainPercent &&
                      gain > standard.spreadNanoseconds + candidates[best].spreadNanoseconds;
  return faster ? TuningChoice{Reason::kFaster, best} : TuningChoice{Reason::kDefaultBest, 0};
}

std::string_view reasonText(TuningChoice::Reason reason) {
  switch (reason) {
    case TuningChoice::Reason::kFaster:
      return "faster";
    case TuningChoice::Reason::kDefaultBest:
      return "default is best";
    case TuningChoice::Reason::kTooNoisy:
      return "too noisy";
    case TuningChoice::Reason::kNotMeasured:
      return "not measured";
  }
  return "";
}

}  // namespace kiln
