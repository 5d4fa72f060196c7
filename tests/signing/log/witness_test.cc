#include "signing/witness/witness.h"
#include "manifest/base/durable_file.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "manifest/base/file.h"
#include "signing/follow/http.h"
#include "signing/keys/files.h"
#include "signing/log/cosignature.h"
#include "signing/log/tiles.h"
#include "signing/witness/witness_client.h"
#include "signing/witness/witness_server.h"
#include "tests/signing/log/memory_tiles.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_directory.h"

namespace kiln::signing {
namespace {

// A log in memory, and a witness that knows it.
class WitnessTest : public testing::Test {
 protected:
  WitnessTest() { open(); }
  void open() {
    witness_.reset();
    witness_ = Witness::open(directory_ / "witness", "witness.example", witnessKey_, {log_}, clock_).value();
  }
  // A history that agrees with every other of the same `first` leaves and differs in the rest.
  Note checkpoint(testing_support::MemoryTiles& tiles, std::uint64_t size, const std::string& first = "a") {
    std::vector<std::string> leaves;
    for (std::uint64_t i = 0; i < size; ++i) leaves.push_back(first + std::to_string(i));
    tiles.tiles.clear();
    tiles.put(grow(tiles, 0, leaves).value());
    TileTree tree(tiles, size);
    return signCheckpoint({log_.name, size, treeRoot(tree, size).value()}, logKey_).value();
  }
  WitnessAnswer add(std::uint64_t oldSize, std::uint64_t size, const std::string& first = "a") {
    testing_support::MemoryTiles tiles;
    const Note note = checkpoint(tiles, size, first);
    TileTree tree(tiles, size);
    auto proof = oldSize > size ? std::vector<TreeHash>() : consistencyProof(tree, oldSize, size).value();
    return witness_->addCheckpoint(AddCheckpoint{oldSize, proof, note.toString()}.text());
  }

  testing_support::TempDirectory directory_;
  testing_support::ManualClock clock_;
  const Ed25519PrivateKey logKey_ = Ed25519PrivateKey::create().value();
  const Ed25519PrivateKey witnessKey_ = Ed25519PrivateKey::create().value();
  const VerifierKey log_{"log.example", NoteKeyKind::kEd25519, logKey_.publicKey()};
  const VerifierKey self_{"witness.example", NoteKeyKind::kCosignature, witnessKey_.publicKey()};
  std::unique_ptr<Witness> witness_;
};

using WitnessAttackCases = WitnessTest;

TEST_F(WitnessTest, CosignsWhatContinuesTheLog) {
  testing_support::MemoryTiles tiles;
  const WitnessAnswer first = add(0, 3);
  ASSERT_EQ(first.status, 200) << first.body;
  const Note note = parseNote(checkpoint(tiles, 3).text + "\n" + first.body).value();
  const auto read = readCosignatures(note, std::span(&self_, 1)).value();
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].time, std::chrono::floor<std::chrono::seconds>(clock_.now()));
  EXPECT_EQ(add(3, 3).status, 200) << "the same again, with a newer time";
  EXPECT_EQ(add(3, 300).status, 200);
  const Note last = parseNote(witness_->last("log.example").value()).value();
  EXPECT_EQ(openCheckpoint(last, log_)->size, 300u);
  EXPECT_EQ(readCosignatures(last, std::span(&self_, 1))->size(), 1u);
}

TEST_F(WitnessTest, RefusesByTheRulesOfTlogWitness) {
  ASSERT_EQ(add(0, 3).status, 200);
  const WitnessAnswer conflict = add(2, 5);
  EXPECT_EQ(conflict.status, 409);
  EXPECT_EQ(conflict.type, "text/x.tlog.size");
  EXPECT_EQ(conflict.body, "3\n");
  EXPECT_EQ(add(5, 4).status, 400);
  testing_support::MemoryTiles tiles;
  Note note = checkpoint(tiles, 5);
  TileTree tree(tiles, 5);
  auto proof = consistencyProof(tree, 3, 5).value();
  proof[0][0] ^= 1;
  EXPECT_EQ(witness_->addCheckpoint(AddCheckpoint{3, proof, note.toString()}.text()).status, 422);
  EXPECT_EQ(witness_->addCheckpoint(AddCheckpoint{3, {}, note.toString()}.text()).status, 422);
  EXPECT_EQ(witness_->addCheckpoint("old x\n\n" + note.toString()).status, 400);
  EXPECT_EQ(witness_->addCheckpoint("old 3\n\nno note").status, 400);
  EXPECT_EQ(witness_->addCheckpoint("").status, 400);
  const auto other = Ed25519PrivateKey::create().value();
  const Note foreign = signCheckpoint({"other.example", 5, leafHash("x")}, other).value();
  EXPECT_EQ(witness_->addCheckpoint(AddCheckpoint{0, {}, foreign.toString()}.text()).status, 404);
  const Note forged = signCheckpoint({"log.example", 5, leafHash("x")}, other).value();
  EXPECT_EQ(witness_->addCheckpoint(AddCheckpoint{3, {}, forged.toString()}.text()).status, 403);
  EXPECT_EQ(add(3, 5).status, 200) << "nothing of this has changed what it knows";
}

