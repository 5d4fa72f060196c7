#include "compiler_core/tuner/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "compiler_core/runtime/program/cpu_features.h"
#include "compiler_core/tuner/bench.h"
#include "compiler_core/tuner/search.h"
#include "manifest/base/digest.h"
#include "manifest/base/printable.h"

namespace kiln::tuner {
namespace {

using Clock = std::chrono::steady_clock;
using State = TuningCandidate::State;

constexpr std::uint32_t kWarmups = 1, kRepetitions = 7, kRounds = 5;
constexpr std::size_t kLeaders = 3;      // measured again, beside the default
constexpr double kMostFirstRound = 0.4;  // seconds of a candidate's first round: fewer samples then
constexpr std::uint32_t kLeastSamples = 3;
constexpr std::size_t kPatience = 64;   // candidates in a row that are no better
constexpr double kTurn = 0.03;          // seconds, of one of them
constexpr double kWorthLeading = 1.05;  // slower than the default by more: not measured again

std::string timeText(std::uint64_t nanoseconds) {
  return nanoseconds < 1'000'000 ? fmt::format("{:.1f} us", static_cast<double>(nanoseconds) / 1e3)
                                 : fmt::format("{:.2f} ms", static_cast<double>(nanoseconds) / 1e6);
}

// One schedule under measurement.
struct Trial {
  std::size_t candidate;  // of the record's
  KernelRun run;
  std::vector<std::uint64_t> samples;
};

using Trials = std::vector<std::unique_ptr<Trial>>;

// The kernels of one plan, one after the other.
class Tuner {
 public:
  explicit Tuner(const TuneRequest& request) : request_(request), start_(Clock::now()) {}

  Result<TuningRecord> run() {
    KILN_ASSIGN(bench_, Bench::open(request_.threads));
    record_.target = request_.plan.target;
    record_.method = {request_.threads,
                      kWarmups,
                      kRepetitions,
                      kRounds,
                      static_cast<std::uint32_t>(request_.budget.count()),
                      request_.seed};
    record_.device = thisMachine();
    for (const PlannedKernel& kernel : request_.plan.kernels)
      record_.kernels.push_back({kernel.signature, kernel.templateName, {unmeasured(kernel.schedule)}});
    machine_.threads = request_.threads;
    if (!record_.device.caches.empty()) machine_.l1 = static_cast<std::int64_t>(record_.device.caches[0]);
    if (record_.device.caches.size() > 1) machine_.l2 = static_cast<std::int64_t>(record_.device.caches[1]);

    // What takes most of a run first: where time is short, that is what pays.
    std::vector<std::size_t> order(request_.plan.kernels.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(-weightOf(i), i); });
    double rest = 0;
    for (const std::size_t i : order) rest += weightOf(i);
    for (std::size_t done = 0; done < order.size() && !isOver(); ++done) {
      const double weight = weightOf(order[done]);
      // At least a fair part of half of what is left, so that small kernels are not forgotten.
      const double fair = 0.5 / static_cast<double>(order.size() - done);
      const double share = std::max(rest > 0 ? weight / rest : 1.0, fair);
      rest -= weight;
      const auto part = std::chrono::duration_cast<Clock::duration>(left() * std::min(1.0, share));
      deadline_ = Clock::now() + part;
      KILN_TRY(tuneKernel(order[done], done));
      if (request_.onRecord) KILN_TRY(request_.onRecord(record_));
    }
    if (request_.onRecord) KILN_TRY(request_.onRecord(record_));
    return std::move(record_);
  }

 private:
  // Of a default without figures: what choose() calls not measured.
  static TuningCandidate unmeasured(const Schedule& schedule) {
    TuningCandidate candidate;
    candidate.state = State::kFailed;
    candidate.schedule = schedule;
    return candidate;
  }
  double weightOf(std::size_t i) const {
    const PlannedKernel& kernel = request_.plan.kernels[i];
    return static_cast<double>(kernel.count) * static_cast<double>(std::max<std::uint64_t>(1, kernel.work));
  }
  std::chrono::duration<double> left() const {
    const std::chrono::duration<double> rest = start_ + request_.budget - Clock::now();
    return std::max(std::chrono::duration<double>(0), rest);
  }
  bool isOver() const {
    return Clock::now() - start_ >= request_.budget || (request_.shouldStop && request_.shouldStop());
  }
  bool isKernelOver() const { return Clock::now() >= deadline_ || isOver(); }

