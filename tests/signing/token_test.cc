// Keys in PKCS#11 tokens, with a real one: SoftHSM 2.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "signing/token/key_location.h"
#include "signing/token/session.h"
#include "tests/support/soft_token.h"

namespace kiln::signing {
namespace {

using testing_support::SoftToken;

class TokenTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!SoftToken::available()) GTEST_SKIP() << "SoftHSM 2 is not installed";
    ASSERT_TRUE(token_.add("farm"));
  }
  // The error of loading this key.
  Error refused(const std::string& where) {
    auto key = loadKey(where);
    return key ? Error{Code::kUnknown, "loaded", ""} : key.error();
  }
  // A key pair that the test makes by itself, with the token's own interface.
  void generate(std::string label, std::string id, std::string curve) {
    const TokenUri uri = TokenUri::parse(token_.uri("farm", "object=any")).value();
    const TokenSession session =
        TokenSession::open(TokenModule::load(SoftToken::kModule).value(), uri, true).value();
    CK_BBOOL yes = CK_TRUE;
    CK_ATTRIBUTE attributes[] = {{CKA_TOKEN, &yes, sizeof yes},
                                 {CKA_LABEL, label.data(), label.size()},
                                 {CKA_ID, id.data(), id.size()},
                                 {CKA_EC_PARAMS, curve.data(), curve.size()}};
    CK_MECHANISM mechanism{CKM_EC_KEY_PAIR_GEN, nullptr, 0};
    CK_OBJECT_HANDLE made[2];
    ASSERT_EQ(session->C_GenerateKeyPair(session.handle(), &mechanism, attributes, 4, attributes, 3, &made[0],
                                         &made[1]),
              CKR_OK);
  }

  static bool says(const Error& error, const std::string& what) {
    return error.message.find(what) != std::string::npos;
  }

  const std::string kP256 = std::string("\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07", 10);
  const std::string kP384 = std::string("\x06\x05\x2b\x81\x04\x00\x22", 7);
  SoftToken token_;
};

TEST_F(TokenTest, AKeyIsMadeInTheTokenSignsAndStaysThere) {
  const std::string where = token_.uri("farm", "object=signer");
  const auto made = createKey(where);
  ASSERT_TRUE(made) << made.error().message;
  const auto key = loadKey(where);
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(key->publicKey().id(), made->publicKey().id());
  for (int i = 0; i < 64; ++i) {  // numbers of every length
    const std::string message = "message " + std::to_string(i);
    const auto signature = key->sign(asBytes(message));
    ASSERT_TRUE(signature) << signature.error().message;
    EXPECT_TRUE(key->publicKey().verify(asBytes(message), asBytes(*signature)));
    EXPECT_FALSE(key->publicKey().verify(asBytes("another"), asBytes(*signature)));
  }
  testing_support::TempDirectory directory;
  EXPECT_EQ(key->save(directory / "stolen.pem").error().code, Code::kFailedPrecondition);
  EXPECT_FALSE(std::filesystem::exists(directory / "stolen.pem"));
  EXPECT_EQ(createKey(where).error().code, Code::kAlreadyExists);

  const TokenUri uri = TokenUri::parse(where).value();
  const TokenSession session = TokenSession::open(TokenModule::load(SoftToken::kModule).value(), uri).value();
  CK_OBJECT_CLASS kind = CKO_PRIVATE_KEY;
  const auto objects = session.find({{CKA_CLASS, &kind, sizeof kind}}).value();
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_FALSE(session.read(objects[0], CKA_VALUE).value()) << "the private number can be read";
  EXPECT_EQ(session.read(objects[0], CKA_EXTRACTABLE).value(), std::string(1, '\0'));
}

TEST_F(TokenTest, ManyThreadsSignWithOneKey) {
  const PrivateKey key = createKey(token_.uri("farm", "object=signer")).value();
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int n = 0; n < 16; ++n) {
        const std::string message = std::to_string(100 * i + n);
        const auto signature = key.sign(asBytes(message));
        if (signature && key.publicKey().verify(asBytes(message), asBytes(*signature))) ++good;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 4 * 16);
}

