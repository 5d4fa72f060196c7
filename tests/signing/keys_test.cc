#include "signing/keys/keys.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_directory.h"

namespace kiln::signing {
namespace {

TEST(Keys, SignAndVerify) {
  PrivateKey key = PrivateKey::create().value();
  std::string signature = key.sign(asBytes("message")).value();
  EXPECT_TRUE(key.publicKey().verify(asBytes("message"), asBytes(signature)));
  EXPECT_EQ(key.publicKey().verify(asBytes("Message"), asBytes(signature)).error().code, Code::kDataLoss);
  EXPECT_FALSE(PrivateKey::create()->publicKey().verify(asBytes("message"), asBytes(signature)));
  EXPECT_FALSE(key.publicKey().verify(asBytes("message"), {}));
  for (std::size_t i = 0; i < signature.size(); ++i) {
    std::string flipped = signature;
    flipped[i] = static_cast<char>(flipped[i] ^ 1);
    EXPECT_FALSE(key.publicKey().verify(asBytes("message"), asBytes(flipped))) << i;
  }
}

TEST(Keys, PublicKeysRoundTrip) {
  PublicKey key = PrivateKey::create()->publicKey();
  EXPECT_EQ(PublicKey::fromDer(key.der())->id(), key.id());
  EXPECT_EQ(PublicKey::fromPem(key.pem())->id(), key.id());
  EXPECT_EQ(key.id(), toBase64(digestOf(key.der()).hash));
  EXPECT_FALSE(PublicKey::fromDer(key.der() + "x"));
  EXPECT_FALSE(PublicKey::fromDer("not a key"));
  EXPECT_FALSE(PublicKey::fromPem("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n"));
}

TEST(Keys, OtherCurvesAreRefused) {
  // A P-384 and an Ed25519 public key.
  EXPECT_FALSE(PublicKey::fromPem(R"(-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=
-----END PUBLIC KEY-----
)"));
}

TEST(Keys, FilesArePrivate) {
  testing_support::TempDirectory dir;
  std::string path = dir.path() + "/k.pem";
  PrivateKey key = PrivateKey::create().value();
  ASSERT_TRUE(key.save(path));
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(PrivateKey::load(path)->publicKey().id(), key.publicKey().id());
  EXPECT_EQ(key.save(path).error().code, Code::kAlreadyExists);
  ::chmod(path.c_str(), 0640);
  auto open = PrivateKey::load(path);
  EXPECT_EQ(open.error().code, Code::kPermissionDenied);
  EXPECT_NE(open.error().message.find("chmod 600"), std::string::npos);
  ::chmod(path.c_str(), 0600);
  std::filesystem::create_symlink(path, dir.path() + "/link");
  EXPECT_FALSE(PrivateKey::load(dir.path() + "/link"));
  EXPECT_EQ(PrivateKey::load(dir.path() + "/none").error().code, Code::kNotFound);
  std::ofstream(dir.path() + "/bad") << "garbage";
  ::chmod((dir.path() + "/bad").c_str(), 0600);
  EXPECT_EQ(PrivateKey::load(dir.path() + "/bad").error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace kiln::signing
