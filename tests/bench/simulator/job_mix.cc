#include "tests/bench/simulator/job_mix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>

#include "storage/blob/instance_name.h"

namespace kiln::fleet {
namespace {

constexpr double kMostSeconds = 3600;
constexpr std::size_t kMostRecorded = 10'000'000;

}  // namespace

Result<JobMix> JobMix::make(const Options& options) {
  JobMix mix;
  mix.options_ = options;
  if (options.recorded.empty()) {
    for (int i = 1; i <= options.tenants; ++i) mix.tenants_.push_back("t" + std::to_string(i));
    return mix;
  }
  std::ifstream file(options.recorded);
  if (!file) return fail(Code::kNotFound, options.recorded + " cannot be read");
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line.resize(std::min(line.size(), line.find('#')));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    Recorded one;
    std::istringstream words(line);
    std::string rest;
    if (!(words >> one.job.tenant >> one.job.priority >> one.seconds) || words >> rest ||
        !storage::checkInstanceName(one.job.tenant) || one.seconds <= 0 || one.seconds > kMostSeconds ||
        std::abs(one.job.priority) > 100 || mix.recorded_.size() == kMostRecorded)
      return fail(Code::kInvalidArgument,
                  fmt::format("{}:{}: a line is TENANT PRIORITY SECONDS", options.recorded, number));
    auto& seconds = mix.recordedSeconds_[one.job.tenant];
    if (seconds.empty()) mix.tenants_.push_back(one.job.tenant);
    seconds.push_back(one.seconds);
    mix.recorded_.push_back(std::move(one));
  }
  if (mix.recorded_.empty()) return fail(Code::kInvalidArgument, options.recorded + " holds no job");
  return mix;
}

std::vector<MixedJob> JobMix::jobs(std::size_t count) const {
  std::vector<MixedJob> out;
  out.reserve(count);
  if (!recorded_.empty()) {
    for (std::size_t i = 0; i < count; ++i) out.push_back(recorded_[i % recorded_.size()].job);
    return out;
  }
  std::vector<double> shares;
  for (std::size_t i = 1; i <= tenants_.size(); ++i) shares.push_back(1.0 / static_cast<double>(i));
  std::mt19937_64 random(options_.seed);
  std::discrete_distribution<std::size_t> tenant(shares.begin(), shares.end());
  for (std::size_t i = 0; i < count; ++i) out.push_back({tenants_[tenant(random)], 0});
  return out;
}

double JobMix::secondsOf(const std::string& tenant, const std::string& actionHash) const {
  const std::size_t drawn = std::hash<std::string>()(actionHash) ^ options_.seed;
  if (const auto found = recordedSeconds_.find(tenant); found != recordedSeconds_.end())
    return found->second[drawn % found->second.size()];
  std::mt19937_64 random(drawn);
  std::lognormal_distribution<double> seconds(std::log(options_.runSeconds), options_.spread);
  return std::min(seconds(random), kMostSeconds);
}

}  // namespace kiln::fleet
