#include "compiler_core/tuner/tuner.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <ranges>

#include "compiler_core/runtime/program/cpu_features.h"
#include "compiler_core/tuner/bench.h"
#include "compiler_core/tuner/measurer.h"
#include "compiler_core/tuner/search.h"
#include "manifest/base/digest.h"
#include "manifest/base/printable.h"
#include "manifest/spec/target_device.h"

namespace kiln::tuner {
namespace {

using Clock = std::chrono::steady_clock;
using State = TuningCandidate::State;

constexpr std::uint32_t kWarmups = 1, kRepetitions = 7, kRounds = 5;
constexpr std::size_t kLeaders = 3;        // measured again, beside the default
constexpr std::size_t kMaxFruitless = 64;  // candidates in a row that are no better
// The tolerance for results whose sums may have another order: as the method states it, and its value.
constexpr char kReassociatedToleranceText[] = "1e-4";
constexpr double kReassociatedTolerance = 1e-4;
constexpr double kRoundSeconds = 0.03;  // seconds, of one of them
constexpr double kWorthLeading = 1.05;  // slower than the default by more: not measured again
// How long a candidate may take: so many seconds and so many times the default's. The default itself: the
// time that is left, but not less than kDefaultSeconds.
constexpr double kLimitSeconds = 2, kLimitTimes = 8, kDefaultSeconds = 30;

std::string timeText(std::uint64_t nanoseconds) {
  return nanoseconds < 1'000'000 ? fmt::format("{:.1f} us", static_cast<double>(nanoseconds) / 1e3)
                                 : fmt::format("{:.2f} ms", static_cast<double>(nanoseconds) / 1e6);
}

// One schedule under measurement.
struct Trial {
  std::size_t candidate;  // of the record's; its number for the measurer, too
  std::uint64_t runsPerSample;
  std::vector<std::uint64_t> samples;
};

// While one lives, the end of a process that measures is an error of writing to it.
class NoPipeSignal {
 public:
  NoPipeSignal() : before_(::signal(SIGPIPE, SIG_IGN)) {}
  ~NoPipeSignal() { ::signal(SIGPIPE, before_); }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sighandler_t before_;
};

// The kernels of one plan, one after the other.
class Tuner {
 public:
  explicit Tuner(const TuneRequest& request) : request_(request), start_(Clock::now()) {}

  Result<TuningRecord> run() {
    const NoPipeSignal noPipeSignal;
    if (request_.device)
      KILN_TRY(openDevice());
    else
      KILN_TRY(openProcessors());
    record_.target = request_.plan.target;
    record_.method = {request_.device ? 0 : request_.threads,
                      kWarmups,
                      kRepetitions,
                      kRounds,
                      static_cast<std::uint32_t>(request_.budget.count()),
                      request_.seed};
    record_.method.byEvents = request_.device.has_value();
    for (const PlannedKernel& kernel : request_.plan.kernels)
      record_.kernels.push_back({kernel.signature, kernel.templateName, {unmeasured(kernel.schedule)}});
    if (request_.onRecord) KILN_TRY(request_.onRecord(record_));

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
      KILN_ASSIGN(const bool wasTried, tuneKernel(order[done], done));
      if (request_.onRecord) KILN_TRY(request_.onRecord(record_));
      if (wasTried) KILN_TRY(checkDevice(record_.kernels[order[done]]));
    }
    return std::move(record_);
  }

 private:
  // Where the plan's weights are more than the last cache holds, a run of the program finds none of them
  // there; then runs of a kernel shall not, either.
  void chooseWeightBytes() {
    std::vector<std::string> texts;
    for (const PlannedKernel& kernel : request_.plan.kernels) {
      // One that is not there, or another one, is refused in its turn.
      const auto text = request_.isolated(kernel.signature);
      texts.push_back(text && digestOf(*text).text() == kernel.signature ? *text : std::string());
    }
    const std::vector<std::uint64_t> bytes = weightBytesOf(texts);
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) all += request_.plan.kernels[i].count * bytes[i];
    const std::uint64_t last = record_.device.caches.empty() ? 0 : record_.device.caches.back();
    if (all > last) weightBytes_ = last + last / 4;
  }