TEST_F(WitnessTest, WhatIsNoCheckpointIsMalformed) {
  for (const char* text : {"not a checkpoint\n", "log.example\n3\n", "log.example\n3\nAAAA\n"}) {
    Note note{text, {}};
    note.signatures.push_back(signNote(note.text, log_.name, logKey_).value());
    EXPECT_EQ(witness_->addCheckpoint(AddCheckpoint{0, {}, note.toString()}.text()).status, 400) << text;
  }
}

TEST_F(WitnessTest, WhatOthersSignedIsNotKept) {
  testing_support::MemoryTiles tiles;
  Note note = checkpoint(tiles, 3);
  const auto other = Ed25519PrivateKey::create().value();
  note.signatures.push_back(signNote(note.text, "other.example", other).value());
  note.signatures.push_back(signNote(note.text, log_.name, other).value());
  note.signatures.push_back({"other.example", log_.hint(), std::string(64, 's')});
  // What the log's key did sign counts under its own name and hint alone.
  NoteSignature elsewhere = note.signatures[0];
  elsewhere.name = "other.example";
  note.signatures.push_back(elsewhere);
  elsewhere = note.signatures[0];
  elsewhere.hint[0] ^= 1;
  note.signatures.push_back(elsewhere);
  ASSERT_EQ(witness_->addCheckpoint(AddCheckpoint{0, {}, note.toString()}.text()).status, 200);
  const Note kept = parseNote(witness_->last("log.example").value()).value();
  ASSERT_EQ(kept.signatures.size(), 2u);
  EXPECT_EQ(kept.signatures[0].signature, note.signatures[0].signature);
  EXPECT_EQ(kept.signatures[1].name, "witness.example");
}

// Named in any order, both keys' checkpoints are one history; without the old key the state cannot be read
// until something under the new one was cosigned.
TEST_F(WitnessTest, ALogGoesOnWithANewKeyUnderItsOrigin) {
  const auto newKey = Ed25519PrivateKey::create().value();
  const VerifierKey next{log_.name, NoteKeyKind::kEd25519, newKey.publicKey()};
  const auto reopen = [&](std::vector<VerifierKey> logs) {
    witness_.reset();
    witness_ = Witness::open(directory_ / "witness", "witness.example", witnessKey_, std::move(logs), clock_)
                   .value();
  };
  const auto addNew = [&](std::uint64_t oldSize, std::uint64_t size, const std::string& first = "a") {
    testing_support::MemoryTiles tiles;
    const Checkpoint grown = openCheckpoint(checkpoint(tiles, size, first), log_).value();
    TileTree tree(tiles, size);
    return witness_->addCheckpoint(AddCheckpoint{oldSize, consistencyProof(tree, oldSize, size).value(),
                                                 signCheckpoint(grown, newKey).value().toString()}
                                       .text());
  };
  ASSERT_EQ(add(0, 3).status, 200);
  reopen({next});
  const WitnessAnswer unread = addNew(3, 5);
  EXPECT_EQ(unread.status, 500);
  EXPECT_NE(unread.body.find("--log-key"), std::string::npos) << unread.body;
  std::uint64_t size = 3;
  for (const auto& logs : {std::vector{log_, next}, std::vector{next, log_}}) {
    reopen(logs);
    EXPECT_EQ(addNew(size, size + 2, "b").status, 422) << "another history, under whatever key";
    EXPECT_EQ(addNew(size, size + 2).status, 200);
    EXPECT_EQ(add(size + 2, size + 3).status, 200) << "the old key goes on counting while it is named";
    size += 3;
  }
  EXPECT_EQ(addNew(size, size).status, 200);
  reopen({next});
  EXPECT_EQ(addNew(size, size + 1).status, 200);
  EXPECT_EQ(add(size + 1, size + 2).status, 403) << "the old one is named no more";
}

TEST_F(WitnessTest, EachAnswerIsTold) {
  std::vector<int> told;
  witness_->onAnswer([&](int status) { told.push_back(status); });
  EXPECT_EQ(add(0, 3).status, 200);
  EXPECT_EQ(add(0, 5).status, 409);
  EXPECT_EQ(witness_->addCheckpoint("x").status, 400);
  EXPECT_EQ(told, (std::vector<int>{200, 409, 400}));
}

