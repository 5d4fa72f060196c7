#include "worker/agent/traced_runner.h"

namespace kiln::agent {
namespace {

// A tool names its stages as it likes: no more of them than this become spans.
constexpr std::size_t kMaxStages = 64;

// The stages of one action, one after another.
class Stages {
 public:
  Stages(tracing::SpanSink& sink, const std::optional<tracing::SpanContext>& action, const Clock& clock)
      : sink_(sink), action_(action), clock_(clock) {
    current_.emplace(&sink_, action_, "inputs", clock_);
  }
  void begin(const std::string& stage) {
    if (++begun_ > kMaxStages) return;
    current_.emplace(&sink_, action_, "stage", clock_);
    current_->note("kiln.stage", stage);
  }

 private:
  tracing::SpanSink& sink_;
  const std::optional<tracing::SpanContext>& action_;
  const Clock& clock_;
  std::optional<tracing::Scope> current_;
  std::size_t begun_ = 0;
};

}  // namespace

Result<Outcome> TracedRunner::run(const v1::Lease& lease, int slot, const sandbox::Cancel& cancel,
                                  const std::function<void(const std::string&)>& onStage) {
  const auto parent = tracing::parseTraceparent(lease.traceparent());
  tracing::Scope action(&sink_, parent, "action", clock_);
  if (!action.on()) return inner_.run(lease, slot, cancel, onStage);
  action.note("kiln.kind", v1::ActionKind_Name(lease.kind()));
  action.note("kiln.instance", lease.instance());
  action.note("kiln.job", lease.job());
  action.note("kiln.action", lease.action().hash());
  action.note("kiln.slot", std::to_string(slot));
  const auto context = action.context();
  Result<Outcome> result = [&] {
    Stages stages(sink_, context, clock_);
    return inner_.run(lease, slot, cancel, [&](const std::string& stage) {
      stages.begin(stage);
      onStage(stage);
    });
  }();
  if (!result)
    action.failed(result.error().message);
  else if (result->result.exit_code() != 0)
    action.failed("the tool ended with " + std::to_string(result->result.exit_code()));
  return result;
}

}  // namespace kiln::agent