  Status openProcessors() {
    KILN_ASSIGN(processors_, processorsFor(request_.threads));
    record_.device = thisMachine();
    machine_.threads = request_.threads;
    if (!record_.device.caches.empty()) machine_.l1 = static_cast<std::int64_t>(record_.device.caches[0]);
    if (record_.device.caches.size() > 1) machine_.l2 = static_cast<std::int64_t>(record_.device.caches[1]);
    chooseWeightBytes();
    return {};
  }

  // Whose kernels would not run there is refused before anything is compiled.
  Status openDevice() {
    const TuneDevice& device = *request_.device;
    command_ = {device.program, "--device-driver", device.driver, "--device", std::to_string(device.ordinal)};
    KILN_ASSIGN(const MeasuredDevice found, askForDevice());
    record_.device = fingerprintOf(found);
    machine_.multiprocessors = std::max(1u, found.multiprocessors);
    const std::vector<std::string> targets = targetNames(request_.plan.target);
    const bool isVulkanDevice = found.api == "vulkan";
    if (std::ranges::any_of(targets, [&](const std::string& target) {
          return isVulkanDevice ? runsOnVulkan(target, found.major, found.minor)
                                : runsOnGpu(target, found.major, found.minor);
        }))
      return {};
    return fail(Code::kUnimplemented,
                fmt::format("device {}, {}, {} {}.{}: no kernels for {} run there", device.ordinal,
                            record_.device.name, isVulkanDevice ? "serves Vulkan" : "has compute capability",
                            found.major, found.minor, request_.plan.target));
  }

  Result<MeasuredDevice> askForDevice() const {
    Measurer asked({}, request_.shouldStop, command_);
    KILN_TRY(asked.ready());
    if (!asked.device())
      return fail(Code::kFailedPrecondition, command_.front() + " does not say what it measures on");
    return *asked.device();
  }

  // Where nothing came of a kernel, the device itself may be gone.
  Status checkDevice(const TunedKernel& tuned) const {
    if (!request_.device || isOver() || choose(tuned).reason != TuningChoice::Reason::kNotMeasured) return {};
    const auto found = askForDevice();
    if (found || found.error().code == Code::kCancelled) return {};
    return fail(Code::kUnavailable, "the device that measures was lost: " + found.error().message);
  }

  // One without figures; where it is the default, what choose() calls not measured.
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

  // False where the kernel is none that this request measures.
  Result<bool> tuneKernel(std::size_t index, std::size_t number) {
    const PlannedKernel& planned = request_.plan.kernels[index];
    KILN_ASSIGN(const std::string text, request_.isolated(planned.signature));
    if (digestOf(text).text() != planned.signature)
      return fail(Code::kInvalidArgument,
                  "the kernel of " + planned.signature + " has another digest; make the plan again");
    auto opened = KernelCompiler::open(text, request_.tools, request_.order);
    // A kernel that this compiler cannot make does not stop the others.
    if (!opened &&
        (opened.error().code == Code::kUnimplemented || opened.error().code == Code::kInvalidArgument)) {
      progress("kernel {}/{} {}: {}", number + 1, request_.plan.kernels.size(), planned.templateName,
               opened.error().message);
      return false;
    }
    KILN_ASSIGN(const KernelCompiler compiler, std::move(opened));
    if (compiler.target().device.empty() == request_.device.has_value()) {
      progress("kernel {}/{} {}: kernels of {} are not measured on {}, so it keeps its default", number + 1,
               request_.plan.kernels.size(), planned.templateName, compiler.target().name,
               request_.device ? "a device" : "processors");
      return false;
    }
    KILN_TRY(runtime::checkHostFeatures(compiler.target().features, compiler.target().name));
    if (!request_.device) {
      record_.device.features = compiler.target().features;
      std::ranges::sort(record_.device.features);
    }
    if (compiler.site().isReassociable()) record_.method.tolerance = kReassociatedToleranceText;
    if (compiler.standard() != planned.schedule)
      return fail(Code::kInvalidArgument, "the plan's schedule of " + planned.signature +
                                              " is not this compiler's default; make the plan again");
    Measurement at{compiler, planned, record_.kernels[index],
                   Measurer({compiler.tensors(), request_.seed, processors_, weightBytes_},
                            request_.shouldStop, command_)};
    KILN_ASSIGN(const bool isMeasured, measureDefault(at));
    if (isMeasured) {
      search(at);
      measureAgain(at);
      progress(at.tuned, planned, number);
    }
    return true;
  }

