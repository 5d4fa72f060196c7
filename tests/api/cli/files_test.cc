// Every option that names a file, with every kind of thing that may lie there instead.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "signing/keys/ed25519.h"
#include "signing/log/verifier_key.h"
#include "tests/api/cli/kiln_process.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;
using testing_support::KilnResult;
using testing_support::runKiln;
using Words = std::vector<std::string>;

const std::string kFile = "@";  // stands for the file in a line
const std::string kDigest = "sha256:" + std::string(64, '0');

struct Line {
  Words words;
  std::set<std::string> fine = {};  // kinds of files that the option takes
};

struct KilnFiles : testing::Test {
  testing_support::TempDirectory directory;

  void SetUp() override {
    ASSERT_EQ(kiln({"trust", "init", "--out", "root.json", "--keys", "keys", "--threshold", "1", "--of", "1",
                    "--recall-keys", "1"})
                  .exit,
              0);
    const auto log = signing::Ed25519PrivateKey::create().value();
    ASSERT_TRUE(log.save(directory / "log.key"));
    write("log.vkey",
          signing::VerifierKey{"log.example", signing::NoteKeyKind::kEd25519, log.publicKey()}.text());
    ASSERT_EQ(kiln({"trust", "add-key", "root.json", "--role", "log", "--id", "log.example", "--public",
                    "log.key", "--out", "logged.json", "--key", "keys/root-1.key"})
                  .exit,
              0);
    fs::create_directories(directory / "d");
    write("predicate.json", "{}");
    write("cert.pem", "-----BEGIN CERTIFICATE-----\n");
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory / name) << text;
    ::chmod((directory / name).c_str(), 0600);
  }
  // A new thing of this kind; its path.
  std::string make(const std::string& kind) {
    const std::string name = kind + std::to_string(++made_), path = directory / name;
    if (kind == "folder") fs::create_directory(path);
    if (kind == "empty") write(name, "");
    if (kind == "garbage") write(name, "garbage");
    if (kind == "fifo") EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    return path;
  }
  KilnResult kiln(const Words& words) const {
    return runKiln(words, {{"KILN_WAIT", "0s"}}, directory.path());
  }

 private:
  int made_ = 0;
};

