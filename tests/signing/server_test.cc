// kiln-signer over its socket, and the parts around the signing itself.
#include "signing/server/server.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "signing/bundle/bundle.h"
#include "signing/keys/files.h"
#include "signing/log/verifier_key.h"
#include "signing/receipt/worker_identity.h"
#include "signing/server/key_commands.h"
#include "signing/token/key_location.h"
#include "tests/signing/farm_fixture.h"
#include "tests/support/soft_token.h"

namespace kiln::signing {
namespace {

TEST(KeyCommands, TheKeyOfALogNamesItsPublicHalf) {
  const testing_support::TempDirectory directory;
  const std::string file = directory / "log.key";
  ASSERT_TRUE(Ed25519PrivateKey::create()->save(file));
  const auto refused = publicKeyPem(file);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  for (const std::string& part : {file, std::string(".vkey"), std::string("kiln trust add-key")})
    EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
}

TEST(SignerServer, SignsOverItsSocket) {
  Farm farm;
  std::string address = "unix:" + farm.directory / "signer.sock";
  auto server = SignerServer::start(address, farm.signer);
  ASSERT_TRUE(server) << server.error().message;
  struct stat status{};
  ASSERT_EQ(::stat((farm.directory / "signer.sock").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 077, 0u);

  auto client = connectSigner(address);
  EXPECT_EQ(client->publicKeyPem().value(), farm.key.publicKey().pem());
  auto bundle = client->sign(farm.request());
  ASSERT_TRUE(bundle) << bundle.error().message;
  EXPECT_EQ(*bundle, farm.sign());

  SignRequest bad = farm.request();
  bad.statement = "{}";
  EXPECT_EQ(client->sign(bad).error().code, Code::kInvalidArgument);
  bad = farm.request();
  bad.instance = "other";
  bad.statement = provenanceStatement(digestOf("another"), farm.provenance).value();
  EXPECT_EQ(client->sign(bad).error().code, Code::kFailedPrecondition);

  (*server)->stop();
  auto gone = connectSigner(address, std::chrono::milliseconds(300))->publicKeyPem();
  ASSERT_FALSE(gone);
  EXPECT_NE(gone.error().message.find(address), std::string::npos);
}

TEST(SignerServer, SignsWithAKeyInAToken) {
  if (!testing_support::SoftToken::available()) GTEST_SKIP() << "SoftHSM 2 is not installed";
  const testing_support::SoftToken token;
  ASSERT_TRUE(token.add("farm"));
  const PrivateKey key = createKey(token.uri("farm", "object=signer;id=%01%02")).value();
  Farm farm;
  LocalSigner signer(key, farm.authority.certificate(), farm.records, farm.store, farm.clock);
  const std::string address = "unix:" + farm.directory / "signer.sock";
  auto server = SignerServer::start(address, signer);
  ASSERT_TRUE(server) << server.error().message;
  const auto client = connectSigner(address);
  EXPECT_EQ(client->publicKeyPem().value(), key.publicKey().pem());
  const auto text = client->sign(farm.request());
  ASSERT_TRUE(text) << text.error().message;
  const Bundle bundle = parseBundle(*text).value();
  EXPECT_EQ(bundle.keyId, key.publicKey().id());
  EXPECT_TRUE(verifyEnvelope(bundle.envelope, std::array{key.publicKey()}));
  // While the token is away nothing is signed, and it is said that it may come back.
  std::filesystem::rename(token.tokens(), token.tokens() + ".away");
  std::filesystem::create_directory(token.tokens());
  farm.provenance.invocationId = "job-2";
  const auto away = client->sign(farm.request());
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().code, Code::kUnavailable) << away.error().message;
  std::filesystem::remove_all(token.tokens());
  std::filesystem::rename(token.tokens() + ".away", token.tokens());
  EXPECT_TRUE(client->sign(farm.request()));
  (*server)->stop();
}

TEST(SignerServer, ListensOnUnixSocketsOnly) {
  Farm farm;
  EXPECT_EQ(SignerServer::start("127.0.0.1:0", farm.signer).error().code, Code::kInvalidArgument);
  EXPECT_EQ(SignerServer::start("unix:/nonexistent/dir/s.sock", farm.signer).error().code,
            Code::kUnavailable);
}

TEST(KeyCommands, MakeWhatAFarmNeeds) {
  testing_support::TempDirectory directory;
  FixedClock clock("2026-11-20T06:00:00Z");
  ASSERT_TRUE(makeKey(directory / "signer.pem"));
  ASSERT_TRUE(makeWorkerCa(directory / "keys", clock));
  ASSERT_TRUE(makeWorkerCertificate(directory / "keys", "w1", "acme", directory / "keys/w1", clock));
  WorkerIdentity worker = WorkerIdentity::load(directory / "keys/w1.pem", directory / "keys/w1.key").value();
  Certificate authority =
      Certificate::fromPem(readTextFile(directory / "keys/worker-ca.pem", 1 << 16).value()).value();
  std::string receipt = worker.sign({digestOf("a"), "lease", 1, "", "", 0, digestOf("policy"), {}}).value();
  EXPECT_TRUE(
      verifyReceipt(receipt, Certificate::fromPem(worker.certificatePem()).value(), authority, clock.now()));

  const VerifierKey log{"log.example", NoteKeyKind::kEd25519, Ed25519PrivateKey::create()->publicKey()};
  ASSERT_TRUE(writeTextFile(directory / "log.vkey", log.text() + "\n"));
  RootOptions options{
      .key = directory / "signer.pem", .builderId = kBuilderId, .logKey = directory / "log.vkey"};
  EXPECT_FALSE(makeRoot(options, directory / "root.json", clock));
  options.development = true;
  ASSERT_TRUE(makeRoot(options, directory / "root.json", clock));
  EXPECT_FALSE(TrustRoot::load(directory / "root.json")->recallKeys);
  ASSERT_TRUE(makeKey(directory / "recall.pem"));
  options.recallKey = directory / "recall.pem";
  ASSERT_TRUE(makeRoot(options, directory / "recall-root.json", clock));
  EXPECT_TRUE(TrustRoot::load(directory / "recall-root.json")->recallKeys);
  TrustRoot root = TrustRoot::load(directory / "root.json").value();
  EXPECT_TRUE(root.development);
  ASSERT_EQ(root.logs.size(), 1u);
  EXPECT_EQ(root.logs[0].origin, "log.example");
  EXPECT_TRUE(root.checkSigner(PrivateKey::load(directory / "signer.pem")->publicKey().id(), kBuilderId,
                               clock.now()));

  for (const Status& again : {makeKey(directory / "signer.pem"), makeWorkerCa(directory / "keys", clock),
                              makeRoot(options, directory / "root.json", clock)})
    EXPECT_EQ(again.error().code, Code::kAlreadyExists);
}

}  // namespace
}  // namespace kiln::signing