  // A kernel in work.
  struct Measurement {
    const KernelCompiler& compiler;
    const PlannedKernel& planned;
    TunedKernel& tuned;
    Measurer measurer;
    std::vector<Trial> trials{};  // the default, then the best so far
    Digest results{};             // of the default
  };

  Result<KernelProgram> compile(const KernelCompiler& compiler, const Schedule& schedule) const {
    return request_.compile ? request_.compile(compiler, schedule) : compiler.compile(schedule);
  }

  // False where it does not run, so that nothing can be compared: the kernel stays as it is, not measured.
  Result<bool> measureDefault(Measurement& at) {
    KILN_ASSIGN(KernelProgram program, compile(at.compiler, at.planned.schedule));
    at.measurer.setLimit(std::chrono::duration<double>(std::max(kDefaultSeconds, left().count())));
    const Clock::time_point from = Clock::now();
    const auto answer = at.measurer.tryOut(0, std::move(program), kRepetitions);
    if (!answer) {
      if (answer.error().code != Code::kCancelled)
        progress("kernel {}: its default cannot be measured, {}", at.planned.signature,
                 answer.error().message);
      return false;
    }
    at.results = answer->results;
    at.trials.push_back({0, answer->runsPerSample, {}});
    note(at.tuned.candidates[0], timingOf(answer->nanoseconds), State::kMeasured);
    const std::chrono::duration<double> taken = Clock::now() - from;
    at.measurer.setLimit(std::chrono::duration<double>(kLimitSeconds) + kLimitTimes * taken);
    // What measuring again will take.
    const double again =
        secondsOf(at.trials[0], at.tuned) * kRounds * (kLeaders + 1) * runsPerRound(at.trials[0], at.tuned);
    deadline_ -= std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(again));
    return true;
  }

  // What is no candidate's fault ends the search with what is known.
  void search(Measurement& at) {
    Search search(at.compiler.site(), at.planned.schedule, machine_);
    for (std::size_t fruitless = 0; fruitless < kMaxFruitless && !isKernelOver();) {
      const auto schedule = search.next();
      if (!schedule) return;
      if (!checkKnobs(*schedule, at.planned)) continue;  // the plan may ask for less than is worth trying
      ++fruitless;
      const std::size_t index = at.tuned.candidates.size();
      at.tuned.candidates.push_back(unmeasured(*schedule));
      auto program = compile(at.compiler, *schedule);
      if (!program) continue;
      if (!at.measurer.ready()) return;
      const auto answer = at.measurer.tryOut(index, std::move(*program), kRepetitions);
      if (!answer && answer.error().code == Code::kCancelled) return;
      if (answer) judge(at, index, *answer, search, fruitless);
    }
  }

  void judge(Measurement& at, std::size_t index, const MeasureAnswer& answer, Search& search,
             std::size_t& fruitless) {
    TuningCandidate& candidate = at.tuned.candidates[index];
    if (answer.results != at.results && !isNear(at, answer)) {
      candidate.state = State::kWrong;
      at.measurer.forget(index);
      return;
    }
    const std::uint64_t best =
        std::ranges::min(at.trials | std::views::transform([&](const Trial& trial) {
                           return at.tuned.candidates[trial.candidate].medianNanoseconds;
                         }));
    note(candidate, timingOf(answer.nanoseconds), State::kMeasured);
    at.trials.push_back({index, answer.runsPerSample, {}});
    if (candidate.medianNanoseconds < best) {
      // Less than that is noise, not a direction.
      if (candidate.medianNanoseconds * 100 < best * 99) fruitless = 0;
      search.setBest(candidate.schedule);
    }
    keepLeaders(at);
  }

  // Whether other bits than the default's are but another order of its sums.
  static bool isNear(const Measurement& at, const MeasureAnswer& answer) {
    return at.compiler.site().isReassociable() && answer.distance <= kReassociatedTolerance;
  }

  // Behind the default, the fastest first.
  static void sortLeaders(Measurement& at) {
    std::ranges::sort(at.trials.begin() + 1, at.trials.end(), {}, [&](const Trial& trial) {
      return std::pair(at.tuned.candidates[trial.candidate].medianNanoseconds, trial.candidate);
    });
  }

  // The default and the best; the programs of others are not needed any more.
  static void keepLeaders(Measurement& at) {
    if (at.trials.size() <= kLeaders + 1) return;
    sortLeaders(at);
    at.measurer.forget(at.trials.back().candidate);
    at.trials.pop_back();
  }

  // Seconds of one sample.
  static double secondsOf(const Trial& trial, const TunedKernel& tuned) {
    return static_cast<double>(trial.runsPerSample * tuned.candidates[trial.candidate].medianNanoseconds) *
           1e-9;
  }

  // Samples of one turn: fewer of what takes long.
  static std::uint32_t runsPerRound(const Trial& trial, const TunedKernel& tuned) {
    return std::clamp<std::uint32_t>(static_cast<std::uint32_t>(kRoundSeconds / secondsOf(trial, tuned)), 1,
                                     kRepetitions);
  }

  // In turn, so that whatever the machine does meanwhile meets all of them alike. What fails now is no
  // finalist; where that is the default, nobody is.
  void measureAgain(Measurement& at) {
    std::vector<Trial>& trials = at.trials;
    const auto slowest = static_cast<double>(at.tuned.candidates[0].medianNanoseconds) * kWorthLeading;
    sortLeaders(at);
    // The best one in any case: without it nothing would say that the default is best.
    while (trials.size() > 2 &&
           static_cast<double>(at.tuned.candidates[trials.back().candidate].medianNanoseconds) > slowest)
      trials.pop_back();
    for (std::uint32_t round = 0; round < kRounds && trials.size() > 1; ++round)
      for (std::size_t i = 0; i < trials.size();) {
        Trial& trial = trials[i];
        const auto answer = at.measurer.sample(trial.candidate, runsPerRound(trial, at.tuned));
        if (answer) {
          trial.samples.insert(trial.samples.end(), answer->nanoseconds.begin(), answer->nanoseconds.end());
          ++i;
          continue;
        }
        if (answer.error().code == Code::kCancelled || trial.candidate == 0) return;
        at.tuned.candidates[trial.candidate] = unmeasured(at.tuned.candidates[trial.candidate].schedule);
        trials.erase(trials.begin() + static_cast<std::ptrdiff_t>(i));
      }
    if (trials.size() < 2) return;
    for (Trial& trial : trials)
      note(at.tuned.candidates[trial.candidate], timingOf(std::move(trial.samples)), State::kFinalist);
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
  Clock::time_point deadline_;        // of the kernel at hand
  std::vector<int> processors_;       // that measure
  std::vector<std::string> command_;  // of the program that measures on a device
  Machine machine_;
  std::uint64_t weightBytes_ = 0;  // that runs of a kernel go through
  TuningRecord record_;
};

}  // namespace

Result<TuningRecord> tune(const TuneRequest& request) {
  return Tuner(request).run();
}

}  // namespace kiln::tuner