TEST_F(WitnessTest, TheLogSaysWhatItsWitnessSaid) {
  auto server = WitnessServer::start("127.0.0.1", 0, *witness_).value();
  const std::string url = "http://127.0.0.1:" + std::to_string(server->port());
  testing_support::MemoryTiles tiles;
  Note foreign = signCheckpoint({log_.name, 0, emptyTreeHash()}, witnessKey_).value();
  TileTree tree(tiles, 0);
  const Status refused = collectCosignatures({{self_, url}}, 1, foreign, 0, tree);
  ASSERT_FALSE(refused);
  for (const char* part : {"403", "not signed by log.example", "--log-key"})
    EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
}

// As if it had seen nothing it would sign a second history.
TEST_F(WitnessTest, WithDamagedStateItCosignsNothing) {
  ASSERT_EQ(add(0, 3).status, 200);
  const std::string state = directory_ / "witness/" + digestOf("log.example").hex();
  const std::string good = readTextFile(state, 1 << 16).value();
  const Note foreign =
      signCheckpoint({log_.name, 3, leafHash("x")}, Ed25519PrivateKey::create().value()).value();
  for (const std::string& damaged :
       {std::string(), good.substr(1), foreign.toString(), good + std::string(64 << 10, '\n')}) {
    ASSERT_TRUE(replaceFile(state, damaged));
    EXPECT_EQ(add(0, 3, "b").status, 500);
    EXPECT_EQ(add(3, 5).status, 500);
  }
  ASSERT_TRUE(replaceFile(state, good));
  EXPECT_EQ(add(3, 5).status, 200);
}

// A log that shows two histories gets only one of them cosigned, whatever order and size it tries.
TEST_F(WitnessAttackCases, Case14ASplitViewIsNotCosigned) {
  ASSERT_EQ(add(0, 4, "a").status, 200);
  const WitnessAnswer other = add(4, 4, "b");
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(other.body, "4\n");
  EXPECT_EQ(add(4, 9, "b").status, 422);
  EXPECT_EQ(add(0, 9, "b").status, 409);
  open();  // nor after a restart
  EXPECT_EQ(add(4, 4, "b").status, 409);
  EXPECT_EQ(add(4, 9, "b").status, 422);
  EXPECT_EQ(add(0, 4, "b").status, 409);
  EXPECT_EQ(add(4, 9, "a").status, 200);
}

TEST_F(WitnessAttackCases, Case14TheQuorumOfASplitViewFails) {
  auto server = WitnessServer::start("127.0.0.1", 0, *witness_).value();
  const std::vector<WitnessEndpoint> witnesses{{self_, "http://127.0.0.1:" + std::to_string(server->port())}};
  testing_support::MemoryTiles tiles;
  Note honest = checkpoint(tiles, 4, "a");
  TileTree tree(tiles, 4);
  ASSERT_TRUE(collectCosignatures(witnesses, 1, honest, 0, tree));
  EXPECT_EQ(readCosignatures(honest, std::span(&self_, 1))->size(), 1u);
  for (std::uint64_t size : {4u, 6u}) {
    Note split = checkpoint(tiles, size, "b");
    TileTree other(tiles, size);
    EXPECT_EQ(collectCosignatures(witnesses, 1, split, 0, other).error().code, Code::kDataLoss);
    EXPECT_TRUE(readCosignatures(split, std::span(&self_, 1))->empty());
  }
  Note old = checkpoint(tiles, 2, "a");
  TileTree smaller(tiles, 2);
  auto refused = collectCosignatures(witnesses, 1, old, 2, smaller);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("a larger log"), std::string::npos) << refused.error().message;
  // One that lags is told where to go on from.
  Note next = checkpoint(tiles, 9, "a");
  TileTree larger(tiles, 9);
  EXPECT_TRUE(collectCosignatures(witnesses, 1, next, 7, larger));
  server.reset();
  std::vector<std::string> heard;
  EXPECT_EQ(collectCosignatures(witnesses, 1, next, 9, larger,
                                [&](const WitnessEndpoint& one, const Status& cosigned) {
                                  heard.push_back(one.key.name + " " +
                                                  std::string(codeName(cosigned.error().code)));
                                })
                .error()
                .code,
            Code::kUnavailable);
  EXPECT_EQ(heard, std::vector<std::string>{self_.name + " UNAVAILABLE"});
  EXPECT_TRUE(collectCosignatures(witnesses, 0, next, 9, larger));
}

