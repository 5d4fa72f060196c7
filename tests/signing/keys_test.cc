#include "signing/keys/keys.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "signing/keys/files.h"
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

TEST(Keys, NothingIsLeftOfAFileThatCouldNotBeWritten) {
  const testing_support::TempDirectory directory;
  const std::string key = directory / "k.key", certificate = directory / "k.pem";
  ASSERT_TRUE(writeTextFile(directory / "there", "text"));
  EXPECT_EQ(writeTextFile(directory / "there", "other").error().code, Code::kAlreadyExists);
  const auto earlier = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit few{100, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &few), 0);
  const Status saved = PrivateKey::create()->save(key), empty = writeSecretFile(key, "short");
  const Status half = writePublicHalf(certificate, std::string(200, 'x'), key);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, earlier);
  ASSERT_FALSE(saved) << "as on a full disk";
  EXPECT_EQ(saved.error().code, Code::kResourceExhausted);
  EXPECT_NE(saved.error().message.find(key), std::string::npos) << saved.error().message;
  EXPECT_TRUE(empty) << "what was there before is not in the way";
  EXPECT_FALSE(half);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
    names.push_back(entry.path().filename());
  EXPECT_EQ(names, std::vector<std::string>{"there"}) << "neither half of the pair";
}

TEST(TrustFiles, OthersMayNotWriteThem) {
  testing_support::TempDirectory dir;
  const std::string folder = dir / "trust", path = folder + "/root.json";
  std::filesystem::create_directory(folder);
  std::ofstream(path) << "content";
  const auto verdict = [&](mode_t file, mode_t directory) {
    EXPECT_EQ(::chmod(path.c_str(), file), 0);
    EXPECT_EQ(::chmod(folder.c_str(), directory), 0);
    const auto read = readTrustFile(path, 100);
    if (!read) {
      EXPECT_EQ(read.error().code, Code::kPermissionDenied) << read.error().message;
    }
    return read.has_value();
  };
  EXPECT_TRUE(verdict(0644, 0755));
  EXPECT_TRUE(verdict(0400, 0700));
  EXPECT_FALSE(verdict(0646, 0755));
  EXPECT_FALSE(verdict(0666, 0755));
  EXPECT_FALSE(verdict(0644, 0757));
  EXPECT_TRUE(verdict(0644, 01777)) << "as in /tmp";
  EXPECT_FALSE(verdict(0666, 01777));
  EXPECT_EQ(verdict(0664, 0775), ::getuid() == ::getgid()) << "of the user's own group or another";
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  const auto verdictAs = [&](uid_t reader, uid_t file, uid_t directory, mode_t mode) {
    EXPECT_EQ(::chown(path.c_str(), file, file), 0);
    EXPECT_EQ(::chown(folder.c_str(), directory, directory), 0);
    EXPECT_EQ(::chmod(dir.path().c_str(), 0711), 0);
    EXPECT_EQ(::chmod(folder.c_str(), mode), 0);
    EXPECT_EQ(::seteuid(reader), 0);
    const bool read = readTrustFile(path, 100).has_value();
    EXPECT_EQ(::seteuid(0), 0);
    return read;
  };
  (void)verdict(0644, 0755);
  EXPECT_TRUE(verdictAs(65534, 0, 0, 0755));
  EXPECT_TRUE(verdictAs(65534, 65534, 0, 0755));
  EXPECT_FALSE(verdictAs(65534, 1234, 0, 0755));
  EXPECT_FALSE(verdictAs(65534, 0, 1234, 01777));
  EXPECT_FALSE(verdictAs(65534, 0, 1234, 0755)) << "the owner of a sticky folder may put another file there";
  EXPECT_TRUE(verdictAs(0, 1234, 1234, 0755)) << "root names what it trusts";
  EXPECT_EQ(::chown(path.c_str(), 0, 65534), 0);
  EXPECT_FALSE(verdict(0664, 0755)) << "another group";
}

TEST(TrustFiles, AreRegularFilesWithinTheirLimit) {
  testing_support::TempDirectory dir;
  const std::string path = dir / "root.json";
  EXPECT_EQ(readTrustFile(path, 10).error().code, Code::kNotFound);
  std::ofstream(path) << "0123456789";
  EXPECT_EQ(readTrustFile(path, 10).value(), "0123456789");
  EXPECT_EQ(readTrustFile(path, 9).error().code, Code::kInvalidArgument);
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(readTrustFile(dir / "fifo", 10).error().code, Code::kInvalidArgument) << "and it does not wait";
}

}  // namespace
}  // namespace kiln::signing
