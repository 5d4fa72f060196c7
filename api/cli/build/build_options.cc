#include "api/cli/build/build_options.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "api/cli/base/duration_option.h"
#include "manifest/base/digest.h"
#include "manifest/base/nearest.h"
#include "manifest/spec/target.h"
#include "manifest/spec/target_device.h"

namespace kiln::cli {
namespace {

constexpr std::chrono::hours kMaxBudget{24};
constexpr std::chrono::hours kMaxDeadline{30 * 24};
}  // namespace

bool isForDevice(const std::string& target) {
  return std::ranges::any_of(targetNames(target),
                             [](const std::string& name) { return name.starts_with("cuda:"); });
}

Status checkTarget(const std::string& target) {
  const std::vector<std::string> served = servedTargets();
  for (const std::string& name : targetNames(target)) {
    if (std::ranges::find(served, name) != served.end()) continue;
    Error error = parseTarget(name).error().in("--target");
    error.code = Code::kInvalidArgument;
    error.message += orNearest(name, served);
    return fail(std::move(error));
  }
  const auto parsed = parseTarget(target);  // two GPUs, two architectures
  if (!parsed) return fail(parsed.error().in("--target"));
  return {};
}

Status readTuning(const std::string& tune, const std::string& budget, const std::vector<std::string>& targets,
                  DeliverySpec& delivery) {
  TuningRequest request{.search = tune == "search"};
  if (!request.search && !budget.empty())
    return fail(Code::kInvalidArgument, "--budget is of a search: it goes with --tune search");
  delivery.defaultSchedules = tune == "off";
  if (tune == "catalogue" || delivery.defaultSchedules) return {};
  if (!request.search && tune != "reuse")
    return fail(Code::kInvalidArgument, "--tune " + tune + ": must be catalogue, off, reuse or search");
  if (request.search && std::ranges::none_of(targets, isSearched))
    return fail(
        Code::kInvalidArgument,
        "--tune search: a farm measures kernels of processors and of Vulkan devices; leave it out for " +
            targets.front());
  if (!budget.empty()) {
    auto seconds = parseDuration(budget);
    if (!seconds) return fail(seconds.error().in("--budget"));
    if (*seconds > kMaxBudget) return fail(Code::kInvalidArgument, "--budget: a day at most");
    request.budgetSeconds = static_cast<std::uint32_t>(seconds->count());
  }
  delivery.tuning = request;
  return {};
}

Status readDeadline(const std::string& deadline, DeliverySpec& delivery) {
  if (deadline.empty()) return {};
  if (deadline.find('T') != std::string::npos) {
    const auto time = parseRfc3339(deadline);
    if (!time) return fail(time.error().in("--deadline"));
    delivery.deadline = *time;
    return {};
  }
  const auto seconds = parseDuration(deadline);
  if (!seconds)
    return fail(Code::kInvalidArgument,
                "--deadline \"" + deadline + "\": say how long, as 30m, or when, as 2026-11-26T18:00:00Z");
  if (*seconds > kMaxDeadline) return fail(Code::kInvalidArgument, "--deadline: 30 days at most");
  delivery.deadlineSeconds = static_cast<std::uint32_t>(seconds->count());
  return {};
}

Result<std::string> newIdempotencyKey() {
  std::array<std::uint8_t, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return fail(errnoError(errno, "getrandom"));
  }
  return toHex(bytes);
}

}  // namespace kiln::cli
