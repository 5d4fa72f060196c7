// Every RPC x role x instance over real mutual TLS, against the table; and that nothing of one instance shows
// in another.
#include "coordinator/web/published_blobs.h"
#include "manifest/artifact/oci_layout.h"
#include "storage/index/artifacts/referrer_repository.h"
#include "tests/coordinator/server/access_fixture.h"
#include "tests/support/metrics.h"

namespace kiln::server::testing {
namespace {

class AccessWireTest : public AccessFixture {};

TEST_F(AccessWireTest, EveryRpcRoleAndInstance) {
  const std::string workerPem = testing_support::readGolden(tls_ / "worker.pem");
  int calls = 0;
  for (const auto* method : testing_support::servedRpcs()) {
    const std::string rpc = method->service()->full_name() + "/" + method->name();
    const access::RpcRule* rule = access::findRule(rpc);
    ASSERT_NE(rule, nullptr) << rpc << " has no row in coordinator/access/rpc_table.cc";
    for (const std::string& name :
         {"submitter", "auditor", "runtime", "worker", "toolchain-admin", "admin", "nobody", "root"}) {
      const auto channel = as(name);
      for (const std::string& instance : {std::string(kGranted), std::string(kOther)}) {
        const auto role = access::parseRole(name == "root" ? "admin" : name);
        const bool has = role && rule->roles.has(*role);
        const bool everywhere = name == "root";
        const bool may =
            has && (rule->scope == access::Scope::kWorker || rule->scope == access::Scope::kAnywhere ||
                    everywhere || (rule->scope == access::Scope::kInstance && instance == kGranted));
        const grpc::Status status = call(channel, rpc, requestFor(*method, instance, workerPem));
        EXPECT_EQ(refused(status), !may)
            << rpc << " as " << name << " in " << instance << ": " << status.error_message();
        EXPECT_NE(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << rpc;
        EXPECT_NE(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
        ++calls;
      }
    }
  }
  EXPECT_GE(calls, 21 * 8 * 2);
  // Each is counted, under names that are in the table.
  double counted = 0;
  for (const auto& family : rpcRegistry_.Collect())
    if (family.name == "kiln_rpc_requests_total")
      for (const auto& one : family.metric) {
        counted += one.counter.value;
        for (const auto& label : one.label)
          EXPECT_TRUE(label.name != "rpc" || access::findRule(label.value)) << label.value;
      }
  EXPECT_EQ(counted, calls);
  EXPECT_GT(testing_support::metric(rpcRegistry_, "kiln_rpc_requests_total",
                                    {{"rpc", "kiln.v1.JobService/GetJob"}, {"code", "PERMISSION_DENIED"}}),
            0);
}

// Every RPC says so to who may know, and of who may not nobody learns which instances there are.
TEST_F(AccessWireTest, AnInstanceThatIsNotThereIsNamed) {
  const auto answers = [&](const std::string& caller) {
    std::map<std::string, std::string> out;
    for (const auto* method : testing_support::servedRpcs()) {
      const std::string rpc = method->service()->full_name() + "/" + method->name();
      const access::RpcRule* rule = access::findRule(rpc);
      if (rule->scope != access::Scope::kInstance || rule->place == access::Place::kMayBegin) continue;
      const grpc::Status status = call(as(caller), rpc, requestFor(*method, kOther, ""));
      out[rpc] = std::to_string(status.error_code()) + " " + status.error_message();
    }
    return out;
  };
  const std::string notFound = std::to_string(grpc::StatusCode::NOT_FOUND) +
                               " --instance (KILN_INSTANCE): this farm has no instance \"other\"";
  for (const auto& [rpc, answer] : answers("root"))
    EXPECT_TRUE(answer.starts_with(notFound)) << rpc << answer;
  const auto denied = answers("admin");  // of another instance
  EXPECT_GE(denied.size(), 20u);

  instance_ = kOther;
  v1::AddToolchainRequest first;
  first.set_instance(kOther);
  *first.mutable_toolchain_digest() = toProto(putToolchain());
  v1::Toolchain added;
  grpc::ClientContext context;
  const auto begun = v1::ToolchainService::NewStub(as("root"))->AddToolchain(&context, first, &added);
  ASSERT_TRUE(begun.ok()) << begun.error_message();
  for (const auto& [rpc, answer] : answers("root"))
    EXPECT_EQ(answer.find("has no instance"), std::string::npos) << rpc << answer;
  EXPECT_EQ(answers("admin"), denied);
}

// What the gate judges is what the query and the store are asked with: for whoever calls, a name that
// something behind the gate would read otherwise is no name at all.
TEST_F(AccessWireTest, NoRpcTakesANameThatCouldBeReadAsAnother) {
  for (const auto* method : testing_support::servedRpcs()) {
    const std::string rpc = method->service()->full_name() + "/" + method->name();
    const auto* input = method->input_type();
    if (!input->FindFieldByName("instance") && !input->FindFieldByName("instance_name") &&
        !input->FindFieldByName("resource_name"))
      continue;
    for (const std::string& hidden : {std::string("\0", 1), std::string("\0x", 2), std::string("\n"),
                                      std::string("\x7f"), std::string("\u200b"), std::string("\u202e")})
      for (const char* name : {"submitter", "admin", "root"}) {
        if (!access::findRule(rpc)->roles.has(name == std::string("submitter") ? Role::kSubmitter
                                                                               : Role::kAdmin))
          continue;
        const grpc::Status status = call(as(name), rpc, requestFor(*method, kGranted + hidden, ""));
        EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT)
            << rpc << " as " << name << ": " << status.error_message();
      }
  }
}

// Clients of the Remote Execution API that name no instance mean the default one, in which the callers have
// their roles.
TEST_F(AccessWireTest, WhoNamesNoInstanceIsJudgedInTheDefaultOne) {
  int calls = 0;
  for (const auto* method : testing_support::servedRpcs()) {
    const std::string rpc = method->service()->full_name() + "/" + method->name();
    if (rpc.starts_with("kiln.")) continue;
    for (const Role role : access::kEveryRole) {
      const std::string name(access::roleName(role));
      const grpc::Status status = call(as(name), rpc, requestFor(*method, "", ""));
      EXPECT_EQ(refused(status), !access::findRule(rpc)->roles.has(role))
          << rpc << " as " << name << ": " << status.error_message();
      ++calls;
    }
  }
  EXPECT_GE(calls, 12 * 6);
}

TEST_F(AccessWireTest, ATokenSaysWhoCalls) {
  v1::ListJobsRequest request;
  request.set_instance(kGranted);
  const std::string rpc = "kiln.v1.JobService/ListJobs", good = request.SerializeAsString();
  const auto file = token("repo:acme/model");
  const auto channel = TlsFiles::channel(tokenEndpoint(), tls_.tokenIn(file));
  EXPECT_TRUE(call(channel, rpc, good).ok());
  request.set_instance(kOther);
  EXPECT_EQ(call(channel, rpc, request.SerializeAsString()).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  // The file is read again for each call: another token is another caller, on the same connection.
  token("repo:evil/model");
  EXPECT_EQ(call(channel, rpc, good).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  token("repo:acme/model", -std::chrono::minutes(5));
  EXPECT_EQ(call(channel, rpc, good).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  tls_.token("token", TokenFactory("ES256").token(Json{{"iss", kIssuer}, {"sub", "repo:acme/model"}}));
  EXPECT_EQ(call(channel, rpc, good).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  // A token counts rather than the certificate beside it.
  token("repo:evil/model");
  storage::ClientCredentials both = tls_.certificateOf("admin");
  both.token = file;
  EXPECT_EQ(call(TlsFiles::channel(endpoint(), both), rpc, good).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(AccessWireTest, WhoSubmittedIsRecorded) {
  ASSERT_TRUE(addToolchain(putToolchain(), "", nullptr, {}, true).ok());
  const auto known = worker("w1");
  const auto channel = TlsFiles::channel(tokenEndpoint(), tls_.tokenIn(token("repo:acme/model")));
  for (const auto& each : {as("submitter"), channel}) {
    grpc::ClientContext context;
    v1::Job job;
    const auto status = v1::JobService::NewStub(each)->SubmitJob(
        &context, request(each == channel ? "by-token" : "by-certificate"), &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  auto rows = pool_.execute("SELECT string_agg(submitter, '; ' ORDER BY idempotency_key) AS who FROM jobs");
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(**rows->first([](const postgres::Row& row) { return row.get<std::string>("who"); }),
            "CN=submitter,O=people; repo:acme/model of https://ci.example.org");
}

TEST_F(AccessWireTest, WithoutAnythingToShowThereIsNoAnswer) {
  std::ifstream ca(tls_ / "ca.pem");
  const std::string roots((std::istreambuf_iterator<char>(ca)), {});
  const auto bare = grpc::CreateChannel(tokenEndpoint(), grpc::SslCredentials({roots, "", ""}));
  v1::ListJobsRequest request;
  request.set_instance(kGranted);
  const std::string rpc = "kiln.v1.JobService/ListJobs";
  EXPECT_EQ(call(bare, rpc, request.SerializeAsString()).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  // A certificate that another authority issued does not connect, nor does plain text.
  TlsFiles elsewhere;
  elsewhere.client("admin");
  storage::ClientCredentials foreign = elsewhere.certificateOf("admin");
  foreign.ca = tls_ / "ca.pem";
  EXPECT_EQ(call(TlsFiles::channel(endpoint(), foreign), rpc, "").error_code(),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(call(grpc::CreateChannel(endpoint(), grpc::InsecureChannelCredentials()), rpc, "").error_code(),
            grpc::StatusCode::UNAVAILABLE);
  // Elsewhere the connection itself wants a certificate, whatever token comes with it, and there a
  // certificate says nothing: none is asked for.
  const auto again = grpc::CreateChannel(endpoint(), grpc::SslCredentials({roots, "", ""}));
  EXPECT_EQ(call(again, rpc, request.SerializeAsString()).error_code(), grpc::StatusCode::UNAVAILABLE);
  const auto token = TlsFiles::channel(endpoint(), tls_.tokenIn(this->token("repo:acme/model")));
  EXPECT_EQ(call(token, rpc, request.SerializeAsString()).error_code(), grpc::StatusCode::UNAVAILABLE);
  const auto shown = TlsFiles::channel(tokenEndpoint(), tls_.certificateOf("auditor"));
  EXPECT_EQ(call(shown, rpc, request.SerializeAsString()).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_TRUE(call(as("auditor"), rpc, request.SerializeAsString()).ok());
}

// A call that waits holds a thread, and all callers share them.
TEST_F(AccessWireTest, NobodyIsWaitedForWhoMayNotCall) {
  std::ifstream ca(tls_ / "ca.pem");
  const std::string roots((std::istreambuf_iterator<char>(ca)), {});
  const auto bare = grpc::CreateChannel(tokenEndpoint(), grpc::SslCredentials({roots, "", ""}));
  const auto silentUpload = [](const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    google::bytestream::WriteResponse response;
    return google::bytestream::ByteStream::NewStub(channel)
        ->Write(&context, &response)
        ->Finish()
        .error_code();
  };
  EXPECT_EQ(silentUpload(bare), grpc::StatusCode::UNAUTHENTICATED);
  for (const char* name : {"nobody", "auditor", "runtime"})
    EXPECT_EQ(silentUpload(as(name)), grpc::StatusCode::PERMISSION_DENIED) << name;
  for (const char* version : {"v1", "v1alpha"})
    EXPECT_EQ(
        call(bare, std::string("grpc.reflection.") + version + ".ServerReflection/ServerReflectionInfo", "")
            .error_code(),
        grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(AccessWireTest, AConnectionDoesNotOutliveItsCertificate) {
  v1::ListJobsRequest request;
  request.set_instance(kGranted);
  const std::string rpc = "kiln.v1.JobService/ListJobs", bytes = request.SerializeAsString();
  const auto channel = as("auditor");
  EXPECT_TRUE(call(channel, rpc, bytes).ok());
  clock_.advance(std::chrono::hours(366 * 24));
  EXPECT_EQ(call(channel, rpc, bytes).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(AccessWireTest, WhatTheWorkerAuthoritySignedIsNoPersons) {
  ASSERT_TRUE(authority_.key().save(tls_ / "worker-ca.key"));
  tls_.write("rsa.cnf", "[req]\ndistinguished_name = name\n[name]\n");
  const std::string command =
      "cd " + (tls_ / "") +
      " && openssl req -x509 -config rsa.cnf -CA worker-ca.pem -CAkey worker-ca.key -newkey rsa:2048 -nodes"
      " -days 1 -subj /O=people/CN=admin -keyout rsa.key -out rsa.pem 2>openssl.log && chmod 600 rsa.key";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  v1::ListJobsRequest request;
  request.set_instance(kGranted);
  const std::string rpc = "kiln.v1.JobService/ListJobs", bytes = request.SerializeAsString();
  EXPECT_TRUE(call(as("admin"), rpc, bytes).ok());
  EXPECT_EQ(call(as("rsa"), rpc, bytes).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

// By issuer and serial, as openssl prints them: whoever it names is nobody from then on, also on a connection
// that it has.
TEST_F(AccessWireTest, ARevokedCertificateIsRefused) {
  v1::ListJobsRequest request;
  request.set_instance(kGranted);
  const std::string rpc = "kiln.v1.JobService/ListJobs", bytes = request.SerializeAsString();
  const auto channel = as("auditor");
  EXPECT_TRUE(call(channel, rpc, bytes).ok());
  ASSERT_TRUE(writeAccess({{"revokedCertificates", {tls_.idOf("auditor"), tls_.idOf("worker")}}}));
  const auto refused = call(channel, rpc, bytes);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_NE(refused.error_message().find("revoked"), std::string::npos) << refused.error_message();
  EXPECT_TRUE(call(as("admin"), rpc, bytes).ok());
  v1::SynchronizeRequest work;
  work.mutable_worker()->set_certificate_pem(testing_support::readGolden(tls_ / "worker.pem"));
  EXPECT_EQ(call(as("worker"), "kiln.v1.WorkerService/Synchronize", work.SerializeAsString()).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  ASSERT_FALSE(writeAccess({{"revokedCertificates", {{{"issuer", "CN=x"}, {"serial", "0x1"}}}}}));
  EXPECT_FALSE(call(channel, rpc, bytes).ok()) << "a file that cannot be read changes nothing";
}

TEST_F(AccessWireTest, AWorkerCallsAsItselfOnly) {
  const std::string rpc = "kiln.v1.WorkerService/Synchronize";
  const auto synchronize = [&](const std::string& connection, const signing::Certificate& presented) {
    v1::SynchronizeRequest request;
    request.mutable_worker()->set_certificate_pem(presented.pem());
    return call(as(connection), rpc, request.SerializeAsString());
  };
  const auto load = [&](const std::string& name) {
    return signing::Certificate::fromPem(testing_support::readGolden(tls_ / (name + ".pem"))).value();
  };
  EXPECT_TRUE(synchronize("worker", load("worker")).ok());
  const auto other = tls_.worker("w2", "op", authority_, clock_.now());
  EXPECT_EQ(synchronize("worker", other).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(synchronize("admin", load("worker")).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(synchronize("w2", other).error_code(), grpc::StatusCode::PERMISSION_DENIED) << "of no instance";
  // The same name with another key is another worker.
  const auto key = signing::PrivateKey::create().value();
  const auto twin = authority_.issue("worker", "op", key.publicKey(), clock_.now()).value();
  EXPECT_EQ(synchronize("worker", twin).error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(AccessWireTest, AWorkerGetsOnlyItsInstancesWork) {
  const auto runs = [&] {
    v1::SynchronizeRequest request;
    auto* self = request.mutable_worker();
    self->set_certificate_pem(testing_support::readGolden(tls_ / "worker.pem"));
    self->set_slots(4);
    self->add_targets("cpu:x86-64-v3");
    self->add_kinds(v1::ACTION_REFERENCE);
    self->add_kinds(v1::ACTION_COMPILE);
    const auto channel = as("worker");
    v1::SynchronizeResponse response;
    grpc::Status status;
    // The coordinator has half a second for its answer to an idle call of one second.
    for (int limit = 1; limit <= 16; limit *= 2) {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(limit));
      status = v1::WorkerService::NewStub(channel)->Synchronize(&context, request, &response);
      if (status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED) break;
    }
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::set<std::string> instances;
    for (const v1::Lease& lease : response.run()) instances.insert(lease.instance());
    return instances;
  };
  const auto known = worker("w1");  // somebody has to be there for a submission to be taken
  for (const char* instance : {kOther, kGranted}) {
    instance_ = instance;
    ASSERT_TRUE(addToolchain(putToolchain(), "", nullptr, {}, true).ok());
    const v1::Job job = submitted(request(std::string("job-in-") + instance));
    ASSERT_TRUE(driver_.advance({instance, job.id()}));
    EXPECT_EQ(runs(),
              instance == std::string(kOther) ? std::set<std::string>() : std::set<std::string>{kGranted});
  }
}

// Of bytes that one instance has, another sees nothing: no existence, no reading, no hit, no pull.
TEST_F(AccessWireTest, ABlobOfAnotherInstanceDoesNotExist) {
  storage::RemoteBlobStore granted(as("submitter")), root(as("root"));
  const std::string secret = "a model of one tenant";
  const Digest blob = digestOf(secret);
  ASSERT_TRUE(storage::putBlob(granted, kGranted, blob, asBytes(secret)));
  EXPECT_EQ(storage::getBlob(granted, kGranted, blob, 1000).value(), secret);
  // Whoever has no role there is refused, and told nothing.
  for (const Digest& asked : {blob, digestOf("a blob that nobody has at all")}) {
    EXPECT_EQ(storage::getBlob(granted, kOther, asked, 1000).error().code, Code::kPermissionDenied);
    EXPECT_EQ(granted.findMissing(kOther, {&asked, 1}).error().code, Code::kPermissionDenied);
    EXPECT_EQ(storage::putBlob(granted, kOther, asked, asBytes(secret)).error().code,
              Code::kPermissionDenied);
  }
  // Whoever has one there finds nothing: unary, batched and streamed.
  EXPECT_EQ(root.findMissing(kOther, {&blob, 1}).value(), std::vector<Digest>{blob});
  EXPECT_EQ(storage::getBlob(root, kOther, blob, 1000).error().code, Code::kNotFound);
  reapi::BatchReadBlobsRequest read;
  read.set_instance_name(kOther);
  *read.add_digests() = toProto(blob);
  reapi::BatchReadBlobsResponse answer;
  grpc::ClientContext context;
  ASSERT_TRUE(
      reapi::ContentAddressableStorage::NewStub(as("root"))->BatchReadBlobs(&context, read, &answer).ok());
  EXPECT_EQ(answer.responses(0).status().code(), static_cast<int>(grpc::StatusCode::NOT_FOUND));
  // An upload of the digest alone gains nothing: the bytes have to come.
  google::bytestream::QueryWriteStatusRequest query;
  query.set_resource_name(storage::writeName(kOther, blob));
  google::bytestream::QueryWriteStatusResponse state;
  grpc::ClientContext second;
  ASSERT_TRUE(
      google::bytestream::ByteStream::NewStub(as("root"))->QueryWriteStatus(&second, query, &state).ok());
  EXPECT_FALSE(state.complete());
  EXPECT_FALSE(storage::putBlob(root, kOther, blob, asBytes("other bytes of that len")));
  // Having brought them, it has them.
  ASSERT_TRUE(storage::putBlob(root, kOther, blob, asBytes(secret)));
  EXPECT_EQ(storage::getBlob(root, kOther, blob, 1000).value(), secret);
}

TEST_F(AccessWireTest, AnArtifactOfAnotherInstanceIsNoHitAndNotPulled) {
  ASSERT_TRUE(addToolchain(putToolchain(), "", nullptr, {}, true).ok());
  auto one = worker("w1");
  const v1::Job job = submitted(request("first"));
  settle(job.id(), {one.get()});
  const v1::Job done = get(job.id());
  ASSERT_EQ(done.state(), v1::JOB_SUCCEEDED) << done.error().message();
  const std::string digest = done.artifacts(0).digest();

  v1::GetArtifactRequest ask;
  ask.set_instance(kOther);
  ask.set_digest(digest);
  const auto stub = v1::ArtifactService::NewStub(as("root"));
  v1::Artifact artifact;
  {
    grpc::ClientContext context;
    EXPECT_EQ(stub->GetArtifact(&context, ask, &artifact).error_code(), grpc::StatusCode::NOT_FOUND);
  }
  ask.set_instance(kGranted);
  {
    grpc::ClientContext context;
    EXPECT_TRUE(stub->GetArtifact(&context, ask, &artifact).ok());
  }
  PublishedBlobs published(pool_);
  const Digest hash = Digest::parse(digest, 0).value();
  EXPECT_TRUE(published.findManifest(kGranted, hash));
  EXPECT_EQ(published.findManifest(kOther, hash).error().code, Code::kNotFound);
  // So are its bundles, as referrers with digests of their own.
  const auto referrers = published.findReferrers(kGranted, hash);
  ASSERT_TRUE(referrers) << referrers.error().message;
  ASSERT_EQ(referrers->bundles.size(), static_cast<std::size_t>(artifact.bundles_size()));
  EXPECT_EQ(published.findReferrers(kOther, hash).error().code, Code::kNotFound);
  for (const Digest& bundle : referrers->bundles) {
    const Digest referrer = digestOf(makeBundleReferrer(referrers->artifact, bundle).value());
    EXPECT_EQ(published.findReferrer(kGranted, referrer)->bundles, std::vector<Digest>{bundle});
    EXPECT_EQ(published.findReferrer(kOther, referrer).error().code, Code::kNotFound);
  }
  // A row of an earlier release gets its referrer at the next start.
  ASSERT_TRUE(pool_.execute("UPDATE statements SET referrer_hash = NULL"));
  const Digest first = digestOf(makeBundleReferrer(referrers->artifact, referrers->bundles.at(0)).value());
  EXPECT_FALSE(published.findReferrer(kGranted, first));
  ASSERT_TRUE(index::nameReferrers(**pool_.acquire()));
  EXPECT_TRUE(published.findReferrer(kGranted, first));
  // Every blob that the artifact names is of this instance alone.
  const std::string manifest =
      storage::getBlob(*blobs_, kGranted, fromProto(artifact.manifest()).value(), 1 << 20).value();
  const Json parsed = parseJson(manifest).value();
  for (const Json& layer : parsed.at("layers")) {
    const Digest blob = Digest::parse(layer.at("digest").get<std::string>(), 0).value();
    EXPECT_TRUE(published.findBlob(kGranted, blob));
    EXPECT_EQ(published.findBlob(kOther, blob).error().code, Code::kNotFound);
  }
  // The same submission in the other instance builds for itself, and needs its own toolchain and model.
  instance_ = kOther;
  auto again = testing_support::sampleRequest("second", 1, digestOf("a model"));
  again.set_instance(kOther);
  v1::Job own;
  EXPECT_EQ(submit(again, &own).error_code(), grpc::StatusCode::NOT_FOUND) << "no toolchain here";
  ASSERT_TRUE(addToolchain(putToolchain(), "", nullptr, {}, true).ok());
  EXPECT_EQ(submit(again, &own).error_code(), grpc::StatusCode::FAILED_PRECONDITION) << "no model here";
  own = submitted(request("second"));
  ASSERT_TRUE(driver_.advance({kOther, own.id()}));
  v1::GetJobRequest look;
  look.set_instance(kOther);
  look.set_id(own.id());
  grpc::ClientContext third;
  ASSERT_TRUE(v1::JobService::NewStub(as("root"))->GetJob(&third, look, &own).ok());
  for (const auto& action : own.actions()) EXPECT_NE(action.state(), "cached");
  EXPECT_FALSE(own.artifacts(0).cached());
  EXPECT_EQ(own.artifacts(0).digest(), "");
}

}  // namespace
}  // namespace kiln::server::testing