std::vector<Line> lines() {
  const auto with = [](Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const Words root{"--trust-root", "root.json"}, sign{"--sign-with", "keys/recall-1.key"};
  const Words recall = with({"recall", "--artifact", kDigest, "--reason", "r", "--unmatched"}, root),
              attest{"attest", kDigest, "--type", "urn:x"}, away{"jobs", "--endpoint", "localhost:1"};
  const std::set<std::string> any{"empty", "garbage"};
  std::vector<Line> out{
      {with({"verify", kFile}, root)},
      {{"verify", "d", "--trust-root", kFile}},
      {with({"verify", "d", "--policy", kFile}, root)},
      {with({"verify", "d", "--recalls", kFile}, root)},
      {with({"show", kFile}, root)},
      {with({"provenance", kFile}, root)},
      {with({"run", kFile}, root)},
      {with({"warmup", kFile}, root)},
      {with({"export", kFile, "--oci", "o"}, root)},
      {with({"check", "d", "--plan", kFile}, root)},
      {{"diff", kFile, "d"}},
      {{"inspect", kFile}},
      {{"build", kFile, "--target", "cpu:x86-64-v3", "--endpoint", "unix:/nowhere/coordinator.sock"}},
      {{"trust", "show", kFile}},
      {{"trust", "show", "root.json", "--previous", kFile}},
      {{"trust", "add-key", kFile, "--id", "urn:x", "--public", "keys/root-1.key", "--out", "n"}},
      {{"trust", "add-key", "root.json", "--id", "urn:x", "--public", kFile, "--out", "n"}},
      {{"trust", "add-key", "root.json", "--id", "l", "--role", "witness", "--public", "log.key", "--out",
        "n", "--key", kFile}},
      {{"trust", "rotate", kFile, "--id", "urn:x", "--public", "keys/root-1.key", "--out", "n"}},
      {{"trust", "rotate", "root.json", "--id", "urn:x", "--public", kFile, "--out", "n"}},
      {{"trust", "revoke", kFile, "--keyid", "x", "--reason", "r", "--out", "n"}},
      {{"trust", "sign", kFile, "--key", "keys/root-1.key"}},
      {{"trust", "sign", "root.json", "--key", kFile}},
      {{"trust", "sign", "root.json", "--key", "keys/root-1.key", "--out", "n", "--previous", kFile}},
      {with({"recall", "--artifact", kDigest, "--reason", "r", "--unmatched", "--trust-root", kFile}, sign)},
      {with(recall, {"--sign-with", kFile})},
      {with(recall, with(sign, {"--recalls", kFile})), {"missing"}},
      {with(recall, with(sign, {"--checkpoint", kFile})), any},  // the root has no log
      {with({"recall", "--artifact", kDigest, "--reason", "r", "--unmatched", "--trust-root", "logged.json",
             "--checkpoint", kFile},
            sign)},
      {with(recall, with(sign, {"--listed", kFile})), {"empty"}},
      {with({"recall", "--source", kFile, "--reason", "r", "--unmatched"}, with(root, sign)), any},
      {with({"recall", "--cosign", kFile}, with(root, sign))},
      {with(attest, {"--key", "keys/root-1.key", "--predicate", kFile})},
      {with(attest, {"--key", kFile, "--predicate", "predicate.json"})},
      {{"attest", kFile, "--type", "urn:x", "--key", "keys/root-1.key", "--predicate", "predicate.json"}},
      {with({"rebuild", "--offline", kFile}, root)},
      {with({"rebuild", "--offline", "d", "--key", kFile}, root)},
      {{"log", "verify", "--log", "d", "--log-key", kFile}},
      {{"log", "verify", "--log", "d", "--trust-root", kFile}},
      {{"log", "verify", "--log", kFile, "--log-key", "log.vkey"}},
      {{"log", "witness", "--name", "w", "--key", "w", "--state", "state", "--log-key", kFile}},
      {{"audit", "--endpoint", "unix:/nowhere/c.sock", "--trust-root", kFile}},
      {{"audit", "--endpoint", "unix:/nowhere/c.sock", "--trust-root", "logged.json", "--log", "d",
        "--checkpoint", kFile},
       {"missing"}},
      {with({"audit", "--endpoint", "unix:/nowhere/c.sock", "--recalls", kFile}, root)},
      {{"toolchain", "add", kFile, "--endpoint", "unix:/nowhere/c.sock"}},
      {{"toolchain", "add", "d", "--label", "l", "--endpoint", "unix:/nowhere/c.sock", "--lock", kFile}},
      {{"affected", "--endpoint", "unix:/nowhere/c.sock", "--source", kFile}, any},
      {with(away, {"--tls-ca", kFile, "--tls-cert", "cert.pem", "--tls-key", "keys/root-1.key"})},
      {with(away, {"--tls-ca", "cert.pem", "--tls-cert", kFile, "--tls-key", "keys/root-1.key"})},
      {with(away, {"--tls-ca", "cert.pem", "--tls-cert", "cert.pem", "--tls-key", kFile})},
      {with(away, {"--tls-ca", "cert.pem", "--token-file", kFile}), {"garbage"}}};
  return out;
}

TEST_F(KilnFiles, TheMessageNamesTheFileOnceAndTheCodeSaysWhetherItIsThere) {
  for (const Line& line : lines())
    for (const std::string kind : {"missing", "folder", "empty", "garbage", "fifo"}) {
      if (line.fine.contains(kind)) continue;
      const std::string path = make(kind);
      Words words = line.words;
      for (std::string& word : words)
        if (word == kFile) word = path;
      const KilnResult result = kiln(words);
      const std::string what = testing::PrintToString(words) + result.err;
      if (kind == "missing")
        EXPECT_EQ(result.exit, 6) << what;
      else  // 6: there is no artifact of that name, whatever lies there
        EXPECT_TRUE(result.exit == 2 || result.exit == 3 || result.exit == 5 || result.exit == 6 ||
                    result.exit == 8)
            << result.exit << what;
      const auto begin = result.err.find("kiln: error: ");
      ASSERT_NE(begin, std::string::npos) << what;
      std::size_t named = 0;
      for (auto at = result.err.find(path, begin); at != std::string::npos;
           at = result.err.find(path, at + 1))
        ++named;
      EXPECT_EQ(named, 1u) << what;
    }
}

}  // namespace
}  // namespace kiln