  Status tuneKernel(std::size_t index, std::size_t number) {
    const PlannedKernel& planned = request_.plan.kernels[index];
    KILN_ASSIGN(const std::string text, request_.isolated(planned.signature));
    if (digestOf(text).text() != planned.signature)
      return fail(Code::kInvalidArgument,
                  "the kernel of " + planned.signature + " has another digest; make the plan again");
    auto opened = KernelCompiler::open(text, request_.tools);
    if (!opened && opened.error().code == Code::kUnimplemented) {
      progress("kernel {}/{} {}: {}", number + 1, request_.plan.kernels.size(), planned.templateName,
               opened.error().message);
      return {};
    }
    KILN_ASSIGN(const KernelCompiler compiler, std::move(opened));
    KILN_TRY(runtime::checkHostFeatures(compiler.target().features, compiler.target().name));
    record_.device.features = compiler.target().features;
    std::ranges::sort(record_.device.features);
    if (compiler.standard() != planned.schedule)
      return fail(Code::kInvalidArgument, "the plan's schedule of " + planned.signature +
                                              " is not this compiler's default; make the plan again");
    KILN_ASSIGN(KernelInputs inputs, KernelInputs::make(compiler, request_.seed));
    TunedKernel& tuned = record_.kernels[index];
    Trials trials;
    // Without the default nothing can be compared.
    KILN_ASSIGN(trials.emplace_back(), prepare(compiler, planned.schedule, 0));
    Trial& standard = *trials[0];
    KILN_TRY(standard.run.run(*bench_, inputs, 0));
    KILN_TRY(measure(standard, inputs, tuned.candidates[0]));
    // What measuring again will take.
    const double again =
        static_cast<double>(standard.run.runsPerSample() * tuned.candidates[0].medianNanoseconds) * 1e-9 *
        kRounds * (kLeaders + 1) * turnsOf(standard, tuned);
    deadline_ -= std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(again));

    Search search(compiler.site(), planned.schedule, machine_);
    std::uint64_t best = tuned.candidates[0].medianNanoseconds;
    for (std::size_t inVain = 0; inVain < kPatience && !isKernelOver(); ++inVain) {
      const auto schedule = search.next();
      if (!schedule) break;
      TuningCandidate& candidate = tuned.candidates.emplace_back();
      candidate.schedule = *schedule;
      candidate.state = State::kFailed;
      auto trial = prepare(compiler, *schedule, tuned.candidates.size() - 1);
      if (!trial || !(*trial)->run.run(*bench_, inputs, 0)) continue;
      if (!(*trial)->run.sameResults(standard.run)) {
        candidate.state = State::kWrong;
        continue;
      }
      if (!measure(**trial, inputs, candidate)) continue;
      trials.push_back(std::move(*trial));
      if (candidate.medianNanoseconds < best) {
        // Less than that is noise, not a direction.
        if (candidate.medianNanoseconds * 100 < best * 99) inVain = 0;
        best = candidate.medianNanoseconds;
        search.setBest(*schedule);
      }
      keepLeaders(trials, tuned);
    }
    KILN_TRY(measureAgain(trials, inputs, tuned));
    progress(tuned, planned, number);
    return {};
  }

  Result<std::unique_ptr<Trial>> prepare(const KernelCompiler& compiler, const Schedule& schedule,
                                         std::size_t candidate) {
    KILN_ASSIGN(const KernelProgram program, compiler.compile(schedule));
    KILN_ASSIGN(KernelRun run, KernelRun::load(program, compiler.outputs(), bench_->threads()));
    return std::make_unique<Trial>(Trial{candidate, std::move(run), {}});
  }

