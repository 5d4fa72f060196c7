#include "manifest/tuning/kernel_plan.h"

#include <algorithm>

#include "manifest/tuning/schedule_json.h"

namespace kiln {
namespace {

constexpr std::size_t kMaxKnobValues = 4096;

using Knobs = decltype(PlannedKernel::knobs);

Result<Knobs> readKnobs(ObjectReader& parent) {
  KILN_ASSIGN(const Json* json, parent.any("knobs"));
  const std::string place = parent.path("knobs");
  if (!json->is_object()) return badMember(place, "must be an object");
  Knobs knobs;
  for (const auto& [name, values] : json->items()) {
    if (!values.is_array() || values.empty() || values.size() > kMaxKnobValues)
      return badMember(place, "a knob must have 1 to 4096 values");
    for (const Json& value : values) {
      KILN_ASSIGN(std::vector<std::int64_t> read, readKnob(value, place));
      if (const Status good = checkSchedule({{name, read}}); !good)
        return badMember(place, good.error().message);
      knobs[name].push_back(std::move(read));
    }
  }
  return knobs;
}

tl::unexpected<Error> bad(const PlannedKernel& kernel, const std::string& what) {
  return fail(Code::kInvalidArgument, "kernel " + kernel.signature + ": " + what);
}

}  // namespace

std::string moduleFile(std::string_view signature) {
  return "kernels/" + std::string(signature.substr(signature.find(':') + 1)) + ".mlir";
}

Status checkKnobs(const Schedule& schedule, const PlannedKernel& kernel) {
  for (const auto& [name, values] : schedule) {
    const auto knob = kernel.knobs.find(name);
    if (knob == kernel.knobs.end())
      return bad(kernel, "its template " + kernel.templateName + " has no knob " + name);
    if (std::ranges::find(knob->second, values) == knob->second.end())
      return bad(kernel, "the knob " + text(Schedule{{name, values}}) + " is outside of what the plan lists");
  }
  for (const auto& [name, values] : kernel.knobs)
    if (!schedule.contains(name)) return bad(kernel, "the knob " + name + " is missing");
  return {};
}

const PlannedKernel* KernelPlan::find(std::string_view signature) const {
  const auto at = std::ranges::lower_bound(kernels, signature, {}, &PlannedKernel::signature);
  return at != kernels.end() && at->signature == signature ? &*at : nullptr;
}

Json KernelPlan::toJson() const {
  Json list = Json::array();
  for (const PlannedKernel& kernel : kernels) {
    list.push_back({{"signature", kernel.signature},
                    {"template", kernel.templateName},
                    {"nodes", kernel.nodes},
                    {"count", std::to_string(kernel.count)},
                    {"work", std::to_string(kernel.work)},
                    {"schedule", scheduleJson(kernel.schedule)},
                    {"knobs", kernel.knobs}});
    if (kernel.catalogue) list.back()["catalogue"] = scheduleJson(*kernel.catalogue);
  }
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
    KILN_ASSIGN(kernel.knobs, readKnobs(member));
    if (member.has("catalogue")) {
      KILN_ASSIGN(kernel.catalogue, readSchedule(member, "catalogue"));
    }
    KILN_TRY(member.finish());
    if (const Status good = checkKnobs(kernel.schedule, kernel); !good)
      return badMember(place + ".schedule", good.error().message);
    if (kernel.catalogue)
      if (const Status good = checkKnobs(*kernel.catalogue, kernel); !good)
        return badMember(place + ".catalogue", good.error().message);
    if (!plan.kernels.empty() && kernel.signature <= plan.kernels.back().signature)
      return badMember(place + ".signature", "must come after the signature before it");
    plan.kernels.push_back(std::move(kernel));
  }
  KILN_TRY(reader.finish());
  return plan;
}

}  // namespace kiln
