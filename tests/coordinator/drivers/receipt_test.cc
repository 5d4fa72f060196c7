// A result is kept only if the worker's signed receipt says the same as its report, about this very lease.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/coordinator/farm/farm_fixture.h"

namespace kiln::service {
namespace {

using namespace testing;

class ReceiptAndReport : public FarmTest {
 protected:
  ReceiptAndReport() {
    EXPECT_TRUE(addToolchain(putToolchain()).ok());
    one_ = worker("w1");
  }

  static signing::Receipt honestReceipt(const v1::Lease& lease, const v1::Finished& report) {
    signing::Receipt out;
    out.action = fromProto(lease.action()).value();
    out.lease = lease.id();
    out.epoch = lease.epoch();
    out.exitCode = report.result().exit_code();
    for (const auto& file : report.result().output_files())
      out.outputs.push_back({file.path(), fromProto(file.digest()).value()});
    return out;
  }

  // The reason for which the farm refused the first report of a job, whose receipt and report `change` made
  // unlike; "" if it was kept.
  std::string refusal(std::function<void(signing::Receipt&, v1::Finished&)> change) {
    const std::string key = fmt::format("k{}", ++jobs_made_);
    const v1::Job job = submitted(request(key, 1, "model of " + key));
    const auto identity = signing::WorkerIdentity::load(directory_ / "w1.pem", directory_ / "w1.key").value();
    one_->forge = [&](const v1::Lease& lease, v1::Finished& report) {
      signing::Receipt receipt = honestReceipt(lease, report);
      receipt.sandboxPolicy = digestOf(one_->sandboxPolicy);
      change(receipt, report);
      report.set_receipt_json(identity.sign(receipt).value());
    };
    const std::vector<v1::Lease> leases = one_->poll();
    EXPECT_FALSE(leases.empty());
    for (const v1::Lease& lease : leases) EXPECT_TRUE(one_->synchronize({one_->run(lease).value()}));
    one_->forge = nullptr;
    auto attempts = pool_.execute(
        "SELECT a.error FROM attempts a JOIN runs r ON r.instance = a.instance AND r.id = a.run_id WHERE "
        "r.job_id = $1 AND a.outcome <> '' ORDER BY a.run_id",
        {job.id()});
    const int kept =
        pool_.execute("SELECT 1 FROM action_results WHERE job_id = $1", {job.id()}).value().size();
    const auto errors =
        attempts->map([](const postgres::Row& row) { return row.get<std::string>("error"); }).value();
    EXPECT_FALSE(errors.empty());
    EXPECT_EQ(kept == 0, !errors.empty() && !errors.front().empty()) << "kept, or refused with a reason";
    // Nothing of this job is left for the next poll.
    EXPECT_TRUE(pool_.execute("UPDATE runs SET state = 4 WHERE job_id = $1", {job.id()}));
    return errors.empty() ? "no attempt ended" : errors.front();
  }

  std::unique_ptr<testing_support::FakeWorker> one_;
  int jobs_made_ = 0;
};

using ::testing::HasSubstr;

TEST_F(ReceiptAndReport, OneThatSaysTheSameIsKept) {
  EXPECT_EQ(refusal([](signing::Receipt&, v1::Finished&) {}), "");
}

TEST_F(ReceiptAndReport, OneAboutAnotherLeaseIsRefused) {
  const auto other = HasSubstr("the receipt is about another lease or action");
  EXPECT_THAT(refusal([](signing::Receipt& receipt, v1::Finished&) { ++receipt.epoch; }), other);
  EXPECT_THAT(refusal([](signing::Receipt& receipt, v1::Finished&) { --receipt.epoch; }), other);
  EXPECT_THAT(refusal([](signing::Receipt& receipt, v1::Finished&) { receipt.epoch = 0; }), other);
  EXPECT_THAT(refusal([](signing::Receipt& receipt, v1::Finished&) { receipt.lease += "0"; }), other);
  EXPECT_THAT(refusal([](signing::Receipt& receipt, v1::Finished&) { receipt.lease = "1"; }), other);
  EXPECT_THAT(refusal([](signing::Receipt& receipt, v1::Finished&) { receipt.action = digestOf("x"); }),
              other);
}

TEST_F(ReceiptAndReport, AnotherExitCodeIsRefused) {
  const auto other = HasSubstr("the receipt has another exit code than the report");
  EXPECT_THAT(refusal([](signing::Receipt& receipt, v1::Finished&) { receipt.exitCode = 1; }), other)
      << "signed as a failure, reported as a success";
  EXPECT_THAT(
      refusal([](signing::Receipt&, v1::Finished& report) { report.mutable_result()->set_exit_code(1); }),
      other)
      << "signed as a success, reported as a failure";
  EXPECT_THAT(refusal([](signing::Receipt& receipt, v1::Finished& report) {
                receipt.exitCode = 3;
                report.mutable_result()->set_exit_code(4);
              }),
              other);
}

TEST_F(ReceiptAndReport, OtherOutputsAreRefused) {
  const auto other = HasSubstr("the receipt lists other outputs than the report");
  EXPECT_THAT(refusal([](signing::Receipt& receipt, v1::Finished&) { receipt.outputs.pop_back(); }), other);
  EXPECT_THAT(refusal([](signing::Receipt& receipt, v1::Finished&) {
                receipt.outputs.push_back({"output/zzz", digestOf("more")});
              }),
              other);
  EXPECT_THAT(refusal([](signing::Receipt& receipt, v1::Finished&) {
                receipt.outputs.front().digest = digestOf("other");
              }),
              other);
  EXPECT_THAT(refusal([](signing::Receipt& receipt, v1::Finished&) { receipt.outputs.back().path += "z"; }),
              other);
  EXPECT_THAT(refusal([](signing::Receipt&, v1::Finished& report) {
                report.mutable_result()->mutable_output_files()->RemoveLast();
              }),
              other);
}

// What it ran under must be there to be read.
TEST_F(ReceiptAndReport, ASandboxPolicyThatNobodyUploadedIsRefused) {
  EXPECT_THAT(refusal([](signing::Receipt& receipt, v1::Finished&) {
                receipt.sandboxPolicy = digestOf("no such policy");
              }),
              HasSubstr("the receipt's sandbox policy"));
}

}  // namespace
}  // namespace kiln::service
