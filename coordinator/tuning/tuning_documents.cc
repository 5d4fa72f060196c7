#include "coordinator/tuning/tuning_documents.h"

#include "coordinator/farm/blob_io.h"
#include "coordinator/tuning/action_input.h"
#include "manifest/base/printable.h"
#include "manifest/json/json.h"
#include "manifest/spec/target_device.h"

namespace kiln::service {
namespace {

Status refuse(const std::string& what) {
  return fail(Code::kDataLoss, what);
}

Result<Json> readDocument(storage::BlobStore& blobs, const std::string& instance, const Digest& digest,
                          std::uint64_t limit, const char* name) {
  auto text = storage::getBlob(blobs, instance, digest, limit);
  if (!text) return fail(text.error().in(name));
  auto json = parseCanonicalJson(*text, {.bytes = limit});
  if (!json) return fail(json.error().in(name));
  return std::move(*json);
}

}  // namespace

Result<KernelPlan> readKernelPlan(storage::BlobStore& blobs, const std::string& instance,
                                  const Digest& digest) {
  KILN_ASSIGN(const Json json, readDocument(blobs, instance, digest, kMaxKernelPlanBytes, kKernelPlanFile));
  return KernelPlan::fromJson(json);
}

Result<KernelPlan> readKernelPlan(storage::BlobStore& blobs, const std::string& instance,
                                  const jobs::Outputs& outputs) {
  const jobs::OutputFile* file = outputs.find(kKernelPlanFile);
  if (!file) return fail(Code::kDataLoss, std::string("the outputs lack ") + kKernelPlanFile);
  KILN_ASSIGN(KernelPlan plan, readKernelPlan(blobs, instance, file->digest));
  for (const PlannedKernel& kernel : plan.kernels) {
    const jobs::OutputFile* module = outputs.find(moduleFile(kernel.signature));
    if (!module)
      return fail(Code::kDataLoss,
                  "the outputs lack " + moduleFile(kernel.signature) + ", which the plan lists");
    // A signature is the digest of its module, which the store has rehashed.
    if (module->digest.text() != kernel.signature)
      return fail(Code::kDataLoss, "the plan's module of kernel " + kernel.signature + " has the digest " +
                                       module->digest.text() + ": the plan is forged");
  }
  return plan;
}

Result<TuningRecord> readTuningRecord(storage::BlobStore& blobs, const std::string& instance,
                                      const Digest& digest) {
  KILN_ASSIGN(const Json json,
              readDocument(blobs, instance, digest, kMaxTuningRecordBytes, kTuningRecordFile));
  return TuningRecord::fromJson(json);
}

Result<TuningEntries> readTuningEntries(storage::BlobStore& blobs, const std::string& instance,
                                        const Digest& digest) {
  KILN_ASSIGN(const Json json,
              readDocument(blobs, instance, digest, kMaxTuningEntriesBytes, kTuningEntriesFile));
  return TuningEntries::fromJson(json);
}

Status takeKernelPlan(storage::BlobStore& blobs, const index::RunRecord& run, const jobs::Outputs& outputs) {
  KILN_ASSIGN(const KernelPlan plan, readKernelPlan(blobs, run.instance, outputs));
  if (plan.target == run.target) return {};
  return refuse("the kernel plan is for " + printable(plan.target, 100) + ", not for " + run.target);
}

Status takeTuningRecord(storage::BlobStore& blobs, const index::RunRecord& run,
                        const jobs::Outputs& outputs) {
  const jobs::OutputFile* file = outputs.find(kTuningRecordFile);
  if (!file || outputs.files.size() != 1)
    return refuse(std::string("the outputs are not ") + kTuningRecordFile + " alone");
  KILN_ASSIGN(const TuningRecord record, readTuningRecord(blobs, run.instance, file->digest));
  KILN_ASSIGN(const Digest plan, findInput(blobs, run.instance, run.action, kPlanInput));
  KILN_ASSIGN(const KernelPlan planned, readKernelPlan(blobs, run.instance, plan));
  KILN_TRY(checkRecord(record, planned));
  // Kernels for CUDA are not measured (manifest/spec/target_device.h); an emulated device decides nothing.
  const std::string leased = kiln::wantsDevice(run.target) ? "vulkan" : "cpu";
  if (record.device.kind != leased)
    return refuse("the tuning record is of a device of kind " + printable(record.device.kind, 32) +
                  ", but one of kind " + leased + " was leased");
  return {};
}

}  // namespace kiln::service
