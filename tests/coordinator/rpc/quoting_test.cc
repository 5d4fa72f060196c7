// What an answer quotes of a question has no character that moves a cursor or begins a line of its own.
#include "tests/coordinator/farm/farm_fixture.h"

namespace kiln::service {
namespace {

using namespace testing;

const char kEvil[] = "x\n\x1b[31mEVIL\xe2\x80\xae";

// An admitted toolchain, and a job.
class Quoting : public FarmTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(addToolchain(putToolchain()).ok());
    one_ = worker("w1");
    job_ = submitted(request("k1")).id();
  }
  // Asks, and looks at the refusal.
  template <class Stub, class Request, class Response>
  void refuses(Stub& stub, grpc::Status (Stub::*ask)(grpc::ClientContext*, const Request&, Response*),
               Request request) {
    request.set_instance("default");
    grpc::ClientContext context;
    Response response;
    const grpc::Status status = (stub.*ask)(&context, request, &response);
    EXPECT_FALSE(status.ok()) << request.ShortDebugString();
    isPlain(status.error_message(), request.ShortDebugString());
  }
  static void isPlain(const std::string& said, const std::string& question) {
    EXPECT_EQ(said.find("\x1b["), std::string::npos) << question << ": " << said;
    EXPECT_EQ(said.find("x\n"), std::string::npos) << question << ": " << said;
    EXPECT_EQ(said.find("\xe2\x80\xae"), std::string::npos) << question << ": " << said;
  }

  std::unique_ptr<testing_support::FakeWorker> one_;
  std::string job_;
};

TEST_F(Quoting, OfJobs) {
  using Stub = v1::JobService::Stub;
  v1::GetJobRequest get;
  get.set_id(kEvil);
  refuses(*jobStub_, &Stub::GetJob, get);
  refuses(*jobStub_, &Stub::CancelJob, get);
  v1::ListJobsRequest list;
  list.set_before(kEvil);
  refuses(*jobStub_, &Stub::ListJobs, list);
  v1::GetLogsRequest logs;
  logs.set_job(kEvil);
  refuses(*jobStub_, &Stub::GetLogs, logs);
  v1::GetOutputsRequest outputs;
  outputs.set_job(kEvil);
  refuses(*jobStub_, &Stub::GetOutputs, outputs);
  outputs.set_job(job_);
  outputs.set_worker(kEvil);
  refuses(*jobStub_, &Stub::GetOutputs, outputs);
  outputs.set_target(kEvil);
  refuses(*jobStub_, &Stub::GetOutputs, outputs);
  get.set_instance("default");
  grpc::ClientContext context;
  v1::Job seen;
  auto watched = jobStub_->WatchJob(&context, get);
  EXPECT_FALSE(watched->Read(&seen));
  isPlain(watched->Finish().error_message(), "WatchJob");
}

// Each member of a submission that is text.
TEST_F(Quoting, OfSubmissions) {
  const v1::SubmitJobRequest good = request("k2");
  const auto* fields = v1::SubmitJobRequest::descriptor();
  for (int i = 0; i < fields->field_count(); ++i) {
    const auto* field = fields->field(i);
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_STRING) continue;
    v1::SubmitJobRequest evil = good;
    if (field->is_repeated())
      evil.GetReflection()->AddString(&evil, field, kEvil);
    else
      evil.GetReflection()->SetString(&evil, field, kEvil);
    v1::Job job;
    const grpc::Status status = submit(evil, &job);
    isPlain(status.error_message(), std::string(field->name()));
  }
}

TEST_F(Quoting, OfToolchainsAndArtifacts) {
  v1::GetToolchainRequest toolchain;
  toolchain.set_name(kEvil);
  refuses(*toolchainStub_, &v1::ToolchainService::Stub::GetToolchain, toolchain);
  v1::AddToolchainRequest added;
  *added.mutable_toolchain_digest() = kiln::toProto(putToolchain());
  added.set_label(kEvil);
  refuses(*toolchainStub_, &v1::ToolchainService::Stub::AddToolchain, added);
  v1::GetArtifactRequest artifact;
  artifact.set_digest(kEvil);
  refuses(*artifactStub_, &v1::ArtifactService::Stub::GetArtifact, artifact);
}

// Each condition of the question that is text.
TEST_F(Quoting, OfAudits) {
  const auto* fields = v1::ListAffectedRequest::descriptor();
  for (int i = 0; i < fields->field_count(); ++i) {
    const auto* field = fields->field(i);
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_STRING) continue;
    if (field->name() == "instance") continue;
    for (const std::string& text : {std::string(kEvil), "sha256:" + std::string(kEvil)}) {
      v1::ListAffectedRequest question;
      question.GetReflection()->SetString(&question, field, text);
      question.set_instance("default");
      grpc::ClientContext context;
      v1::ListAffectedResponse answer;
      const grpc::Status status = auditStub_->ListAffected(&context, question, &answer);
      isPlain(status.error_message(), std::string(field->name()));
    }
  }
  v1::GetProvenanceRequest provenance;
  provenance.set_artifact(kEvil);
  refuses(*auditStub_, &v1::AuditService::Stub::GetProvenance, provenance);
}

}  // namespace
}  // namespace kiln::service
