#include "manifest/tuning/kernel_plan.h"

#include <algorithm>

#include "manifest/tuning/schedule_json.h"

namespace kiln {

const PlannedKernel* KernelPlan::find(std::string_view signature) const {
  const auto at = std::ranges::lower_bound(kernels, signature, {}, &PlannedKernel::signature);
  return at != kernels.end() && at->signature == signature ? &*at : nullptr;
}

Json KernelPlan::toJson() const {
  Json list = Json::array();
  for (const PlannedKernel& kernel : kernels)
    list.push_back({{"signature", kernel.signature},
                    {"template", kernel.templateName},
                    {"nodes", kernel.nodes},
                    {"count", std::to_string(kernel.count)},
                    {"work", std::to_string(kernel.work)},
                    {"schedule", scheduleJson(kernel.schedule)}});
  return {
      {"apiVersion", "kiln/v1"}, {"kind", "KernelPlan"}, {"target", target}, {"kernels", std::move(list)}};
}

Result<KernelPlan> KernelPlan::fromJson(const Json& json) {
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, "plan"));
  KILN_TRY(reader.expect("apiVersion", "kiln/v1"));
  KILN_TRY(reader.expect("kind", "KernelPlan"));
  KernelPlan plan;
  KILN_ASSIGN(plan.target, reader.string("target"));
  KILN_ASSIGN(const Json* kernels, reader.array("kernels"));
  if (kernels->size() > kMaxPlannedKernels) return badMember(reader.path("kernels"), "more than 65536");
  for (const Json& one : *kernels) {
    const std::string place = reader.path("kernels") + "[" + std::to_string(plan.kernels.size()) + "]";
    KILN_ASSIGN(ObjectReader member, ObjectReader::open(one, place));
    PlannedKernel kernel;
    KILN_ASSIGN(kernel.signature, readHash(member, "signature"));
    KILN_ASSIGN(kernel.templateName, readTemplate(member));
    KILN_ASSIGN(kernel.nodes, member.strings("nodes"));
    KILN_ASSIGN(kernel.count, member.unsigned64("count"));
    if (kernel.count == 0) return badMember(member.path("count"), "must be at least 1");
    KILN_ASSIGN(kernel.work, member.unsigned64("work"));
    KILN_ASSIGN(kernel.schedule, readSchedule(member, "schedule"));
    KILN_TRY(member.finish());
    if (!plan.kernels.empty() && kernel.signature <= plan.kernels.back().signature)
      return badMember(place + ".signature", "must come after the signature before it");
    plan.kernels.push_back(std::move(kernel));
  }
  KILN_TRY(reader.finish());
  return plan;
}

}  // namespace kiln
