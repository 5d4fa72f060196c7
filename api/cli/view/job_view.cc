#include "api/cli/view/job_view.h"

#include "api/cli/base/progress.h"
#include "api/client/rpc_error.h"
#include "manifest/base/clock.h"

namespace kiln::cli {

std::string timeText(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0) return "";
  return rfc3339(TimePoint(std::chrono::duration_cast<Duration>(std::chrono::seconds(time.seconds()))));
}

Json builderJson(const v1::BuilderResult& builder) {
  return {{"worker", builder.worker()},   {"operator", builder.operator_()}, {"exit", builder.exit_code()},
          {"outputs", builder.outputs()}, {"disputed", builder.disputed()},  {"job", builder.job()}};
}

Json jobJson(const v1::Job& job) {
  Json actions = Json::array(), artifacts = Json::array();
  for (const auto& action : job.actions()) {
    Json builders = Json::array();
    for (const auto& builder : action.builders()) builders.push_back(builderJson(builder));
    actions.push_back({{"kind", actionKindName(action.kind())},
                       {"target", action.target()},
                       {"action", action.action().hash()},
                       {"state", action.state()},
                       {"stage", action.stage()},
                       {"worker", action.worker()},
                       {"attempt", action.attempt()},
                       {"builders", std::move(builders)}});
  }
  for (const auto& artifact : job.artifacts()) {
    Json builders = Json::array();
    for (const auto& builder : artifact.builders()) builders.push_back(builder);
    artifacts.push_back({{"target", artifact.target()},
                         {"digest", artifact.digest()},
                         {"cached", artifact.cached()},
                         {"builders", std::move(builders)}});
  }
  Json out{{"id", job.id()},
           {"instance", job.instance()},
           {"state", jobStateName(job.state())},
           {"model", job.model_name()},
           {"submitted", timeText(job.submitted())},
           {"ended", timeText(job.ended())},
           {"toolchain",
            {{"label", job.toolchain_label()}, {"digest", "sha256:" + job.toolchain_digest().hash()}}},
           {"actions", std::move(actions)},
           {"artifacts", std::move(artifacts)}};
  if (job.has_error()) {
    const auto error = client::jobError(job.error());
    out["error"] = {
        {"code", codeName(error.code)}, {"message", error.message}, {"exitCode", job.error().exit_code()}};
    if (auto details = parseJson(job.error().details_json()); details && !details->empty()) {
      out["error"]["details"] = std::move(*details);
    }
  }
  return out;
}

Status jobOutcome(const v1::Job& job) {
  switch (job.state()) {
    case v1::JOB_SUCCEEDED:
      return {};
    case v1::JOB_CANCELLED:
      return fail(Code::kCancelled, "job " + job.id() + " was cancelled");
    case v1::JOB_FAILED:
      if (job.has_error()) return fail(client::jobError(job.error()));
      return fail(Code::kInternal,
                  "job " + job.id() + " failed and does not say why; see the coordinator's log");
    default:
      return fail(Code::kUnavailable, "job " + job.id() + " has not ended; kiln watch " + job.id());
  }
}

}  // namespace kiln::cli
