#include <gtest/gtest.h>

#include "signing/log/checkpoint.h"
#include "signing/log/cosignature.h"

namespace kiln::signing {
namespace {

using std::chrono::seconds;

const Ed25519PrivateKey& logKey() {
  static const Ed25519PrivateKey key = Ed25519PrivateKey::create().value();
  return key;
}
VerifierKey logVerifier(const std::string& name = "log.example") {
  return {name, NoteKeyKind::kEd25519, logKey().publicKey()};
}

TEST(Note, KeyAndSignatureOfTheSignedNotePackage) {
  // The example of golang.org/x/mod/sumdb/note.
  const auto key =
      VerifierKey::parse("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW").value();
  EXPECT_EQ(key.name, "PeterNeumann");
  const std::string text =
      "If you think cryptography is the answer to your problem,\n"
      "then you don't know what your problem is.\n";
  const Note note =
      parseNote(
          text +
          "\n\xe2\x80\x94 PeterNeumann "
          "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n")
          .value();
  EXPECT_EQ(note.text, text);
  EXPECT_TRUE(verifyNote(note, key));
  Note changed = note;
  changed.text[0] = 'i';
  EXPECT_EQ(verifyNote(changed, key).error().code, Code::kDataLoss);
}

TEST(Note, RefusesMalformedNotes) {
  const std::string good = signCheckpoint({"log.example", 0, emptyTreeHash()}, logKey())->toString();
  ASSERT_TRUE(parseNote(good));
  EXPECT_EQ(parseNote(good)->toString(), good);
  const std::string line = good.substr(good.find("\n\n") + 2);
  for (const std::string& bad : {std::string(),
                                 std::string("\n"),
                                 std::string("text\n"),
                                 std::string("text\n\n"),
                                 line,
                                 "\n" + line,
                                 "x" + line,
                                 "text" + line,
                                 "text\n" + line,
                                 "\n\n" + line,
                                 good.substr(0, good.size() - 1),
                                 good + "x",
                                 good + "\n",
                                 "a\x01\n\n" + line,
                                 "a\xff\n\n" + line,
                                 std::string("a\n\n- name AAAAAAAA\n"),
                                 std::string("a\n\n\xe2\x80\x94 name\n"),
                                 std::string("a\n\n\xe2\x80\x94 na+me AAAAAAAA\n"),
                                 std::string("a\n\n\xe2\x80\x94 name AAAAAA==\n"),
                                 std::string("a\n\n\xe2\x80\x94 name AAAA\n"),
                                 std::string("a\n\n\xe2\x80\x94 name !!!!!!!!\n"),
                                 "a\n\n" + std::string(70000, 'x')})
    EXPECT_FALSE(parseNote(bad)) << bad.substr(0, 60);
  std::string many = "a\n\n";
  for (int i = 0; i < 65; ++i) many += line;
  EXPECT_FALSE(parseNote(many));
}

TEST(Note, IsBounded) {
  const std::string good = signCheckpoint({"log.example", 0, emptyTreeHash()}, logKey())->toString();
  const std::string signatures = good.substr(good.find("\n\n") + 1);
  const std::string longest = std::string((64 << 10) - signatures.size() - 1, 'x') + "\n" + signatures;
  EXPECT_TRUE(parseNote(longest));
  EXPECT_FALSE(parseNote("x" + longest));
  std::string many = "a\n\n";
  for (int i = 0; i < 64; ++i) many += signatures.substr(1);
  EXPECT_EQ(parseNote(many)->signatures.size(), 64u);
}

TEST(Note, NamesOfKeysAreOneWord) {
  for (const std::string& good : {std::string("a"), std::string("log.example/2026"), std::string("!~"),
                                  std::string("\xc3\xa9"), std::string(256, 'a')})
    EXPECT_TRUE(isKeyName(good)) << good;
  for (const std::string& bad :
       {std::string(), std::string(257, 'a'), std::string("a b"), std::string("a\tb"), std::string("a\nb"),
        std::string("a\x7f"), std::string("a+b"), std::string("+"), std::string(" "), std::string("a\0b", 3),
        std::string("a\xff"), std::string("a\xc2\x85"), std::string("a\xc2\xa0"),
        std::string("a\xe1\x9a\x80"), std::string("a\xe2\x80\x83"), std::string("a\xe2\x81\x9f"),
        std::string("a\xe3\x80\x80")})
    EXPECT_FALSE(isKeyName(bad)) << bad;
}

TEST(VerifierKey, ComesBackAndHoldsItsHint) {
  const std::string text = logVerifier().text();
  EXPECT_EQ(VerifierKey::parse(text)->text(), text);
  EXPECT_EQ(VerifierKey::parse(text)->id().size(), 32u);
  std::string other = text;
  other[other.find('+') + 1] = text[text.find('+') + 1] == '0' ? '1' : '0';
  for (const std::string& bad : {other, std::string("a"), std::string("a+b"), "x" + text, text + "=",
                                 std::string("a+00000000+AAAA"), std::string("+00000000+")})
    EXPECT_FALSE(VerifierKey::parse(bad)) << bad;
}

TEST(Checkpoint, IsOpenedOnlyWithItsLogsKey) {
  const Checkpoint checkpoint{"log.example", 3, leafHash("root")};
  const Note note = signCheckpoint(checkpoint, logKey()).value();
  EXPECT_EQ(openCheckpoint(note, logVerifier()).value(), checkpoint);
  EXPECT_FALSE(openCheckpoint(note, logVerifier("other.example")));
  EXPECT_FALSE(
      openCheckpoint(note, {"log.example", NoteKeyKind::kEd25519, Ed25519PrivateKey::create()->publicKey()}));
  // A key may not speak for another origin than its name.
  Note foreign{Checkpoint{"other.example", 3, leafHash("root")}.text(), {}};
  foreign.signatures.push_back(signNote(foreign.text, "log.example", logKey()).value());
  EXPECT_EQ(openCheckpoint(foreign, logVerifier()).error().code, Code::kInvalidArgument);
}

TEST(Checkpoint, RefusesMalformedText) {
  const std::string root = toBase64(leafHash("r"));
  EXPECT_TRUE(Checkpoint::parse("o\n1\n" + root + "\n"));
  EXPECT_TRUE(Checkpoint::parse("o\n1\n" + root + "\nextension\n"));
  for (const std::string& bad :
       {std::string(), std::string("o\n"), std::string("o\n1\n"), "\n1\n" + root + "\n",
        "o\n01\n" + root + "\n", "o\n-1\n" + root + "\n", "o\n99999999999999999999\n" + root + "\n",
        "o\n1\n" + root, "o\n1\n" + root + "\n\n", "o\n1\n" + root + "\nextension", "o\n0\n" + root + "\n",
        std::string("o\n1\nAAAA\n")})
    EXPECT_FALSE(Checkpoint::parse(bad)) << bad;
}

TEST(Cosignature, SaysWhoAndWhen) {
  const auto one = Ed25519PrivateKey::create().value(), two = Ed25519PrivateKey::create().value();
  Note note = signCheckpoint({"log.example", 3, leafHash("root")}, logKey()).value();
  const TimePoint noon = parseRfc3339("2026-11-20T12:00:00Z").value();
  note.signatures.push_back(cosign(note, "one.example", one, noon + seconds(9)).value());
  note.signatures.push_back(cosign(note, "two.example", two, noon).value());
  note = parseNote(note.toString()).value();
  const VerifierKey first{"one.example", NoteKeyKind::kCosignature, one.publicKey()},
      second{"two.example", NoteKeyKind::kCosignature, two.publicKey()};
  auto read = readCosignatures(note, std::vector{first, second, first}).value();
  ASSERT_EQ(read.size(), 2u);  // each once, the earliest first
  EXPECT_EQ(read[0].witness, "two.example");
  EXPECT_EQ(read[0].time, noon);
  EXPECT_EQ(read[1].time, noon + seconds(9));
  EXPECT_TRUE(readCosignatures(note, {})->empty());
  // Another key of that name is not this witness.
  EXPECT_TRUE(readCosignatures(
                  note, std::vector{VerifierKey{"one.example", NoteKeyKind::kCosignature, two.publicKey()}})
                  ->empty());
  // Changed in time or text, it is an error, not an absence.
  Note later = note;
  later.signatures[1].signature[7] ^= 1;
  EXPECT_EQ(readCosignatures(later, std::vector{first}).error().code, Code::kDataLoss);
  Note other = note;
  other.text = Checkpoint{"log.example", 4, leafHash("root")}.text();
  EXPECT_EQ(readCosignatures(other, std::vector{first}).error().code, Code::kDataLoss);
  Note shorter = note;
  shorter.signatures[1].signature.pop_back();
  EXPECT_EQ(readCosignatures(shorter, std::vector{first}).error().code, Code::kDataLoss);
}

TEST(Cosignature, OfOneWitnessTheEarliestCounts) {
  const auto key = Ed25519PrivateKey::create().value();
  const VerifierKey witness{"one.example", NoteKeyKind::kCosignature, key.publicKey()};
  Note note = signCheckpoint({"log.example", 3, leafHash("root")}, logKey()).value();
  const TimePoint noon = parseRfc3339("2026-11-20T12:00:00Z").value();
  for (const int after : {5, 2, 9})
    note.signatures.push_back(cosign(note, witness.name, key, noon + seconds(after)).value());
  const auto read = readCosignatures(note, std::vector{witness}).value();
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].time, noon + seconds(2));
}

TEST(Cosignature, TimesEndWithTheYear9999) {
  const auto key = Ed25519PrivateKey::create().value();
  const VerifierKey witness{"one.example", NoteKeyKind::kCosignature, key.publicKey()};
  const Note checkpoint = signCheckpoint({"log.example", 3, leafHash("root")}, logKey()).value();
  const TimePoint last = parseRfc3339("9999-12-31T23:59:59Z").value();
  const auto readAt = [&](TimePoint time) {
    Note note = checkpoint;
    note.signatures.push_back(cosign(note, witness.name, key, time).value());
    return readCosignatures(note, std::vector{witness});
  };
  EXPECT_EQ(readAt(last)->at(0).time, last);
  EXPECT_EQ(readAt(last + seconds(1)).error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace kiln::signing
