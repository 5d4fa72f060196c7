// What is submitted: whose it is, how urgent, and how long its actions take. Either drawn from a stated
// distribution, or as it was recorded.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "manifest/base/result.h"
#include "tests/bench/simulator/options.h"

namespace kiln::fleet {

struct MixedJob {
  std::string tenant;  // an instance
  int priority = 0;
};

// Thread safe once it is made.
class JobMix {
 public:
  // The stated distribution: tenants "t1" to "tN", of which the n-th submits 1/n as much as the first; one
  // priority; log-normal run times. Or the lines "TENANT PRIORITY SECONDS" of Options::recorded, in their
  // order, again from the beginning where there are too few; "#" begins a comment. kInvalidArgument names the
  // line that is none.
  static Result<JobMix> make(const Options& options);

  const std::vector<std::string>& tenants() const { return tenants_; }
  // As many as are wanted, in the order in which they came.
  std::vector<MixedJob> jobs(std::size_t count) const;
  // What an action of this digest takes. The same for each of its builders.
  double secondsOf(const std::string& tenant, const std::string& actionHash) const;

 private:
  struct Recorded {
    MixedJob job;
    double seconds = 0;
  };

  Options options_;
  std::vector<std::string> tenants_;
  std::vector<Recorded> recorded_;
  std::map<std::string, std::vector<double>> recordedSeconds_;  // by tenant
};

}  // namespace kiln::fleet
