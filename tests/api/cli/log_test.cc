// `kiln log` and logs that lie: what they say is evidence, and what they are is named.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "manifest/base/durable_file.h"
#include "signing/follow/tile_directory.h"
#include "signing/keys/files.h"
#include "signing/log/checkpoint.h"
#include "tests/api/cli/kiln_process.h"

namespace kiln {
namespace {

using testing_support::KilnResult;
using testing_support::runKiln;

std::size_t countIn(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// A log of five entries in a directory.
struct KilnLog : testing::Test {
  testing_support::TempDirectory directory;
  const signing::Ed25519PrivateKey key = signing::Ed25519PrivateKey::create().value();
  const signing::VerifierKey log{"log.example", signing::NoteKeyKind::kEd25519, key.publicKey()};
  const std::string where = directory / "log", vkey = directory / "log.vkey";

  void SetUp() override {
    auto tiles = signing::WritableTiles::open(where).value();
    ASSERT_TRUE(tiles.write(signing::grow(tiles, 0, std::vector<std::string>(5, "entry")).value()));
    ASSERT_TRUE(tiles.publish(checkpoint(5)));
    ASSERT_TRUE(signing::writeTextFile(vkey, log.text() + "\n"));
  }
  std::string checkpoint(std::uint64_t size) {
    signing::TileDirectory tiles(where);
    signing::TileTree tree(tiles, 5);
    return signing::signCheckpoint({log.name, size, signing::treeRoot(tree, size).value()}, key)
        .value()
        .toString();
  }
  void publish(const std::string& text) { ASSERT_TRUE(replaceFile(where + "/checkpoint", text)); }
  KilnResult kiln(std::vector<std::string> words, const std::string& at) {
    words.insert(words.begin(), "log");
    words.insert(words.end(), {"--log", at, "--log-key", vkey, "--wait", "0s"});
    return runKiln(words, {}, directory.path());
  }
  const std::vector<std::vector<std::string>> readers{
      {"checkpoint"}, {"prove", "inclusion", "0"}, {"prove", "consistency", "2"}, {"verify"}};
};

TEST_F(KilnLog, WhatALogSaysIsEvidenceAndNoUsageError) {
  const std::string good = checkpoint(5);
  for (const auto& words : readers)
    if (words[0] != "verify") EXPECT_EQ(kiln(words, where).exit, 0) << words[0];
  std::vector<std::string> lies{"",
                                "garbage",
                                "\n\n\n",
                                std::string("\0\1", 2),
                                std::string(70'000, 'x'),
                                "log.example\n-5\n" + good.substr(good.find('\n', 12) + 1)};
  for (std::size_t cut = 1; cut < good.size(); cut += 7) lies.push_back(good.substr(0, cut));
  for (const std::string& lie : lies) {
    publish(lie);
    for (const auto& words : readers) {
      const auto refused = kiln(words, where);
      EXPECT_EQ(refused.exit, 5) << words[0] << ": " << lie.substr(0, 100) << refused.err;
      EXPECT_EQ(countIn(refused.err, where), 1u) << refused.err;
    }
  }
}

TEST_F(KilnLog, ALogThatCutsOrWithholdsWhatItSignedIsNamed) {
  const std::string before = directory / "before";
  ASSERT_TRUE(signing::writeTextFile(before, checkpoint(5)));
  publish(checkpoint(3));
  const auto cut = kiln({"verify", "--since", before}, where);
  EXPECT_EQ(cut.exit, 5);
  EXPECT_EQ(countIn(cut.err, where), 1u) << cut.err;
  EXPECT_NE(cut.err.find("had 5 entries and has 3"), std::string::npos) << cut.err;
  publish(checkpoint(5));
  std::filesystem::remove_all(where + "/tile/0");
  for (const auto& words : readers) {
    if (words[0] == "checkpoint") continue;
    const auto withheld = kiln(words, where);
    EXPECT_EQ(withheld.exit, 5) << words[0] << withheld.err;
    EXPECT_EQ(countIn(withheld.err, where), 1u) << withheld.err;
  }
}

TEST_F(KilnLog, WhatTheCallerAsksForIsTheCallersFault) {
  EXPECT_EQ(kiln({"prove", "inclusion", "5"}, where).exit, 2);
  EXPECT_EQ(kiln({"prove", "consistency", "6"}, where).exit, 2);
  EXPECT_EQ(kiln({"checkpoint"}, directory / "none").exit, 6);
  EXPECT_EQ(kiln({"checkpoint"}, vkey).exit, 2) << "a file";
  const std::string before = directory / "before";
  ASSERT_TRUE(signing::writeTextFile(before, "garbage"));
  const auto unread = kiln({"verify", "--since", before}, where);
  EXPECT_EQ(unread.exit, 2);
  EXPECT_EQ(countIn(unread.err, before), 1u) << unread.err;
}

TEST_F(KilnLog, AnotherLogIsNamedWithItsKeyAndWhatToDo) {
  const auto other = signing::Ed25519PrivateKey::create().value();
  const signing::VerifierKey stranger{"other.example", signing::NoteKeyKind::kEd25519, other.publicKey()};
  publish(signing::signCheckpoint({stranger.name, 0, signing::emptyTreeHash()}, other).value().toString());
  for (const auto& words : readers) {
    const auto refused = kiln(words, where);
    EXPECT_EQ(refused.exit, 5) << words[0];
    const std::string seen = stranger.name + "+" + stranger.text().substr(stranger.name.size() + 1, 8);
    for (const std::string& part : {where, seen, std::string("--log-key"), std::string("kiln trust add-key")})
      EXPECT_NE(refused.err.find(part), std::string::npos) << part << " in " << refused.err;
  }
}

// Of the log's own name, too: whose key nobody trusts proves nothing. Each key that it had is one.
TEST_F(KilnLog, ACheckpointUnderAnotherKeyOfTheLogDoesNotVerifyUntilThatIsNamed) {
  const auto other = signing::Ed25519PrivateKey::create().value();
  const std::string next = directory / "next.vkey", before = directory / "before";
  ASSERT_TRUE(signing::writeTextFile(
      next, signing::VerifierKey{log.name, log.kind, other.publicKey()}.text() + "\n"));
  ASSERT_TRUE(signing::writeTextFile(before, checkpoint(3)));
  signing::TileDirectory tiles(where);
  signing::TileTree tree(tiles, 5);
  publish(
      signing::signCheckpoint({log.name, 5, signing::treeRoot(tree, 5).value()}, other).value().toString());
  for (const auto& words : readers) {
    EXPECT_EQ(kiln(words, where).exit, 5) << words[0];
    auto both = words;
    both.insert(both.end(), {"--log-key", next});
    const auto read = kiln(both, where);
    if (words[0] != "verify")
      EXPECT_EQ(read.exit, 0) << words[0] << read.err;
    else
      EXPECT_NE(read.err.find("entry 0"), std::string::npos) << "as far as its entries: " << read.err;
  }
  const auto since = kiln({"verify", "--since", before, "--log-key", next}, where);
  EXPECT_NE(since.err.find("entry 0"), std::string::npos)
      << "on from the old key's checkpoint: " << since.err;
}

// A witness cosigns under the name that its .vkey gives to others, or not at all.
TEST_F(KilnLog, AWitnessHasTheNameAndTheKeysOfItsPair) {
  const auto ours = signing::Ed25519PrivateKey::create().value();
  const std::string pair = directory / "wit";
  ASSERT_TRUE(ours.save(pair + ".key"));
  const auto publish = [&](const std::string& name, signing::NoteKeyKind kind,
                           const signing::Ed25519PublicKey& key) {
    ASSERT_TRUE(replaceFile(pair + ".vkey", signing::VerifierKey{name, kind, key}.text() + "\n"));
  };
  const auto refused = [&](const std::string& name, const std::string& prefix, const std::string& part) {
    const auto done = runKiln({"log", "witness", "--name", name, "--key", prefix, "--state",
                               directory / "state", "--log-key", vkey},
                              {}, directory.path());
    EXPECT_EQ(done.exit, 2) << done.err;
    EXPECT_NE(done.err.find(part), std::string::npos) << part << " in " << done.err;
  };
  publish("wit.example", signing::NoteKeyKind::kCosignature, ours.publicKey());
  refused("wit9", pair, "wit.example");
  refused("a b", directory / "new", "spaces");
  refused("a+b", directory / "new", "'+'");
  refused("wit.example", pair + ".key", "PREFIX");
  EXPECT_FALSE(std::filesystem::exists(directory / "new.key"));
  EXPECT_FALSE(std::filesystem::exists(pair + ".key.key"));
  publish("wit.example", signing::NoteKeyKind::kCosignature, key.publicKey());
  refused("wit.example", pair, "does not belong");
  publish("wit.example", signing::NoteKeyKind::kEd25519, ours.publicKey());
  refused("wit.example", pair, "of a log");
}

// Answers each connection with the same body, whatever was asked.
class LyingServer {
 public:
  explicit LyingServer(const std::string& body)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        answer_("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n" + body) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address_), size), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address_), &size), 0);
    EXPECT_EQ(::listen(socket_, 8), 0);
    thread_ = std::thread([this] {
      for (int one; (one = ::accept(socket_, nullptr, nullptr)) >= 0; ::close(one)) {
        char asked[4096];
        (void)!::read(one, asked, sizeof asked);
        (void)!::send(one, answer_.data(), answer_.size(), MSG_NOSIGNAL);
        ::shutdown(one, SHUT_WR);
        while (::read(one, asked, sizeof asked) > 0) continue;
      }
    });
  }
  ~LyingServer() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  LyingServer(const LyingServer&) = delete;
  LyingServer& operator=(const LyingServer&) = delete;
  std::string url() const { return "http://127.0.0.1:" + std::to_string(ntohs(address_.sin_port)) + "/log"; }

 private:
  const int socket_;
  const std::string answer_;
  sockaddr_in address_{};
  std::thread thread_;
};

TEST_F(KilnLog, TheSameOverHttpNamesTheUrl) {
  for (const std::string& lie : {std::string("<html>blocked</html>"), checkpoint(5).substr(0, 30),
                                 std::string(100'000, 'x'), std::string()}) {
    const LyingServer server(lie);
    for (const auto& words : readers) {
      const auto refused = kiln(words, server.url());
      EXPECT_EQ(refused.exit, 5) << words[0] << ": " << lie.substr(0, 40) << refused.err;
      EXPECT_EQ(countIn(refused.err, server.url()), 1u) << refused.err;
    }
  }
}

}  // namespace
}  // namespace kiln
