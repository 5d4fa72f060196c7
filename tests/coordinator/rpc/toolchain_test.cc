// Admitting toolchains: what is signed and kept, what is refused, and that versions live side by side.
#include "google/rpc/status.pb.h"
#include "manifest/base/durable_file.h"
#include "manifest/base/exit_code.h"
#include "signing/bundle/bundle.h"
#include "signing/trust/trust_root.h"
#include "signing/verify/admission.h"
#include "tests/coordinator/farm/farm_fixture.h"
#include "tests/support/sample_lock.h"

namespace kiln::service {
namespace {

using namespace testing;
using testing_support::sampleLock;

class Toolchains : public FarmTest {
 protected:
  v1::Toolchain added(const Digest& tree, const std::optional<Digest>& lock = {}, bool makeDefault = false) {
    v1::Toolchain out;
    const grpc::Status status = addToolchain(tree, "", &out, lock, makeDefault);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }
  v1::Toolchain shown(const std::string& name) {
    v1::GetToolchainRequest request;
    request.set_instance("default");
    request.set_name(name);
    grpc::ClientContext context;
    v1::Toolchain out;
    EXPECT_TRUE(toolchainStub_->GetToolchain(&context, request, &out).ok());
    return out;
  }
  grpc::StatusCode codeOf(const Digest& tree, const Digest& lock) {
    return addToolchain(tree, "", nullptr, lock).error_code();
  }
  Result<ToolchainAdmission> verified(const v1::Toolchain& toolchain) {
    const auto bundle =
        storage::getBlob(*blobs_, "default", *fromProto(toolchain.admission()), 1 << 20).value();
    const auto root = signing::developmentRoot(key_.publicKey(), kBuilderId, clock_.now());
    return signing::verifyAdmission(bundle, *fromProto(toolchain.toolchain_digest()), "default", root,
                                    clock_.now());
  }
  int asked_ = 0;  // submissions so far
  bool there(const Digest& blob) { return storage::hasBlob(*blobs_, "default", blob).value(); }
  std::string built(const std::string& key, const std::string& toolchain) {
    auto one = worker("w-" + key);
    v1::SubmitJobRequest wanted = request(key);
    wanted.set_toolchain(toolchain);
    DeliverySpec delivery;
    delivery.noCache = true;
    wanted.set_delivery_json(toCanonicalJson(delivery.toJson()).value());
    v1::Job job = submitted(wanted);
    settle(job.id(), {one.get()});
    job = get(job.id());
    EXPECT_EQ(job.state(), v1::JOB_SUCCEEDED) << job.error().message();
    return job.artifacts_size() > 0 ? job.artifacts(0).digest() : "";
  }
};

TEST_F(Toolchains, AdmissionLeavesAStatement) {
  const Digest tree = putToolchain(), lock = put(sampleLock().dump());
  const v1::Toolchain first = added(tree, lock);
  EXPECT_EQ(*fromProto(first.lock()), lock);
  auto said = verified(first);
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(said->label, kLabel);
  EXPECT_EQ(said->lock, lock);
  EXPECT_EQ(said->builderId, kBuilderId);
  EXPECT_EQ(said->admittedOn, clock_.now());
  EXPECT_EQ(said->instance, "default");
  EXPECT_EQ(first.change(), "added");
  v1::Toolchain told = first;
  told.clear_change();
  EXPECT_EQ(shown(kLabel).SerializeAsString(), told.SerializeAsString());

  clock_.advance(std::chrono::hours(1));
  const int signatures = signer_.calls;
  EXPECT_EQ(added(tree, lock).admission().hash(), first.admission().hash()) << "the same again";
  EXPECT_EQ(added(tree).admission().hash(), first.admission().hash()) << "nothing said of the lock";
  EXPECT_EQ(signer_.calls, signatures);
  EXPECT_FALSE(pool_.execute("DELETE FROM toolchain_admissions"));
  EXPECT_FALSE(pool_.execute("UPDATE toolchain_admissions SET bundle_size = 1"));
}

TEST_F(Toolchains, ALockMayBecomeKnownLaterAndThenStays) {
  const Digest tree = putToolchain(), lock = put(sampleLock().dump());
  const v1::Toolchain bare = added(tree);
  EXPECT_FALSE(bare.has_lock());
  EXPECT_FALSE(verified(bare)->lock);
  clock_.advance(std::chrono::hours(1));
  const v1::Toolchain locked = added(tree, lock);
  EXPECT_EQ(verified(locked)->lock, lock);
  EXPECT_NE(locked.admission().hash(), bare.admission().hash());
  Json other = sampleLock();
  other["wheels"] = Json::array();
  EXPECT_EQ(codeOf(tree, put(other.dump())), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(shown(kLabel).admission().hash(), locked.admission().hash());
}

TEST_F(Toolchains, NoLabelWithoutItsStatement) {
  const Digest tree = putToolchain();
  signer_.away = true;
  EXPECT_EQ(addToolchain(tree).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(pool_.execute("SELECT FROM toolchains")->empty());
  signer_.away = false;
  EXPECT_TRUE(verified(added(tree)));
  const int signatures = signer_.calls;
  EXPECT_EQ(addToolchain(putToolchain(kLabel, "another compiler")).error_code(),
            grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(signer_.calls, signatures) << "nothing is signed about a label that is another tree's";
}

TEST_F(Toolchains, HostileLocksAreRefused) {
  const Digest tree = putToolchain();
  for (const char* text :
       {"", "{}", "[[[[", R"({"apiVersion":"kiln/v1","kind":"ToolchainLock"})", "\xff\xfe"})
    EXPECT_EQ(codeOf(tree, put(text)), grpc::StatusCode::INVALID_ARGUMENT) << text;
  EXPECT_EQ(codeOf(tree, put(std::string(1 << 16, '['))), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(codeOf(tree, put(sampleLock().dump() + std::string(1 << 20, ' '))),
            grpc::StatusCode::INVALID_ARGUMENT);
  Json escaping = sampleLock();
  escaping["packages"][0]["name"] = "../../etc";
  EXPECT_EQ(codeOf(tree, put(escaping.dump())), grpc::StatusCode::INVALID_ARGUMENT);
  Digest claim = digestOf("not uploaded");
  EXPECT_EQ(codeOf(tree, claim), grpc::StatusCode::FAILED_PRECONDITION);
  claim.size = ~std::uint64_t{0} >> 1;
  EXPECT_EQ(codeOf(tree, claim), grpc::StatusCode::INVALID_ARGUMENT) << "never read";
  EXPECT_TRUE(pool_.execute("SELECT FROM toolchains")->empty());
}

TEST_F(Toolchains, WhatALabelledToolchainIsMadeFromStays) {
  const Digest lock = put(sampleLock().dump());
  std::vector<Digest> kept{lock};
  for (const char* input : {"clang", "libc", "nvcc"}) kept.push_back(put(input));
  const Digest stray = put("an input of no lock"), lacking = digestOf("source");
  const Digest tree = putToolchain();
  const Digest bare = *fromProto(added(tree).admission());
  clock_.advance(std::chrono::hours(1));
  kept.push_back(*fromProto(added(tree, lock).admission()));
  kept.push_back(bare);
  clock_.advance(std::chrono::hours(8 * 24));
  auto report = garbage_.collect(Duration::zero(), false);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->damaged.empty());
  for (const Digest& blob : kept) EXPECT_TRUE(there(blob)) << blob.text();
  EXPECT_FALSE(there(stray));
  EXPECT_FALSE(there(lacking));
}

// The label is what was admitted, whatever a row says; so is a digest that leads to the row.
TEST_F(Toolchains, ARowWithAnotherTreeThanWasAdmittedIsRefused) {
  const Digest good = putToolchain("kiln-1", "compiler 1"), bad = putToolchain("kiln-2", "a bad compiler");
  added(good);
  added(bad);
  const auto rows = [&](const std::string& sql) {
    ASSERT_TRUE(pool_.acquire().value()->executeScript("SET session_replication_role = replica; " + sql +
                                                       "; SET session_replication_role = origin"));
  };
  const auto asked = [&](const std::string& name) {
    v1::SubmitJobRequest wanted = request("k" + std::to_string(++asked_), 1, "a model " + name);
    wanted.set_toolchain(name);
    v1::Job job;
    return submit(wanted, &job);
  };
  worker("w1");
  for (const char* name : {"", "kiln-1", "kiln-2"}) EXPECT_TRUE(asked(name).ok()) << name;
  rows(
      "CREATE TABLE kept AS SELECT * FROM toolchains; CREATE TABLE said AS SELECT * FROM "
      "toolchain_admissions");
  const auto refused = [&](const std::string& change) {
    rows(change);
    for (const std::string& name : {std::string(), std::string("kiln-1")}) {
      const grpc::Status status = asked(name);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS) << change << ": " << status.error_message();
      EXPECT_NE(status.error_message().find("kiln-1"), std::string::npos) << status.error_message();
      google::rpc::Status rich;
      v1::JobError detail;
      ASSERT_TRUE(rich.ParseFromString(status.error_details()) && rich.details_size() == 1 &&
                  rich.details(0).UnpackTo(&detail));
      EXPECT_EQ(detail.exit_code(), kExitVerification) << change;
    }
    rows(
        "DELETE FROM toolchains; INSERT INTO toolchains SELECT * FROM kept; DELETE FROM "
        "toolchain_admissions; "
        "INSERT INTO toolchain_admissions SELECT * FROM said");
    EXPECT_TRUE(asked("kiln-1").ok());
  };
  refused(
      "UPDATE toolchains t SET hash = u.hash, size = u.size, description = u.description FROM toolchains u "
      "WHERE t.label = 'kiln-1' AND u.label = 'kiln-2'");
  refused(
      "UPDATE toolchains t SET hash = u.hash, size = u.size, description = u.description FROM toolchains u "
      "WHERE t.label = 'kiln-1' AND u.label = 'kiln-2'; UPDATE toolchain_admissions t SET bundle_hash = "
      "u.bundle_hash, bundle_size = u.bundle_size, payload_hash = u.payload_hash FROM toolchain_admissions u "
      "WHERE t.label = 'kiln-1' AND u.label = 'kiln-2'");
  const std::string text =
      storage::getBlob(*blobs_, "default", *fromProto(shown("kiln-1").admission()), 1 << 20).value();
  const auto said = signing::parseBundle(text).value();
  const auto foreign = signing::PrivateKey::create().value();
  const auto envelope =
      signing::signEnvelope(said.envelope.payloadType, said.envelope.payload, foreign).value();
  const Digest forged = put(signing::makeBundle(envelope, foreign.publicKey()).value());
  refused("UPDATE toolchain_admissions SET bundle_hash = '\\x" + forged.hex() +
          "', bundle_size = " + std::to_string(forged.size) + " WHERE label = 'kiln-1'");
  refused("DELETE FROM toolchain_admissions WHERE label = 'kiln-1'");
}

// A tenant who may admit toolchains has his signed; whoever writes to the database copies the rows.
TEST_F(Toolchains, AnAdmissionOfAnotherInstanceIsRefused) {
  const Digest tree = putToolchain();  // the bytes alone admit nothing
  instance_ = "b";
  const v1::Toolchain theirs = added(putToolchain());
  const std::string bundle = storage::getBlob(*blobs_, "b", *fromProto(theirs.admission()), 1 << 20).value();
  instance_ = "default";
  put(bundle);
  const Status copied = pool_.acquire().value()->executeScript(
      "INSERT INTO toolchains (instance, label, hash, size, description, targets, added) SELECT 'default', "
      "label, hash, size, description, targets, added FROM toolchains; INSERT INTO toolchain_admissions "
      "(instance, label, locked, lock_hash, lock_size, payload_hash, bundle_hash, bundle_size, admitted) "
      "SELECT 'default', label, locked, lock_hash, lock_size, payload_hash, bundle_hash, bundle_size, "
      "admitted FROM toolchain_admissions");
  ASSERT_TRUE(copied) << copied.error().message;
  worker("w1");
  for (const std::string& name : {std::string(kLabel), tree.text()}) {
    v1::SubmitJobRequest wanted = request("k" + name);
    wanted.set_toolchain(name);
    v1::Job job;
    const grpc::Status refused = submit(wanted, &job);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::DATA_LOSS) << refused.error_message();
    EXPECT_NE(refused.error_message().find("another instance"), std::string::npos) << refused.error_message();
  }
  EXPECT_EQ(added(tree).change(), "admitted again") << "by whoever may here";
  v1::SubmitJobRequest wanted = request("k");
  wanted.set_toolchain(kLabel);
  EXPECT_EQ(*fromProto(submitted(wanted).toolchain_digest()), tree);
}

// As a release before admitted it.
TEST_F(Toolchains, AnAdmissionWithoutItsInstanceCountsUntilTheLabelIsAdmittedAgain) {
  const Digest tree = putToolchain();
  added(tree);
  const std::string said = admissionStatement(tree, {kBuilderId, kLabel, {}, clock_.now(), {}}).value();
  const Digest old =
      put(signer_.sign({.instance = "default", .statement = said, .subjectSize = tree.size, .receipts = {}})
              .value());
  ASSERT_TRUE(pool_.acquire().value()->executeScript(
      "SET session_replication_role = replica; UPDATE toolchain_admissions SET payload_hash = '\\x" +
      digestOf(said).hex() + "', bundle_hash = '\\x" + old.hex() +
      "', bundle_size = " + std::to_string(old.size) + "; SET session_replication_role = origin"));
  worker("w1");
  submitted(request("k1"));
  const v1::Toolchain again = added(tree);
  EXPECT_EQ(again.change(), "admitted again");
  EXPECT_EQ(verified(again)->instance, "default");
  EXPECT_EQ(added(tree).change(), "unchanged");
  submitted(request("k2"));
}

// What was verified once is verified again under the next root: a revoked key's word ends with the
// revocation, and not with the coordinator.
TEST_F(Toolchains, AnAdmissionCountsAsLongAsItsKeyDoes) {
  farm_.admissions.trustRoot = directory_ / "root.json";
  signing::TrustRoot root = signing::developmentRoot(key_.publicKey(), kBuilderId, clock_.now());
  const auto asked = [&] {
    EXPECT_TRUE(replaceFile(farm_.admissions.trustRoot, root.toJson().dump()));
    v1::SubmitJobRequest wanted = request("k" + std::to_string(++asked_), 1, "a model");
    v1::Job job;
    return submit(wanted, &job);
  };
  worker("w1");
  EXPECT_TRUE(replaceFile(farm_.admissions.trustRoot, root.toJson().dump()));
  added(putToolchain());
  EXPECT_TRUE(asked().ok());
  ++root.version;
  root.revocations.push_back({key_.publicKey().id(), clock_.now(), "stolen", {}});
  const grpc::Status refused = asked();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::DATA_LOSS) << refused.error_message();
  EXPECT_NE(refused.error_message().find("revoked"), std::string::npos) << refused.error_message();
  ++root.version;
  root.revocations.clear();
  EXPECT_TRUE(asked().ok());
}

// Another key of the farm, whose signatures go into the same records.
struct NextSigner {
  NextSigner(postgres::Pool& pool, const signing::Certificate& authority, storage::BlobStore& blobs,
             const Clock& clock)
      : records(pool, signing::LegacyRecords(""), key.publicKey(), clock),
        signer(key, authority, records, blobs, clock) {}
  const signing::PrivateKey key = signing::PrivateKey::create().value();
  signing::LoggedRecords records;
  signing::LocalSigner signer;
};

// However the root lets an admission's key go, the label can be admitted again, also by a clock put back.
TEST_F(Toolchains, ALabelIsAdmittedAgainWhenItsKeyCountsNoMore) {
  farm_.admissions.trustRoot = directory_ / "root.json";
  signing::TrustRoot root = signing::developmentRoot(key_.publicKey(), kBuilderId, clock_.now());
  const auto rooted = [&] {
    ++root.version;
    EXPECT_TRUE(replaceFile(farm_.admissions.trustRoot, root.toJson().dump()));
  };
  // From now on the farm signs with its key, and the root lists it and `kept`.
  const auto signsWith = [&](NextSigner& next, std::vector<signing::TrustedKey> kept) {
    signer_.instead = &next.signer;
    kept.push_back({next.key.publicKey(), root.keys[0].validFrom, root.keys[0].validUntil});
    root.keys = std::move(kept);
    root.builders[0].keys.clear();
    for (const signing::TrustedKey& each : root.keys) root.builders[0].keys.push_back(each.key.id());
    rooted();
  };
  const auto asked = [&] {
    v1::SubmitJobRequest wanted = request("k" + std::to_string(++asked_), 1, "a model");
    v1::Job job;
    return submit(wanted, &job);
  };
  const auto count = [&] { return pool_.execute("SELECT FROM toolchain_admissions")->size(); };
  rooted();
  worker("w1");
  const Digest tree = putToolchain(), lock = put(sampleLock().dump());
  const v1::Toolchain first = added(tree, lock);
  EXPECT_EQ(first.change(), "added");
  EXPECT_EQ(added(tree).change(), "unchanged");

  NextSigner second(pool_, authority_.certificate(), *blobs_, clock_);
  signsWith(second, {});
  const grpc::Status refused = asked();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::DATA_LOSS) << refused.error_message();
  EXPECT_NE(refused.error_message().find("kiln toolchain add"), std::string::npos) << refused.error_message();
  EXPECT_EQ(addToolchain(putToolchain(kLabel, "another compiler")).error_code(),
            grpc::StatusCode::ALREADY_EXISTS)
      << "another tree is no admission again";
  Json other = sampleLock();
  other["wheels"] = Json::array();
  EXPECT_EQ(codeOf(tree, put(other.dump())), grpc::StatusCode::ALREADY_EXISTS) << "nor is another lock";
  clock_.advance(-std::chrono::minutes(30));
  const v1::Toolchain again = added(tree);
  EXPECT_EQ(again.change(), "admitted again");
  EXPECT_EQ(*fromProto(again.lock()), lock) << "what it was made from is said again";
  EXPECT_NE(again.admission().hash(), first.admission().hash());
  EXPECT_EQ(shown(kLabel).admission().hash(), again.admission().hash());
  EXPECT_TRUE(shown(kLabel).change().empty());
  EXPECT_EQ(count(), 2) << "the first stays";
  EXPECT_TRUE(asked().ok());
  EXPECT_EQ(added(tree, lock).change(), "unchanged");

  root.revocations.push_back({second.key.publicKey().id(), clock_.now(), "stolen", {}});
  rooted();
  EXPECT_EQ(addToolchain(tree).error_code(), grpc::StatusCode::FAILED_PRECONDITION)
      << "a revoked key admits nothing";
  EXPECT_EQ(count(), 2);
  NextSigner third(pool_, authority_.certificate(), *blobs_, clock_);
  signsWith(third, root.keys);
  EXPECT_EQ(added(tree).change(), "admitted again");
  EXPECT_EQ(count(), 3);
  EXPECT_TRUE(asked().ok());
}

TEST_F(Toolchains, AnOldVersionStillGivesItsOldDigest) {
  added(putToolchain("kiln-1", "compiler 1"));
  const std::string old = built("k1", "");
  added(putToolchain("kiln-2", "compiler 2"), {}, true);
  EXPECT_TRUE(shown("kiln-2").is_default());
  const std::string newer = built("k2", "");
  EXPECT_NE(newer, old);
  EXPECT_EQ(built("k3", "kiln-1"), old);
  EXPECT_EQ(built("k4", "kiln-2"), newer);
}

}  // namespace
}  // namespace kiln::service
