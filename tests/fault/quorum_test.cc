// What k builders are for: a compiler that is not deterministic, workers that lie, and a coordinator that
// invents builders, against the real coordinator and the real signer.
#include <array>
#include <filesystem>

#include "manifest/json/json.h"
#include "manifest/spec/delivery_spec.h"
#include "manifest/statement/provenance.h"
#include "signing/bundle/bundle.h"
#include "signing/client/signer_client.h"
#include "signing/receipt/receipt.h"
#include "tests/fault/worker_processes.h"
#include "tests/support/fake_worker.h"
#include "tests/support/sample_spec.h"

namespace kiln::fault {
namespace {

using testing_support::FakeWorker;
using testing_support::ToolOutcome;

// A program of its own, with the evidence and the manifest that go with it.
void otherBytes(const v1::Lease& lease, ToolOutcome& outcome) {
  if (lease.kind() != v1::ACTION_COMPILE) return;
  outcome.files["program.so"] = "planted";
  Json evidence = parseStrictJson(outcome.files["evidence.json"]).value();
  Json manifest = parseStrictJson(outcome.files["manifest.json"]).value();
  const CompileSpec spec = CompileSpec::fromJson(manifest["spec"]).value();
  const Digest planted = digestOf(std::string_view("planted"));
  evidence["program"]["file"]["digest"] = planted.text();
  evidence["program"]["file"]["size"] = std::to_string(planted.size);
  outcome.files["evidence.json"] = toCanonicalJson(evidence).value();
  outcome.files["manifest.json"] = toCanonicalJson(makeManifest(spec, evidence).value().toJson()).value();
}

class Quorum : public ::testing::Test {
 protected:
  Quorum() {
    farm.startCoordinator();
    EXPECT_TRUE(farm.ready()) << farm.log();
  }

