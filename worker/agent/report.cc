#include "worker/agent/report.h"

#include "storage/tree/digest_proto.h"
#include "worker/executor/termination.h"

namespace kiln::agent {
namespace {

Result<std::string> receiptFor(const v1::Lease& lease, const Outcome& outcome,
                               const signing::WorkerIdentity& identity) {
  signing::Receipt receipt;
  KILN_ASSIGN(receipt.action, fromProto(lease.action()));
  receipt.lease = lease.id();
  receipt.epoch = lease.epoch();
  receipt.exitCode = outcome.result.exit_code();
  receipt.sandboxPolicy = outcome.sandboxPolicy;
  for (const auto& file : outcome.result.output_files()) {
    KILN_ASSIGN(const Digest digest, fromProto(file.digest()));
    receipt.outputs.push_back({file.path(), digest});
  }
  // Foreign actions alone leave more than files.
  for (const auto& directory : outcome.result.output_directories()) {
    KILN_ASSIGN(const Digest digest, nameOf(directory));
    receipt.outputs.push_back({directory.path(), digest});
  }
  for (const auto* links : {&outcome.result.output_symlinks(), &outcome.result.output_file_symlinks(),
                            &outcome.result.output_directory_symlinks()})
    for (const auto& link : *links) receipt.outputs.push_back({link.path(), digestOf(link.target())});
  std::sort(receipt.outputs.begin(), receipt.outputs.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
  return identity.sign(std::move(receipt));
}

}  // namespace

v1::Finished makeReport(const v1::Lease& lease, Result<Outcome> outcome,
                        const signing::WorkerIdentity& identity) {
  v1::Finished report;
  const auto failed = [&](const Error& error, bool again) {
    report.clear_result();
    report.set_error_code(static_cast<int>(error.code));
    report.set_error_message(error.message);
    report.set_retryable(again);
    return report;
  };
  // A cancelled action that still has someone to report to was ended by this worker's own end.
  if (!outcome && outcome.error().code == Code::kCancelled) {
    return failed({Code::kUnavailable, "ended early: the worker is shutting down or the lease was withdrawn"},
                  true);
  }
  if (!outcome) return failed(outcome.error(), executor::retryable(outcome.error()));
  auto receipt = receiptFor(lease, *outcome, identity);
  if (!receipt) return failed(receipt.error().in("receipt"), false);
  *report.mutable_result() = std::move(outcome->result);
  report.set_receipt_json(std::move(*receipt));
  return report;
}

}  // namespace kiln::agent