TEST_F(TokenTest, KeysOfAnyMakingServeIfTheyAreP256) {
  generate("one", "1", kP256);
  generate("other", "2", kP384);
  EXPECT_TRUE(loadKey(token_.uri("farm", "object=one")));
  EXPECT_TRUE(loadKey(token_.uri("farm", "object=one;id=1;type=private")));
  EXPECT_TRUE(loadKey(token_.uri("farm", "id=1")));
  const Error curve = refused(token_.uri("farm", "object=other"));
  EXPECT_EQ(curve.code, Code::kInvalidArgument) << curve.message;
  EXPECT_TRUE(says(curve, "P-256")) << curve.message;
  generate("one", "3", kP256);
  const Error two = refused(token_.uri("farm", "object=one"));
  EXPECT_TRUE(says(two, "several private keys")) << two.message;
  EXPECT_TRUE(loadKey(token_.uri("farm", "object=one;id=3")));
  generate("twin", "3", kP256);  // whose public key is id 3's?
  EXPECT_EQ(refused(token_.uri("farm", "object=twin")).code, Code::kNotFound);
}

TEST_F(TokenTest, WhatIsMissingIsNamed) {
  ASSERT_TRUE(createKey(token_.uri("farm", "object=signer")));
  const Error key = refused(token_.uri("farm", "object=other"));
  EXPECT_EQ(key.code, Code::kNotFound);
  EXPECT_TRUE(says(key, "\"farm\" (slot ") && says(key, "key \"other\"")) << key.message;
  const Error token = refused(token_.uri("another", "object=signer"));
  EXPECT_EQ(token.code, Code::kNotFound);
  EXPECT_TRUE(says(token, "\"farm\" (slot ")) << token.message;
  const Error module =
      refused("pkcs11:token=farm;object=signer?module-path=/nonexistent.so&pin-source=" + token_.pinFile());
  EXPECT_EQ(module.code, Code::kNotFound);
  EXPECT_TRUE(says(module, "/nonexistent.so")) << module.message;
  EXPECT_EQ(refused("pkcs11:object=signer?module-path=/bin/true&pin-source=" + token_.pinFile()).code,
            Code::kNotFound);
  ASSERT_TRUE(token_.add("farm"));
  EXPECT_TRUE(says(refused(token_.uri("farm", "object=signer")), "several tokens"));
}

TEST_F(TokenTest, ThePinComesFromAFileOfItsOwn) {
  const std::string where = token_.uri("farm", "object=signer");
  ASSERT_TRUE(createKey(where));
  token_.setPin("4321");
  const Error wrong = refused(where);
  EXPECT_EQ(wrong.code, Code::kPermissionDenied) << wrong.message;
  EXPECT_TRUE(says(wrong, token_.pinFile()) && says(wrong, "\"farm\" (slot ") && !says(wrong, "4321"))
      << wrong.message;
  token_.setPin("");
  EXPECT_EQ(refused(where).code, Code::kInvalidArgument);
  token_.setPin("1234");
  std::filesystem::permissions(token_.pinFile(), std::filesystem::perms(0640));
  const Error open = refused(where);
  EXPECT_EQ(open.code, Code::kPermissionDenied);
  EXPECT_TRUE(says(open, "chmod 600")) << open.message;
  std::filesystem::remove(token_.pinFile());
  EXPECT_EQ(refused(where).code, Code::kNotFound);
}

TEST_F(TokenTest, ATokenThatWasAwayIsAskedAgain) {
  const std::string where = token_.uri("farm", "object=signer"), aside = token_.tokens() + ".away";
  const PrivateKey key = createKey(where).value();
  ASSERT_TRUE(key.sign(asBytes("1")));
  std::filesystem::rename(token_.tokens(), aside);
  std::filesystem::create_directory(token_.tokens());
  const auto away = key.sign(asBytes("2"));
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().code, Code::kUnavailable) << away.error().message;
  EXPECT_FALSE(key.sign(asBytes("3")));
  // Another token of that name, with another key of that name, is not it.
  ASSERT_TRUE(token_.add("farm") && createKey(where));
  const auto other = key.sign(asBytes("4"));
  ASSERT_FALSE(other);
  EXPECT_TRUE(says(other.error(), "another key than before")) << other.error().message;
  std::filesystem::remove_all(token_.tokens());
  std::filesystem::rename(aside, token_.tokens());
  const auto back = key.sign(asBytes("5"));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(key.publicKey().verify(asBytes("5"), asBytes(*back)));
}

