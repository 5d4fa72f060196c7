#include "coordinator/drivers/check_report.h"

#include <algorithm>
#include <tuple>

#include "coordinator/drivers/leased_device.h"
#include "manifest/artifact/media_types.h"
#include "manifest/base/printable.h"
#include "manifest/statement/check_statement.h"
#include "storage/index/artifacts/artifact_repository.h"
#include "storage/index/jobs/job_repository.h"

namespace kiln::service {
namespace {

using postgres::Connection;

constexpr std::size_t kMaxName = 128;  // of what workers advertise

Status refuse(const std::string& why) {
  return fail(Code::kDataLoss, "the check's report: " + why);
}

Result<bool> hasKernels(Connection& connection, const index::RunRecord& run) {
  KILN_ASSIGN(auto job, index::loadJob(connection, {run.instance, run.jobId}, index::Evidence::kWithout));
  if (!job) return fail(Code::kNotFound, "the run's job is gone");
  const auto target = std::ranges::find(job->targets, run.target, &index::TargetRecord::target);
  if (target == job->targets.end() || !target->artifact)
    return fail(Code::kInternal, "a check of what is not published");
  KILN_ASSIGN(auto artifact, index::loadArtifact(connection, run.instance, *target->artifact));
  if (!artifact) return fail(Code::kNotFound, "artifact " + target->artifact->text() + " is gone");
  return std::ranges::any_of(artifact->files, isKernelsMediaType, &index::FileRecord::mediaType);
}

}  // namespace

Status checkDevice(const Json& report, const v1::Device* gpu, bool hasKernels) {
  auto named = checkedGpu(report);
  if (!named) return refuse(named.error().message);
  if (!*named) {
    if (!hasKernels) return {};
    return refuse("it names no GPU (device.gpu), but the artifact has kernels for one");
  }
  if (!hasKernels || gpu == nullptr)
    return refuse(
        "it names the GPU " + inQuotes((*named)->name) +
        (gpu == nullptr ? ", but the lease named none" : ", but the artifact has no kernels for one"));
  const std::string leased = ", but the device leased, " + gpu->id() + ", ";
  if (printable((*named)->name, kMaxName) != gpu->name())
    return refuse("it names the GPU " + inQuotes((*named)->name) + leased + "is " + inQuotes(gpu->name()));
  if ((*named)->arch.empty() || (*named)->arch != gpu->arch())
    return refuse("it states " + printable((*named)->version, 64) + leased + "is " + gpu->arch());
  for (const auto& [what, stated, advertised] :
       {std::tuple("type", &(*named)->type, &gpu->type()),
        {"driver", &(*named)->driver, &gpu->driver()},
        {"conformance", &(*named)->conformance, &gpu->conformance()}})
    if (gpu->api() == "vulkan" && printable(*stated, kMaxName) != *advertised)
      return refuse(std::string("it states the ") + what + " " + inQuotes(*stated) + leased + "has " +
                    inQuotes(*advertised));
  if (saysEmulated(report) != gpu->emulated())
    return refuse(std::string("it is of ") + (saysEmulated(report) ? "an emulated" : "a real") + " device" +
                  leased + (gpu->emulated() ? "is emulated" : "is not"));
  return {};
}

Status takeCheckReport(postgres::Pool& database, const index::RunRecord& run, std::string_view text) {
  KILN_ASSIGN(const Json report, parseCanonicalJson(text));
  KILN_TRY(checkReport(report));
  KILN_ASSIGN(auto connection, database.acquire());
  KILN_ASSIGN(const auto gpu, leasedGpu(*connection, run));
  KILN_ASSIGN(const bool kernels, hasKernels(*connection, run));
  // Nothing that ran on an emulated device may pass for more. A program without kernels for it ran on none.
  if (run.emulated && kernels && !saysEmulated(report))
    return refuse("the check was to run on an emulated device, but it does not say so");
  return checkDevice(report, gpu ? &*gpu : nullptr, kernels);
}

}  // namespace kiln::service