  // The first round; results have been looked at, which was one warm-up.
  Status measure(Trial& trial, KernelInputs& inputs, TuningCandidate& candidate) {
    const Clock::time_point from = Clock::now();
    std::vector<std::uint64_t> samples;
    for (std::uint32_t i = 0; i < kRepetitions; ++i) {
      KILN_ASSIGN(const std::uint64_t sample, trial.run.sample(*bench_, inputs));
      samples.push_back(sample);
      if (std::chrono::duration<double>(Clock::now() - from).count() > kMostFirstRound &&
          samples.size() >= kLeastSamples)
        break;
    }
    note(candidate, timingOf(std::move(samples)), State::kMeasured);
    return {};
  }

  // The default and the best; the programs of others are not needed any more.
  static void keepLeaders(Trials& trials, const TunedKernel& tuned) {
    if (trials.size() <= kLeaders + 1) return;
    std::ranges::sort(trials.begin() + 1, trials.end(), {}, [&](const auto& trial) {
      return std::pair(tuned.candidates[trial->candidate].medianNanoseconds, trial->candidate);
    });
    trials.pop_back();
  }

  // Samples of one turn: fewer of what takes long.
  static std::uint32_t turnsOf(const Trial& trial, const TunedKernel& tuned) {
    const double sample =
        static_cast<double>(trial.run.runsPerSample() * tuned.candidates[trial.candidate].medianNanoseconds) *
        1e-9;
    return std::clamp<std::uint32_t>(static_cast<std::uint32_t>(kTurn / sample), 1, kRepetitions);
  }

  // In turn, so that whatever the machine does meanwhile meets all of them alike.
  Status measureAgain(Trials& trials, KernelInputs& inputs, TunedKernel& tuned) {
    const auto slowest = static_cast<double>(tuned.candidates[0].medianNanoseconds) * kWorthLeading;
    while (trials.size() > 2 &&
           static_cast<double>(tuned.candidates[trials.back()->candidate].medianNanoseconds) > slowest)
      trials.pop_back();
    if (trials.size() < 2) return {};
    for (std::uint32_t round = 0; round < kRounds; ++round)
      for (const auto& trial : trials) {
        if (request_.shouldStop && request_.shouldStop()) return {};
        for (std::uint32_t i = 0, turns = turnsOf(*trial, tuned); i < turns; ++i) {
          KILN_ASSIGN(const std::uint64_t sample, trial->run.sample(*bench_, inputs));
          trial->samples.push_back(sample);
        }
      }
    for (const auto& trial : trials)
      note(tuned.candidates[trial->candidate], timingOf(std::move(trial->samples)), State::kFinalist);
    return {};
  }

  static void note(TuningCandidate& candidate, const Timing& timing, State state) {
    candidate.state = state;
    candidate.medianNanoseconds = timing.medianNanoseconds;
    candidate.spreadNanoseconds = timing.spreadNanoseconds;
    candidate.samples = timing.samples;
  }

  void progress(const TunedKernel& tuned, const PlannedKernel& planned, std::size_t number) const {
    const TuningChoice choice = choose(tuned);
    progress("kernel {}/{} {} {} best {} of default {}, {} tried, {}, time left {:.0f} s", number + 1,
             request_.plan.kernels.size(), tuned.templateName,
             planned.nodes.empty() ? "" : printable(planned.nodes.front(), 40),
             timeText(tuned.candidates[choice.candidate].medianNanoseconds),
             timeText(tuned.candidates[0].medianNanoseconds), tuned.candidates.size(),
             reasonText(choice.reason), left().count());
  }
  template <class... Arguments>
  void progress(fmt::format_string<Arguments...> text, Arguments&&... arguments) const {
    if (request_.onProgress) request_.onProgress(fmt::format(text, std::forward<Arguments>(arguments)...));
  }

  const TuneRequest& request_;
  const Clock::time_point start_;
  Clock::time_point deadline_;  // of the kernel at hand
  std::unique_ptr<Bench> bench_;
  Machine machine_;
  TuningRecord record_;
};

}  // namespace

Result<TuningRecord> tune(const TuneRequest& request) {
  return Tuner(request).run();
}

}  // namespace kiln::tuner
