// What auditors ask, drawn anew each round.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "storage/index/audit/affected.h"
#include "storage/postgres/connection.h"
#include "tests/bench/audit/generate.h"

namespace kiln::bench {

inline constexpr int kPage = 50;

// Draws what to ask for; every round something else, the popular and the rare alike.
class Draw {
 public:
  explicit Draw(std::int64_t artifacts) : artifacts_(artifacts) {}
  int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }
  Digest artifact() {
    return digestNamed("artifact " + std::to_string(1 + random_() % static_cast<std::uint64_t>(artifacts_)));
  }
  index::AnyOf anyArtifact() { return {{index::MentionKind::kArtifact, artifact()}}; }
  index::AnyOf tree() {
    return {{index::MentionKind::kToolchain, digestNamed("tree " + std::to_string(below(kToolchains)))}};
  }
  index::AnyOf model() {
    return {{index::MentionKind::kInput, digestNamed("model " + std::to_string(below(kModels)))}};
  }
  index::AnyOf popularModel() {
    return {{index::MentionKind::kInput, digestNamed("model " + std::to_string(below(10)))}};
  }
  index::AnyOf repository() { return text(index::MentionKind::kSource, repositoryOf(below(kRepositories))); }
  index::AnyOf commit() {
    return text(index::MentionKind::kSource, commitOf(below(kRepositories), below(50)));
  }
  index::AnyOf worker() {
    return text(index::MentionKind::kWorker, "worker-" + std::to_string(below(kWorkers)));
  }
  index::AnyOf operatorName() {
    return text(index::MentionKind::kOperator, "operator-" + std::to_string(below(kOperators)));
  }
  index::AnyOf key() {
    return {{index::MentionKind::kKey, digestNamed("key " + std::to_string(below(kKeys)))}};
  }
  index::AnyOf submitter() {
    return text(index::MentionKind::kSubmitter, "submitter-" + std::to_string(below(kSubmitters)));
  }
  index::AnyOf device() {
    return text(index::MentionKind::kDevice, "device-" + std::to_string(below(kDevices)));
  }
  index::AnyOf target() { return text(index::MentionKind::kTarget, targetOf(below(kTargets))); }
  // A day to a month somewhere in the time that was generated.
  void window(index::AffectedQuery& query) {
    const auto length = std::chrono::hours(24 * (1 + below(30)));
    const auto all = std::chrono::seconds(artifacts_ * kSecondsApart);
    const TimePoint start = parseRfc3339("2026-01-01T00:00:00Z").value();
    query.since = start + std::chrono::seconds(random_() % static_cast<std::uint64_t>(all.count()));
    query.until = *query.since + length;
  }

 private:
  static index::AnyOf text(index::MentionKind kind, const std::string& value) {
    return {{kind, index::textValue(value)}};
  }
  const std::int64_t artifacts_;
  std::mt19937_64 random_{7};
};

struct Question {
  std::string name;
  // Entries found on the first page.
  std::function<Result<std::size_t>(postgres::Connection&, Draw&)> ask;
  // Of those whose plan can be shown.
  std::function<Result<index::AffectedQuery>(postgres::Connection&, Draw&)> query;
};
std::vector<Question> questions();

}  // namespace kiln::bench