TEST_F(WitnessTest, ItsHttpSideAnswersWhatItKnows) {
  auto server = WitnessServer::start("127.0.0.1", 0, *witness_).value();
  const std::string url = "http://127.0.0.1:" + std::to_string(server->port());
  EXPECT_EQ(httpGet(url + "/checkpoint/log.example", 1 << 16)->status, 404);
  ASSERT_EQ(add(0, 3).status, 200);
  EXPECT_EQ(httpGet(url + "/checkpoint/log.example", 1 << 16)->body, witness_->last("log.example").value());
  EXPECT_EQ(httpGet(url + "/", 1 << 16)->status, 404);
  EXPECT_EQ(httpPost(url + "/add-checkpoint", "x", 1 << 16)->status, 400);
  EXPECT_EQ(WitnessServer::start("0.0.0.0", 0, *witness_).error().code, Code::kInvalidArgument);
}

TEST_F(WitnessTest, WhoSaysNothingOrLittleIsCutOff) {
  auto server = WitnessServer::start("127.0.0.1", 0, *witness_).value();
  const std::string url = "http://127.0.0.1:" + std::to_string(server->port());
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server->port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const UniqueFd silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(silent.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::write(silent.get(), "POST /", 6), 6);
  const auto begin = std::chrono::steady_clock::now();
  // Each request waits 10 s at most itself.
  while (!httpGet(url + "/", 1 << 16))
    ASSERT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30))
        << "one client keeps it busy";
}

// Few, or more than it has at once: who says nothing keeps nobody else waiting.
TEST_F(WitnessTest, SilentClientsKeepNobodyWaiting) {
  auto server = WitnessServer::start("127.0.0.1", 0, *witness_).value();
  const std::string url = "http://127.0.0.1:" + std::to_string(server->port());
  ASSERT_EQ(add(0, 3).status, 200);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server->port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::vector<UniqueFd> silent;
  for (const std::size_t clients : {1u, 8u, 200u}) {
    while (silent.size() < clients) {
      silent.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      ASSERT_EQ(::connect(silent.back().get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
                0);
      ASSERT_EQ(::write(silent.back().get(), "POST /", 6), 6);
    }
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(httpGet(url + "/checkpoint/log.example", 1 << 16)->status, 200) << clients;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8)) << "before they are cut off";
  }
  // The first made room for the last.
  char byte = 0;
  EXPECT_LE(::read(silent.front().get(), &byte, 1), 0);
}

TEST_F(WitnessTest, OneProcessHoldsItsState) {
  EXPECT_EQ(
      Witness::open(directory_ / "witness", "witness.example", witnessKey_, {log_}, clock_).error().code,
      Code::kUnavailable);
}

TEST(AddCheckpoint, ComesBack) {
  const AddCheckpoint request{7, {leafHash("a"), leafHash("b")}, "note\n"};
  const AddCheckpoint back = AddCheckpoint::parse(request.text()).value();
  EXPECT_EQ(back.text(), request.text());
  for (const char* bad :
       {"", "old 1", "old 1\n", "new 1\n\nx", "old -1\n\nx", "old 1\nAAAA\n\nx", "old 1\n\n\n\n"})
    if (auto parsed = AddCheckpoint::parse(bad)) EXPECT_EQ(parsed->text(), bad);
  EXPECT_FALSE(AddCheckpoint::parse("old 1\nAAAA\n\nx"));
  EXPECT_FALSE(AddCheckpoint::parse("old 01\n\nx"));
}

TEST(AddCheckpoint, IsBounded) {
  AddCheckpoint request{0, std::vector<TreeHash>(63, leafHash("a")), ""};
  request.checkpoint.resize((128 << 10) - request.text().size(), 'x');
  EXPECT_EQ(AddCheckpoint::parse(request.text())->proof.size(), 63u);
  EXPECT_FALSE(AddCheckpoint::parse(request.text() + "x"));
  request.checkpoint = "note\n";
  request.proof.push_back(leafHash("b"));
  EXPECT_FALSE(AddCheckpoint::parse(request.text()));
}

TEST(AddCheckpoint, AnEmptyLineStandsBeforeTheCheckpoint) {
  const std::string hash = toBase64(leafHash("a"));
  EXPECT_TRUE(AddCheckpoint::parse("old 1\n" + hash + "\n\nnote"));
  for (const std::string& bad : {std::string("old 1\nnote"), "old 1\n" + hash, "old 1\n" + hash + "\nnote",
                                 "old 1\n" + hash + "AA\n\nnote", "old 1\n" + hash.substr(4) + "\n\nnote"})
    EXPECT_FALSE(AddCheckpoint::parse(bad)) << bad;
}

}  // namespace
}  // namespace kiln::signing