TEST_F(TokenTest, AWrongPinIsTriedOnce) {
  const std::string where = token_.uri("farm", "object=signer"), rightPin = token_.pinFile() + ".right";
  const PrivateKey key = createKey(where).value();
  std::filesystem::copy_file(token_.pinFile(), rightPin);
  const TokenUri uri = TokenUri::parse(where).value();
  const TokenUri rightUri =
      TokenUri::parse("pkcs11:token=farm;object=signer?module-path=" + std::string(SoftToken::kModule) +
                      "&pin-source=" + rightPin)
          .value();
  // Logs in with the right PIN, which makes the token forget wrong ones, and out again, all of this process.
  const auto logOut = [&] {
    const auto session = TokenSession::open(TokenModule::load(SoftToken::kModule).value(), rightUri).value();
    ASSERT_EQ(session->C_Logout(session.handle()), CKR_OK);
  };
  const auto wrongPinWasTried = [&] {
    const auto module = TokenModule::load(SoftToken::kModule).value();
    CK_SLOT_ID slots[8];
    CK_ULONG count = std::size(slots);
    EXPECT_EQ((*module)->C_GetSlotList(CK_TRUE, slots, &count), CKR_OK);
    for (CK_ULONG i = 0; i < count; ++i) {
      CK_TOKEN_INFO info{};
      EXPECT_EQ((*module)->C_GetTokenInfo(slots[i], &info), CKR_OK);
      if (uri.matchesToken(info, slots[i])) return (info.flags & CKF_USER_PIN_COUNT_LOW) != 0;
    }
    ADD_FAILURE() << "the token is gone";
    return false;
  };
  logOut();
  EXPECT_TRUE(key.sign(asBytes("1"))) << "its session ended, its PIN is right";
  logOut();
  EXPECT_FALSE(wrongPinWasTried());
  token_.setPin("4321");
  const auto first = key.sign(asBytes("2"));
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, Code::kUnavailable) << "a caller comes again";
  EXPECT_TRUE(says(first.error(), token_.pinFile()) && says(first.error(), "not tried again"))
      << first.error().message;
  EXPECT_TRUE(wrongPinWasTried());
  logOut();
  EXPECT_FALSE(wrongPinWasTried());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(key.sign(asBytes("3")).error().message, first.error().message);
  EXPECT_FALSE(wrongPinWasTried()) << "each signature brings the token nearer to locking itself";
  token_.setPin("1234");
  std::filesystem::last_write_time(token_.pinFile(),
                                   std::filesystem::last_write_time(rightPin) + std::chrono::hours(1));
  const auto signature = key.sign(asBytes("4"));
  ASSERT_TRUE(signature) << signature.error().message;
  EXPECT_TRUE(key.publicKey().verify(asBytes("4"), asBytes(*signature)));
}

TEST(TokenUri, IsReadStrictly) {
  const std::string good = "pkcs11:token=a;object=b?module-path=/m.so&pin-source=/pin";
  const TokenUri uri = TokenUri::parse(good).value();
  EXPECT_EQ(uri.modulePath(), "/m.so");
  EXPECT_EQ(uri.pinFile(), "/pin");
  EXPECT_EQ(uri.label(), "b");
  EXPECT_EQ(TokenUri::parse("pkcs11:id=%01%ff?module-path=/m.so&pin-source=file:/pin")->key(),
            "key with id 01ff");
  EXPECT_TRUE(TokenUri::is(good));
  EXPECT_FALSE(TokenUri::is("keys/signer.pem"));
  for (const std::string bad :
       {"pkcs11:", "pkcs11:object=b", "pkcs11:object=b?module-path=/m.so", "pkcs11:object=b?pin-source=/pin",
        "pkcs11:token=a?module-path=/m.so&pin-source=/pin",
        "pkcs11:object=b?module-path=m.so&pin-source=/pin",
        "pkcs11:object=b?module-path=/m.so&pin-source=|echo%201234",
        "pkcs11:object=b?module-path=/m.so&pin-source=pin",
        "pkcs11:object=b?module-path=/m.so&pin-source=/pin&pin-value=1234",
        "pkcs11:object=b;type=public?module-path=/m.so&pin-source=/pin",
        "pkcs11:object=b;colour=red?module-path=/m.so&pin-source=/pin",
        "pkcs11:object=%zz?module-path=/m.so&pin-source=/pin", "http://x"}) {
    const auto parsed = TokenUri::parse(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().code, Code::kInvalidArgument) << bad;
    EXPECT_EQ(parsed.error().message.find("1234"), std::string::npos) << "a PIN is not repeated";
  }
  EXPECT_FALSE(TokenUri::parse(good + std::string(5000, 'x')));
  EXPECT_FALSE(TokenUri::parse(good + std::string(1, '\0')));
}

}  // namespace
}  // namespace kiln::signing
