// The questions that auditors ask, over the wire.
#include <limits>
#include <set>

#include "coordinator/signatures/statement_reader.h"
#include "manifest/statement/provenance.h"
#include "tests/coordinator/farm/farm_fixture.h"
#include "tests/support/sample_lock.h"

namespace kiln::service {
namespace {

using namespace testing;

class AuditQuestions : public FarmTest {
 protected:
  AuditQuestions() {
    tree = putToolchain();
    EXPECT_TRUE(addToolchain(tree, "", nullptr, put(testing_support::sampleLock().dump())).ok());
    one = worker("w1");
    two = worker("w2", "other");
  }
  std::string built(const std::string& key, int builders = 1, const std::string& model = "a model") {
    v1::SubmitJobRequest wanted = request(key, builders, model);
    auto& origin = *wanted.mutable_sources(0)->mutable_origin();
    origin.set_url("https://example.com/models");
    origin.set_commit(std::string(40, 'c'));
    origin.set_path("m.onnx");
    v1::Job job = submitted(wanted);
    settle(job.id(), {one.get(), two.get()});
    clock_.advance(std::chrono::minutes(1));
    job = get(job.id());
    EXPECT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
    return job.artifacts_size() == 1 ? job.artifacts(0).digest() : "";
  }
  v1::ListAffectedRequest asked() {
    v1::ListAffectedRequest out;
    out.set_instance("default");
    return out;
  }
  grpc::Status ask(const v1::ListAffectedRequest& request, v1::ListAffectedResponse* out) {
    grpc::ClientContext context;
    return auditStub_->ListAffected(&context, request, out);
  }
  std::multiset<std::string> affected(const v1::ListAffectedRequest& request) {
    v1::ListAffectedResponse response;
    const grpc::Status status = ask(request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::multiset<std::string> out;
    for (const auto& entry : response.affected()) {
      out.insert(entry.artifact());
      EXPECT_TRUE(storage::hasBlob(*blobs_, "default", *fromProto(entry.statement().bundle())).value());
    }
    return out;
  }
  template <class Set>
  std::multiset<std::string> by(Set set) {
    v1::ListAffectedRequest request = asked();
    set(request);
    return affected(request);
  }
  v1::GetProvenanceResponse provenance(const std::string& artifact) {
    v1::GetProvenanceRequest request;
    request.set_instance("default");
    request.set_artifact(artifact);
    grpc::ClientContext context;
    v1::GetProvenanceResponse out;
    const grpc::Status status = auditStub_->GetProvenance(&context, request, &out);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }

  // The one among the statements that is a provenance.
  static v1::ProvenanceStatement provenanceIn(const v1::GetProvenanceResponse& found) {
    for (const auto& each : found.statements())
      if (each.statement().predicate_type() == kProvenanceType) return each;
    ADD_FAILURE() << "no provenance";
    return {};
  }

  Digest tree;
  std::unique_ptr<testing_support::FakeWorker> one, two;
};

TEST_F(AuditQuestions, EverythingThatTouchedAnArtifactFindsIt) {
  const std::string a = built("a", 2), b = built("b", 1, "another model");
  ASSERT_NE(a, b);
  const std::multiset<std::string> both{a, b}, first{a};
  EXPECT_EQ(by([&](auto& r) { r.set_toolchain(kLabel); }), both);
  EXPECT_EQ(by([&](auto& r) { r.set_toolchain(tree.text()); }), both);
  EXPECT_EQ(by([&](auto& r) { r.set_component(digestOf(std::string_view("the compiler")).text()); }), both);
  EXPECT_EQ(by([&](auto& r) { r.set_component("kiln-cc@0.1.0"); }), both);
  EXPECT_EQ(by([&](auto& r) { r.set_component("nvidia-cuda-nvcc@13.0.88"); }), both)
      << "an input of the lock";
  EXPECT_EQ(by([&](auto& r) { r.set_component(digestOf(std::string_view("libc")).text()); }), both);
  EXPECT_EQ(by([&](auto& r) { r.set_source(digestOf(std::string_view("a model")).text()); }), first);
  EXPECT_EQ(by([&](auto& r) { r.set_source("https://example.com/models"); }), both);
  EXPECT_EQ(by([&](auto& r) { r.set_source("git+https://example.com/models"); }), both);
  EXPECT_EQ(by([&](auto& r) { r.set_source(std::string(40, 'c')); }), both);
  // By the artifact itself, by a key, in a window alone: its provenance, its compile statement and that of
  // its image.
  const std::multiset<std::string> bothThrice{a, a, a, b, b, b}, firstThrice{a, a, a};
  EXPECT_EQ(by([&](auto& r) { r.set_artifact(a); }), firstThrice);
  EXPECT_EQ(by([&](auto& r) { r.set_key(key_.publicKey().id()); }), bothThrice);
  EXPECT_EQ(by([&](auto& r) { r.set_target("cpu:x86-64-v3"); }), both);
  EXPECT_TRUE(by([&](auto& r) { r.set_target("cpu:x86-64-v4"); }).empty());
  const auto w2 = by([&](auto& r) { r.set_worker("w2"); });
  EXPECT_TRUE(w2.contains(a));
  EXPECT_EQ(by([&](auto& r) { r.set_operator_("other"); }), w2);
  EXPECT_EQ(by([&](auto& r) {
              r.set_operator_("other");
              r.set_worker("w2");
              r.set_toolchain(kLabel);
              r.set_component("kiln-cc");
              r.set_key(key_.publicKey().id());
              r.set_source(digestOf(std::string_view("a model")).text());
            }),
            first);
}

TEST_F(AuditQuestions, AWindowOfTimeNarrowsThem) {
  const TimePoint start = clock_.now();
  const std::string a = built("a"), b = built("b", 1, "another model");
  const auto at = [&](int minutes, google::protobuf::Timestamp* out) {
    const auto since = (start + std::chrono::minutes(minutes)).time_since_epoch();
    out->set_seconds(std::chrono::duration_cast<std::chrono::seconds>(since).count());
  };
  EXPECT_EQ(by([&](auto& r) { at(1, r.mutable_since()); }), (std::multiset<std::string>{b, b, b}));
  EXPECT_EQ(by([&](auto& r) { at(1, r.mutable_until()); }), (std::multiset<std::string>{a, a, a}));
  EXPECT_EQ(by([&](auto& r) {
              r.set_toolchain(kLabel);
              at(0, r.mutable_since());
              at(2, r.mutable_until());
            }),
            (std::multiset<std::string>{a, b}));
}

TEST_F(AuditQuestions, AnswersNameTheAdmissionsThatProveTheTree) {
  built("a");
  v1::ListAffectedRequest request = asked();
  request.set_component("kiln-cc");
  v1::ListAffectedResponse response;
  ASSERT_TRUE(ask(request, &response).ok());
  ASSERT_EQ(response.admissions_size(), 1);
  EXPECT_EQ(response.admissions(0).label(), kLabel);
  EXPECT_TRUE(
      storage::hasBlob(*blobs_, "default", *fromProto(response.admissions(0).statement().bundle())).value());
}

TEST_F(AuditQuestions, APageTokenBelongsToItsQuestion) {
  std::multiset<std::string> all{built("a"), built("b", 1, "model b"), built("c", 1, "model c")};
  v1::ListAffectedRequest request = asked();
  request.set_toolchain(kLabel);
  request.set_page_size(1);
  std::multiset<std::string> found;
  v1::ListAffectedResponse page;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(ask(request, &page).ok());
    ASSERT_EQ(page.affected_size(), 1);
    found.insert(page.affected(0).artifact());
    if (i < 2) request.set_page_token(page.next_page_token());
  }
  EXPECT_EQ(found, all);
  EXPECT_EQ(page.next_page_token(), "");
  request.set_page_size(2);
  EXPECT_TRUE(ask(request, &page).ok()) << "pages may change their size";
  request.set_worker("w1");
  EXPECT_EQ(ask(request, &page).error_code(), grpc::INVALID_ARGUMENT);
  for (const std::string& forged : {std::string("x"), std::string(4000, 'A'), toBase64(asBytes("12 ab"))}) {
    request.set_page_token(forged);
    EXPECT_EQ(ask(request, &page).error_code(), grpc::INVALID_ARGUMENT);
  }
}

TEST_F(AuditQuestions, QuestionsThatAreNoneAreRefused) {
  const auto codeOf = [&](auto set) {
    v1::ListAffectedRequest request = asked();
    set(request);
    v1::ListAffectedResponse response;
    return ask(request, &response).error_code();
  };
  EXPECT_EQ(codeOf([](auto&) {}), grpc::INVALID_ARGUMENT) << "everything is no question";
  EXPECT_EQ(codeOf([](auto& r) { r.set_artifact("x"); }), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(codeOf([](auto& r) { r.set_source("sha256:x"); }), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(codeOf([](auto& r) { r.set_key("x"); }), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(codeOf([](auto& r) { r.mutable_since()->set_seconds(-1); }), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(codeOf([](auto& r) { r.set_worker(std::string(5000, 'w')); }), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(codeOf([](auto& r) {
              r.set_worker("w");
              r.set_page_size(501);
            }),
            grpc::INVALID_ARGUMENT);
  EXPECT_EQ(codeOf([](auto& r) { r.set_toolchain("unknown"); }), grpc::NOT_FOUND);
  EXPECT_EQ(codeOf([](auto& r) { r.set_component("unknown"); }), grpc::NOT_FOUND);
}

TEST_F(AuditQuestions, ANameThatTheFarmHasNeverSeenIsToldFromOneThatTouchedNothing) {
  built("a");
  const auto three = worker("w3", "third");
  const auto status = [&](auto set) {
    v1::ListAffectedRequest request = asked();
    set(request);
    v1::ListAffectedResponse response;
    return ask(request, &response);
  };
  EXPECT_TRUE(by([](auto& r) { r.set_worker("w3"); }).empty()) << "it has called and built nothing";
  EXPECT_TRUE(by([](auto& r) { r.set_operator_("third"); }).empty());
  // A recall by such a spelling would reach nothing.
  for (const char* spelled : {"https://Git.example.org/models", "git+https://git.example.org/models/",
                              "git+ssh://git@git.example.org:22/models@0123#m.onnx"}) {
    const auto source = status([&](auto& r) { r.set_source(spelled); });
    EXPECT_EQ(source.error_code(), grpc::INVALID_ARGUMENT) << spelled;
    EXPECT_NE(source.error_message().find("source: the git URL has "), std::string::npos)
        << source.error_message();
  }
  for (const char* spelled : {"https://git.example.org/models", "models", "file:///Models/",
                              "git+ssh://git@git.example.org/models@0123#m.onnx"})
    EXPECT_EQ(status([&](auto& r) { r.set_source(spelled); }).error_code(), grpc::NOT_FOUND) << spelled;
  const std::string nobody = digestOf(std::string_view("nobody's")).text();
  EXPECT_EQ(status([&](auto& r) { r.set_artifact(nobody); }).error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(status([&](auto& r) { r.set_source(nobody); }).error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(status([&](auto& r) { r.set_toolchain(nobody); }).error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(status([&](auto& r) { r.set_component(nobody); }).error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(status([&](auto& r) { r.set_key(nobody); }).error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(status([&](auto& r) {
              r.set_toolchain(kLabel);
              r.set_key(nobody);
            }).error_code(),
            grpc::NOT_FOUND)
      << "each of several names must mean something";
  // What came and led to nothing is known.
  submitted(request("waiting", 1, "a model that nobody has built"));
  EXPECT_TRUE(by([](auto& r) {
                r.set_source(digestOf(std::string_view("a model that nobody has built")).text());
              }).empty());
  const auto worker = status([](auto& r) { r.set_worker("w9"); });
  EXPECT_EQ(worker.error_code(), grpc::NOT_FOUND);
  EXPECT_NE(worker.error_message().find("never seen a worker \"w9\"; did you mean \"w1\""), std::string::npos)
      << worker.error_message();
  const auto part = status([](auto& r) { r.set_component("kiln-c@0.1.0"); });
  EXPECT_NE(part.error_message().find("did you mean \"kiln-cc@0.1.0\""), std::string::npos)
      << part.error_message();
  EXPECT_EQ(status([](auto& r) { r.set_operator_("nobody"); }).error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(status([](auto& r) { r.set_target("cpu:x86-64-v33"); }).error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(status([](auto& r) { r.set_submitter("nobody"); }).error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(status([](auto& r) { r.set_device("no processor"); }).error_code(), grpc::NOT_FOUND);
  v1::Device& device = *three->description.add_devices();
  device.set_id("gpu0");
  device.set_kind("gpu");
  device.set_name("Example GPU 100");
  device.set_healthy(true);
  ASSERT_TRUE(three->synchronize({}));
  EXPECT_TRUE(by([](auto& r) { r.set_device("Example GPU 100"); }).empty()) << "it has checked nothing";
  const auto mistyped = status([](auto& r) { r.set_device("Example GPU 10"); });
  EXPECT_NE(mistyped.error_message().find("did you mean \"Example GPU 100\""), std::string::npos)
      << mistyped.error_message();
}

TEST_F(AuditQuestions, TheFirstDigitsOfADigestNameWhatItDoes) {
  const std::string a = built("a"), b = built("b", 1, "another model");
  const std::string model = digestOf(std::string_view("a model")).text(),
                    part = digestOf(std::string_view("the compiler")).text();
  const auto brief = [](const std::string& digest) { return digest.substr(0, 19); };
  EXPECT_EQ(by([&](auto& r) { r.set_artifact(brief(a)); }), by([&](auto& r) { r.set_artifact(a); }));
  EXPECT_EQ(by([&](auto& r) { r.set_source(brief(model)); }), std::multiset<std::string>{a});
  EXPECT_EQ(by([&](auto& r) { r.set_toolchain(brief(tree.text())); }), (std::multiset<std::string>{a, b}));
  EXPECT_EQ(by([&](auto& r) { r.set_component(brief(part)); }), (std::multiset<std::string>{a, b}));
  // Two inputs that begin alike.
  ASSERT_TRUE(
      pool_.execute("UPDATE sources SET hash = set_byte(hash, 31, (get_byte(hash, 31) + 1) % 256) WHERE "
                    "job_id = (SELECT min(job_id) FROM sources)"));
  v1::ListAffectedRequest request = asked();
  request.set_source(brief(model));
  v1::ListAffectedResponse response;
  EXPECT_EQ(ask(request, &response).error_code(), grpc::INVALID_ARGUMENT);
  request.set_source("sha256:" + std::string(12, '0'));
  EXPECT_EQ(ask(request, &response).error_code(), grpc::NOT_FOUND);
}

TEST_F(AuditQuestions, WhoSubmittedFindsWhatTheirJobsCameTo) {
  const std::string a = built("a");
  // Another one asks for the same and gets it from the cache.
  ASSERT_TRUE(pool_.acquire().value()->executeScript(
      "INSERT INTO jobs (instance, id, idempotency_key, request_hash, state, submitted, toolchain_label, "
      "toolchain_hash, toolchain_size, options, delivery, model_name, submitter) SELECT instance, id || 'x', "
      "'x', "
      "request_hash, state, submitted, toolchain_label, toolchain_hash, toolchain_size, options, delivery, "
      "model_name, 'bob' FROM jobs; INSERT INTO job_targets (instance, job_id, ordinal, target, "
      "artifact_hash) "
      "SELECT instance, job_id || 'x', ordinal, target, artifact_hash FROM job_targets"));
  const std::string b = built("b", 1, "another model");
  EXPECT_EQ(by([](auto& r) { r.set_submitter("bob"); }), std::multiset<std::string>{a});
  EXPECT_EQ(by([](auto& r) {
              r.set_submitter("bob");
              r.set_operator_("op");
            }),
            std::multiset<std::string>{a});
  const auto locals = by([](auto& r) { r.set_submitter("local"); });
  EXPECT_TRUE(locals.contains(a) && locals.contains(b));
}

TEST_F(AuditQuestions, AHostileAuditorIsRefused) {
  built("a");
  built("b", 1, "another model");
  v1::ListAffectedRequest request = asked();
  request.set_toolchain(kLabel);
  request.set_page_size(1);
  v1::ListAffectedResponse page;
  ASSERT_TRUE(ask(request, &page).ok());
  request.set_page_token(page.next_page_token());
  request.set_instance("other");
  request.set_toolchain(tree.text());
  EXPECT_EQ(ask(request, &page).error_code(), grpc::INVALID_ARGUMENT) << "a token of another instance";
  for (const int size : {-1, 501, std::numeric_limits<int>::max()}) {
    v1::ListLoggedRequest logged;
    logged.set_instance("default");
    logged.set_page_size(size);
    grpc::ClientContext context;
    v1::ListLoggedResponse none;
    EXPECT_EQ(auditStub_->ListLogged(&context, logged, &none).error_code(), grpc::INVALID_ARGUMENT) << size;
  }
  v1::ListLoggedRequest beyond;
  beyond.set_instance("default");
  beyond.set_from(std::numeric_limits<std::uint64_t>::max());
  grpc::ClientContext context;
  v1::ListLoggedResponse none;
  EXPECT_EQ(auditStub_->ListLogged(&context, beyond, &none).error_code(), grpc::INVALID_ARGUMENT);
  // A hundred conditions cannot be said: of each kind the last one counts.
  std::string wire = asked().SerializeAsString();
  for (int i = 0; i < 100; ++i) {
    v1::ListAffectedRequest one;
    one.set_worker(i < 99 ? "x" + std::to_string(i) : "w1");
    wire += one.SerializeAsString();
  }
  v1::ListAffectedRequest many;
  ASSERT_TRUE(many.ParseFromString(wire));
  EXPECT_TRUE(ask(many, &page).ok());
  EXPECT_GT(page.affected_size(), 0);
  many.set_submitter(std::string(5000, 's'));
  EXPECT_EQ(ask(many, &page).error_code(), grpc::INVALID_ARGUMENT);
}

TEST_F(AuditQuestions, ProvenanceLeadsToCommitPartsBuildersAndKey) {
  const std::string artifact = built("a", 2);
  const auto found = provenance(artifact);
  ASSERT_EQ(found.statements_size(), 3) << "the provenance, the compile statement and that of its image";
  const v1::ProvenanceStatement said = provenanceIn(found);
  EXPECT_EQ(said.key(), key_.publicKey().id());
  ASSERT_EQ(said.builders_size(), 2);
  EXPECT_EQ(said.builders(1).operator_(), "other");
  std::set<std::string> sources, parts;
  for (const auto& material : said.materials()) sources.insert(material.uri());
  EXPECT_TRUE(sources.contains("git+https://example.com/models@" + std::string(40, 'c') + "#m.onnx"));
  for (const auto& part : found.parts()) parts.insert(part.kind() + " " + part.name() + " " + part.version());
  EXPECT_TRUE(parts.contains("component kiln-cc 0.1.0"));
  EXPECT_TRUE(parts.contains("package libc6 2.36-9+deb12u10"));
  EXPECT_TRUE(parts.contains("source commit " + std::string(40, 'a')) ||
              parts.contains("source of commit " + std::string(40, 'a')));
  EXPECT_EQ(found.admissions_size(), 1);

  v1::GetProvenanceRequest unknown;
  unknown.set_instance("default");
  unknown.set_artifact("sha256:" + std::string(64, '0'));
  grpc::ClientContext context;
  v1::GetProvenanceResponse none;
  EXPECT_EQ(auditStub_->GetProvenance(&context, unknown, &none).error_code(), grpc::NOT_FOUND);
}

TEST_F(AuditQuestions, SubmissionsSayWhoAskedPageByPage) {
  const std::string artifact = built("a");
  built("b");
  v1::ListSubmissionsRequest request;
  request.set_instance("default");
  request.set_artifact(artifact);
  request.set_page_size(1);
  v1::ListSubmissionsResponse page;
  grpc::ClientContext first, second;
  ASSERT_TRUE(auditStub_->ListSubmissions(&first, request, &page).ok());
  ASSERT_EQ(page.submissions_size(), 1);
  EXPECT_EQ(page.submissions(0).submitter(), "local") << "a caller without a proven identity";
  EXPECT_FALSE(page.submissions(0).cached());
  EXPECT_EQ(page.submissions(0).sources(0).claimed(),
            "git+https://example.com/models@" + std::string(40, 'c') + "#m.onnx");
  request.set_page_token(page.next_page_token());
  ASSERT_TRUE(auditStub_->ListSubmissions(&second, request, &page).ok());
  ASSERT_EQ(page.submissions_size(), 1);
  EXPECT_TRUE(page.submissions(0).cached());
  EXPECT_EQ(page.next_page_token(), "");
}

TEST_F(AuditQuestions, ComparingSaysWhatChanged) {
  const std::string a = built("a", 2);
  ASSERT_TRUE(addToolchain(putToolchain("kiln-newer", "a newer compiler"), "", nullptr, {}, true).ok());
  const std::string b = built("b");
  ASSERT_NE(a, b);
  v1::CompareArtifactsRequest request;
  request.set_instance("default");
  request.set_first(a);
  request.set_second(b);
  request.set_page_size(2);
  std::map<std::string, std::string> changed;
  for (;;) {
    grpc::ClientContext context;
    v1::CompareArtifactsResponse page;
    const grpc::Status status = auditStub_->CompareArtifacts(&context, request, &page);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(page.first().payload(), provenanceIn(provenance(a)).statement().payload());
    for (const auto& difference : page.differences())
      changed[difference.what() + " " + difference.name()] = difference.second();
    if (page.next_page_token().empty()) break;
    request.set_page_token(page.next_page_token());
  }
  EXPECT_EQ(changed["parameter toolchainLabel"], "kiln-newer");
  EXPECT_TRUE(changed.contains("input toolchain"));
  EXPECT_TRUE(changed.contains("component kiln-cc bin/kiln-cc"));
  EXPECT_FALSE(changed.contains("parameter target")) << "the same in both";
  EXPECT_FALSE(changed.contains("input input/model.onnx"));
}

// As a release before this one left it, and as one that is a step behind would.
TEST_F(AuditQuestions, WhatAnEarlierReleaseStoredIsReadAfterTheStart) {
  const std::string artifact = built("a", 2);
  const auto key = key_.publicKey().id();
  const auto all = [&] {
    auto rows =
        pool_.execute("SELECT string_agg(m::text, ' ' ORDER BY m::text) AS all FROM mentions m").value();
    return *rows.first([](const postgres::Row& row) { return row.get<std::string>("all"); });
  };
  const auto before = all();
  ASSERT_TRUE(pool_.execute("DELETE FROM mentions WHERE kind <> 9"));  // 9: the schema keeps them
  ASSERT_TRUE(pool_.execute("DELETE FROM toolchain_parts WHERE kind <> 'component'"));
  ASSERT_TRUE(pool_.execute("UPDATE statements SET signer = NULL"));
  v1::ListAffectedRequest request = asked();
  request.set_key(key);
  v1::ListAffectedResponse response;
  ASSERT_TRUE(ask(request, &response).ok());
  EXPECT_EQ(response.affected_size(), 0);
  EXPECT_EQ(response.unread(), 3u) << "the answer says that it may lack something";
  StatementReader reader(farm_.stores);
  EXPECT_EQ(reader.readAll().value(), 4u) << "three statements and a lock";
  EXPECT_EQ(reader.readAll().value(), 0u);
  ASSERT_TRUE(ask(request, &response).ok());
  EXPECT_EQ(response.affected_size(), 3);
  EXPECT_EQ(response.unread(), 0u);
  EXPECT_EQ(all(), before);
  EXPECT_EQ(by([&](auto& r) { r.set_component("libc6"); }), std::multiset<std::string>{artifact});
}

}  // namespace
}  // namespace kiln::service