  std::unique_ptr<FakeWorker> worker(const std::string& name, const std::string& operatorName = "op") {
    auto out = std::make_unique<FakeWorker>(farm.channel_, *farm.blobs_, farm.authority_,
                                            farm.directory_.path(), name, operatorName, farm.clock_.now());
    EXPECT_TRUE(out->synchronize({}));
    return out;
  }
  v1::SubmitJobRequest request(const std::string& key, const DeliverySpec& delivery) {
    v1::SubmitJobRequest out = farm.request(key);
    out.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
    return out;
  }
  v1::Job submitted(const v1::SubmitJobRequest& request) {
    v1::Job job;
    grpc::Status status = farm.submit(request, &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return job;
  }
  // The workers work until the job has ended.
  v1::Job settled(const std::string& id, std::initializer_list<FakeWorker*> workers) {
    v1::Job job;
    EXPECT_TRUE(eventually([&] {
      for (FakeWorker* worker : workers) EXPECT_TRUE(worker->work());
      return ended(job = farm.get(id));
    })) << farm.log();
    return job;
  }
  v1::BuilderOutputs outputs(const std::string& job, const std::string& worker) {
    v1::GetOutputsRequest request;
    request.set_instance("default");
    request.set_job(job);
    request.set_worker(worker);
    grpc::ClientContext context;
    v1::BuilderOutputs out;
    grpc::Status status = farm.jobs_->GetOutputs(&context, request, &out);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }
  std::string fileOf(const v1::BuilderOutputs& outputs, const std::string& path) {
    for (const auto& file : outputs.files())
      if (file.path() == path)
        return storage::getBlob(*farm.blobs_, "default", *fromProto(file.digest()), 1 << 20).value();
    ADD_FAILURE() << path << " is not among the outputs";
    return {};
  }
  std::vector<v1::BuilderResult> buildersOf(const v1::Job& job) {
    for (const auto& action : job.actions())
      if (action.kind() == v1::ACTION_COMPILE) return {action.builders().begin(), action.builders().end()};
    return {};
  }
  std::string statementOf(const v1::Job& job) {
    v1::GetArtifactRequest request;
    request.set_instance("default");
    request.set_digest(job.artifacts(0).digest());
    grpc::ClientContext context;
    v1::Artifact artifact;
    EXPECT_TRUE(v1::ArtifactService::NewStub(farm.channel_)->GetArtifact(&context, request, &artifact).ok());
    manifestSize = static_cast<std::uint64_t>(artifact.manifest().size_bytes());
    auto text = storage::getBlob(*farm.blobs_, "default", *fromProto(artifact.bundles(0)), 1 << 20).value();
    auto bundle = signing::parseBundle(text).value();
    EXPECT_TRUE(signing::verifyEnvelope(bundle.envelope, std::array{farm.key_.publicKey()}));
    return bundle.envelope.payload;
  }
  static Provenance provenanceIn(const std::string& statement) {
    return Provenance::fromJson(parseStatement(statement).value().predicate).value();
  }

  testing_support::PostgresServer& postgres = testing_support::PostgresServer::shared();
  FarmProcesses farm{postgres};
  std::uint64_t manifestSize = 0;
};

TEST_F(Quorum, ACompilerThatIsNotDeterministicEndsWithNine) {
  ASSERT_TRUE(farm.addToolchain(readFile(KILN_BIN "/kiln-unsteady-cc")));
  Workers workers(farm);
  ASSERT_TRUE(workers.registered()) << workers.log("w1");
  v1::Job job = submitted(farm.request("k", 2));
  ASSERT_TRUE(eventually([&] { return ended(job = farm.get(job.id())); })) << farm.log();
  EXPECT_EQ(job.state(), v1::JOB_FAILED);
  EXPECT_EQ(job.error().exit_code(), 9) << job.error().message();
  EXPECT_NE(job.error().message().find("evidence.json"), std::string::npos) << job.error().message();
  EXPECT_EQ(job.artifacts(0).digest(), "");
  EXPECT_EQ(farm.count("artifacts"), 0);
  auto builders = buildersOf(job);
  ASSERT_EQ(builders.size(), 2u);
  EXPECT_TRUE(builders[0].disputed() && builders[1].disputed());
  EXPECT_NE(builders[0].outputs(), builders[1].outputs());
  EXPECT_NE(fileOf(outputs(job.id(), "w1"), "evidence.json"),
            fileOf(outputs(job.id(), "w2"), "evidence.json"))
      << "what each left can be looked at";
}

TEST_F(Quorum, OtherBytesFailTheJobOrAreOutvoted) {
  ASSERT_TRUE(farm.addToolchain());
  auto liar = worker("liar"), one = worker("w1"), two = worker("w2");
  liar->tamper = otherBytes;
  v1::Job job = submitted(request("all", {.builders = 3}));
  job = settled(job.id(), {liar.get(), one.get(), two.get()});
  EXPECT_EQ(job.error().exit_code(), 9) << job.error().message();
  EXPECT_NE(job.error().message().find("program.so"), std::string::npos) << job.error().message();
  EXPECT_EQ(farm.count("artifacts"), 0);

  job = submitted(request("most", {.builders = 3, .majority = true}));
  job = settled(job.id(), {liar.get(), one.get(), two.get()});
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  Provenance provenance = provenanceIn(statementOf(job));
  ASSERT_EQ(provenance.builders.size(), 2u);
  for (const Builder& builder : provenance.builders) EXPECT_NE(builder.worker, "liar");
  int dissents = 0;
  for (const Material& material : provenance.byproducts)
    if (material.name == kDissentByproduct) {
      ++dissents;
      EXPECT_EQ(material.annotations.at("worker"), "liar");
    }
  EXPECT_EQ(dissents, 1) << "what is signed says that not all agreed";
  for (const v1::BuilderResult& builder : buildersOf(job))
    EXPECT_EQ(builder.disputed(), builder.worker() == "liar") << builder.worker();
  EXPECT_EQ(fileOf(outputs(job.id(), "liar"), "program.so"), "planted");
  EXPECT_EQ(fileOf(outputs(job.id(), "w1"), "program.so"), testing_support::kSampleProgram);
}

TEST_F(Quorum, Case01DigestsOfNothingAreRefusedAndOthersBuild) {
  ASSERT_TRUE(farm.addToolchain());
  auto liar = worker("liar");
  liar->forge = [&](const v1::Lease&, v1::Finished& report) {
    *report.mutable_result()->mutable_output_files(0)->mutable_digest() =
        toProto(digestOf(std::string_view("never uploaded")));
  };
  v1::Job job = submitted(farm.request("k"));
  ASSERT_TRUE(liar->work());
  EXPECT_EQ(farm.count("action_results"), 0);
  EXPECT_GT(farm.count("attempts WHERE worker = 'liar' AND outcome = 'failed'"), 0);
  auto one = worker("w1");
  job = settled(job.id(), {one.get()});
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  EXPECT_EQ(job.artifacts(0).builders(0), "w1");
}

// A receipt of an earlier lease shown again, with the outputs it lists.
TEST_F(Quorum, Case03AReplayedReceiptIsRefused) {
  ASSERT_TRUE(farm.addToolchain());
  auto liar = worker("liar"), one = worker("w1");
  std::map<int, v1::Finished> kept;
  liar->forge = [&](const v1::Lease& lease, v1::Finished& report) {
    auto [known, first] = kept.emplace(lease.kind(), report);
    if (!first) report = known->second;
  };
  v1::Job first = submitted(farm.request("k1"));
  first = settled(first.id(), {liar.get()});
  ASSERT_EQ(first.state(), v1::JOB_SUCCEEDED) << first.error().message();
  v1::Job second = submitted(request("k2", {.builders = 2, .noCache = true}));
  ASSERT_TRUE(liar->work());
  EXPECT_GT(
      farm.count("attempts WHERE worker = 'liar' AND outcome = 'failed' AND error LIKE '%another lease%'"),
      0);
  EXPECT_EQ(farm.count("action_results WHERE job_id = '" + second.id() + "'"), 0);
}

// The signer is asked directly, by somebody who has everything that a coordinator has.
TEST_F(Quorum, Case25InventedBuildersAreNotSigned) {
  ASSERT_TRUE(farm.addToolchain());
  auto one = worker("w1"), two = worker("w2");
  v1::Job job = submitted(farm.request("k1"));
  job = settled(job.id(), {one.get()});
  ASSERT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
  const std::string statement = statementOf(job);
  const Provenance honest = provenanceIn(statement);
  const Digest artifact = Digest::parse(job.artifacts(0).digest(), manifestSize).value();
  auto documentOf = [&](const Digest& digest) {
    return storage::getBlob(*farm.blobs_, "default", digest, 1 << 20).value();
  };
  const std::string real = documentOf(honest.builders.at(0).receipt);
  const signing::Receipt said =
      signing::verifyReceiptDocument(real, farm.authority_.certificate(), farm.clock_.now()).value().receipt;
  auto signer = signing::connectSigner("unix:" + (farm.directory_ / "signer.sock"));
  auto records = [&] { return farm.count("signatures"); };
  const auto before = records();
  auto refusal = [&](std::vector<std::string> documents, const Builder& invented) -> std::string {
    Provenance forged = honest;
    forged.builders.push_back(invented);
    auto signedBy = signer->sign({.instance = "default",
                                  .statement = provenanceStatement(artifact, forged).value(),
                                  .subjectSize = manifestSize,
                                  .receipts = std::move(documents)});
    if (signedBy) return "signed";
    EXPECT_EQ(signedBy.error().code, Code::kFailedPrecondition) << signedBy.error().message;
    return signedBy.error().message;
  };
  auto contains = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  // No receipt at all; the one there is, twice; the one there is, under another name.
  contains(refusal({real}, {"w2", "op", digestOf(std::string_view("x"))}), "1 receipts for 2 builders");
  contains(refusal({real, real}, {"w2", "op", digestOf(real)}), "one worker counts once");

  auto documentBy = [&](const signing::Authority& authority, const std::string& name,
                        const std::string& operatorName, const signing::Receipt& base) {
    auto key = signing::PrivateKey::create().value();
    auto certificate = authority.issue(name, operatorName, key.publicKey(), farm.clock_.now()).value();
    signing::Receipt receipt = base;
    receipt.worker = name;
    receipt.operatorName = operatorName;
    return signing::receiptDocument(signing::makeReceipt(receipt, key).value(), certificate).value();
  };
  // An authority of the coordinator's own.
  auto own = signing::Authority::create(farm.clock_.now()).value();
  std::string forged = documentBy(own, "w2", "op", said);
  contains(refusal({real, forged}, {"w2", "op", digestOf(forged)}), "receipt:");
  // Real workers, but about another action, and about other outputs.
  signing::Receipt other = said;
  other.action = digestOf(std::string_view("another action"));
  forged = documentBy(farm.authority_, "w2", "op", other);
  contains(refusal({real, forged}, {"w2", "op", digestOf(forged)}), "different actions");
  other = said;
  for (signing::ReceiptOutput& output : other.outputs)
    if (output.path == "output/program.so") output.digest = digestOf(std::string_view("planted"));
  forged = documentBy(farm.authority_, "w2", "op", other);
  contains(refusal({real, forged}, {"w2", "op", digestOf(forged)}), "program.so");
  EXPECT_EQ(records(), before) << "nothing of this was signed";
}

}  // namespace
}  // namespace kiln::fault
