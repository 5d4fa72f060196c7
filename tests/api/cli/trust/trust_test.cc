// `kiln trust`: the life of a root from its making to a revocation, with the real program.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <regex>
#include <thread>

#include "manifest/base/durable_file.h"
#include "manifest/json/json.h"
#include "signing/keys/files.h"
#include "signing/log/verifier_key.h"
#include "signing/recall/recalls.h"
#include "signing/trust/signed_root.h"
#include "signing/trust/trust_store.h"
#include "tests/api/cli/kiln_process.h"

namespace kiln {
namespace {

using testing_support::KilnResult;
using testing_support::runKiln;

struct KilnTrust : testing::Test {
  testing_support::TempDirectory directory;
  const std::string root = directory / "root.json", next = directory / "next.json",
                    keys = directory / "offline";

  KilnResult trust(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "trust");
    return runKiln(arguments, {}, directory.path());
  }
  std::string rootKey(int number) const { return keys + "/root-" + std::to_string(number) + ".key"; }
  void init() {
    const auto made = trust({"init", "--out", root, "--keys", keys, "--threshold", "2", "--of", "3"});
    ASSERT_EQ(made.exit, 0) << made.err;
  }
  // A signer's key that the root does not know yet; its file.
  std::string signer(const std::string& name) {
    EXPECT_TRUE(signing::PrivateKey::create()->save(directory / name));
    return directory / name;
  }
  std::string idOf(const std::string& file) const {
    return signing::PrivateKey::load(file)->publicKey().id();
  }
  // Puts next.json in the place of root.json, as whoever publishes roots does.
  void publish() { std::filesystem::rename(next, root); }
};

TEST_F(KilnTrust, MakesOfflineKeysAndASignedRoot) {
  init();
  for (const char* name : {"root-1.key", "root-2.key", "root-3.key", "recall-1.key", "recall-2.key"}) {
    struct stat facts{};
    ASSERT_EQ(::stat((keys + "/" + name).c_str(), &facts), 0) << name;
    EXPECT_EQ(facts.st_mode & 0777, 0600u) << name;
  }
  const auto opened = signing::TrustStore::open(root);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_FALSE(opened->root().development);
  EXPECT_EQ(opened->root().rootKeys->threshold, 2);
  EXPECT_EQ(opened->root().recallKeys->wideThreshold, 2);
  EXPECT_EQ(trust({"init", "--out", root, "--keys", directory / "other"}).exit, 2) << "never overwritten";
  EXPECT_FALSE(std::filesystem::exists(directory / "other"));
}

TEST_F(KilnTrust, ASuccessorNeedsBothThresholds) {
  init();
  const std::string key = signer("signer.pem");
  auto added =
      trust({"add-key", root, "--id", "urn:farm", "--public", key, "--out", next, "--key", rootKey(1)});
  ASSERT_EQ(added.exit, 0) << added.err;
  EXPECT_NE(added.err.find("not complete"), std::string::npos) << added.err;
  EXPECT_EQ(trust({"show", next, "--previous", root}).exit, 5);
  const auto done = trust({"sign", next, "--key", rootKey(3), "--previous", root, "--json"});
  ASSERT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(parseJson(done.out)->at("complete"), true);
  const auto shown = trust({"show", next, "--previous", root});
  EXPECT_EQ(shown.exit, 0) << shown.err;
  EXPECT_NE(shown.out.find("speaks for  urn:farm: key " + idOf(key)), std::string::npos) << shown.out;
  ASSERT_TRUE(signing::TrustStore::open(root));
  publish();
  ASSERT_TRUE(signing::TrustStore::open(root));
  EXPECT_EQ(signing::TrustStore::open(root)->root().version, 2u);
}

// Keys lie in several places: whoever has one signs when it suits.
TEST_F(KilnTrust, SignaturesAndRecallsMadeAtOnceAllStay) {
  ASSERT_EQ(trust({"init", "--out", root, "--keys", keys, "--threshold", "8", "--of", "8"}).exit, 0);
  const std::string key = signer("signer.pem"), recalls = directory / "recalls.json";
  ASSERT_EQ(trust({"add-key", root, "--id", "urn:farm", "--public", key, "--out", next}).exit, 0);
  std::vector<std::thread> people;
  for (int i = 1; i <= 8; ++i)
    people.emplace_back([&, i] {
      const auto signedBy = trust({"sign", next, "--key", rootKey(i), "--previous", root});
      EXPECT_EQ(signedBy.exit, 0) << signedBy.err;
      const auto recalled = runKiln({"recall", "--trust-root", root, "--recalls", recalls, "--artifact",
                                     digestOf(std::to_string(i)).text(), "--reason", "bad", "--unmatched",
                                     "--sign-with", keys + "/recall-1.key"},
                                    {}, directory.path());
      EXPECT_EQ(recalled.exit, 0) << recalled.err;
    });
  for (std::thread& one : people) one.join();
  EXPECT_EQ(trust({"show", next, "--previous", root}).exit, 0) << "somebody's signature is lost";
  const auto all = signing::Recalls::parse(signing::readTextFile(recalls, 1 << 20).value(),
                                           signing::TrustRoot::load(root).value());
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->entries.size(), 8u) << "somebody's recall is lost";
}

TEST_F(KilnTrust, ARotatedSignerOverlapsTheOldOne) {
  init();
  const std::string first = signer("first.pem"), second = signer("second.pem");
  const std::vector<std::string> sign{"--key", rootKey(1), "--key", rootKey(2), "--out", next};
  const auto edit = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), sign.begin(), sign.end());
    const auto done = trust(arguments);
    ASSERT_EQ(done.exit, 0) << done.err;
    publish();
  };
  edit({"add-key", root, "--id", "urn:farm", "--public", first});
  edit({"rotate", root, "--id", "urn:farm", "--public", second, "--overlap", "7d"});
  const signing::TrustRoot rotated = signing::TrustRoot::load(root).value();
  const TimePoint now = SystemClock().now();
  for (const std::string& key : {first, second}) EXPECT_TRUE(rotated.checkSigner(idOf(key), "urn:farm", now));
  const TimePoint later = now + std::chrono::days(8);
  EXPECT_FALSE(rotated.checkSigner(idOf(first), "urn:farm", later));
  EXPECT_TRUE(rotated.checkSigner(idOf(second), "urn:farm", later));
  const std::string log = directory / "log.key";
  ASSERT_TRUE(signing::Ed25519PrivateKey::create()->save(log));
  edit({"add-key", root, "--role", "log", "--id", "log.example", "--public", log});
  const auto unlisted = trust({"revoke", root, "--keyid", idOf(first), "--reason", "stolen", "--out", next,
                               "--log", "log.exmple:17"});
  EXPECT_EQ(unlisted.exit, 6) << "it would count for nothing";
  EXPECT_NE(unlisted.err.find("log.exmple; it lists log.example"), std::string::npos) << unlisted.err;
  edit({"revoke", root, "--keyid", idOf(first), "--reason", "stolen", "--log", "log.example:17"});
  const auto again = trust({"revoke", root, "--keyid", idOf(first), "--reason", "stolen", "--out", next});
  EXPECT_EQ(again.exit, 2) << "a later time would let more of it count";
  EXPECT_NE(again.err.find("revoked already"), std::string::npos) << again.err;
  EXPECT_FALSE(std::filesystem::exists(next));
  const signing::TrustRoot revoked = signing::TrustRoot::load(root).value();
  EXPECT_FALSE(revoked.checkSigner(idOf(first), "urn:farm", now));
  const signing::LogPosition early{"log.example", 16, {}}, late{"log.example", 17, {}};
  EXPECT_TRUE(revoked.checkSigner(idOf(first), "urn:farm", now, &early));
  EXPECT_FALSE(revoked.checkSigner(idOf(first), "urn:farm", now, &late));
}

TEST_F(KilnTrust, ARootKeyIsReplacedUnderBothThresholds) {
  init();
  const std::string fresh = signer("root-4.key"), gone = idOf(rootKey(1));
  const auto rotate = [&](std::vector<std::string> with) {
    std::vector<std::string> arguments{"rotate", root,       "--role", "root",  "--old",
                                       gone,     "--public", fresh,    "--out", next};
    for (const std::string& key : with) arguments.insert(arguments.end(), {"--key", key});
    ASSERT_EQ(trust(arguments).exit, 0);
  };
  rotate({rootKey(2), fresh});  // enough for the new root, one short for the old
  EXPECT_EQ(trust({"show", next}).exit, 0);
  EXPECT_EQ(trust({"show", next, "--previous", root}).exit, 5);
  std::filesystem::remove(next);
  rotate({rootKey(2), rootKey(3)});
  EXPECT_EQ(trust({"show", next, "--previous", root}).exit, 0);
  const signing::TrustRoot root2 = signing::TrustRoot::load(next).value();
  EXPECT_EQ(root2.rootKeys->keys.size(), 3u);
}

TEST_F(KilnTrust, RecallsNeedAsManyKeysAsTheyReach) {
  init();
  const std::string recalls = directory / "recalls.json";
  const std::string one = keys + "/recall-1.key", two = keys + "/recall-2.key";
  const auto recall = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"recall", "--trust-root", root, "--recalls", recalls});
    return runKiln(arguments, {}, directory.path());
  };
  const auto inForce = [&] {
    return signing::Recalls::parse(signing::readTextFile(recalls, 1 << 20).value(),
                                   signing::TrustRoot::load(root).value());
  };
  const std::string artifact = digestOf("artifact").text();
  auto done = recall({"--artifact", artifact, "--reason", "wrong weights", "--sign-with", one});
  EXPECT_EQ(done.exit, 2) << "nobody says that there is such an artifact";
  EXPECT_NE(done.err.find("--unmatched"), std::string::npos) << done.err;
  done = recall({"--artifact", artifact, "--reason", "wrong weights", "--sign-with", one, "--unmatched"});
  ASSERT_EQ(done.exit, 0) << done.err;
  ASSERT_TRUE(inForce());
  EXPECT_NE(inForce()->condemns(digestOf("artifact")), nullptr) << "one key is enough for one artifact";
  // A whole worker: a draft until the second key signs.
  done = recall(
      {"--worker", "w3", "--since", "2026-11-01T00:00:00Z", "--reason", "disk faults", "--sign-with", one});
  EXPECT_EQ(done.exit, 2) << "what does it touch?";
  EXPECT_NE(done.err.find("--unmatched"), std::string::npos) << done.err;
  done = recall({"--worker", "w3", "--since", "2026-11-01T00:00:00Z", "--reason", "disk faults",
                 "--sign-with", one, "--unmatched"});
  ASSERT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(done.lastLine(), recalls + ".draft");
  EXPECT_EQ(inForce()->version, 1u);
  done = recall({"--cosign", recalls + ".draft", "--sign-with", two});
  ASSERT_EQ(done.exit, 0) << done.err;
  ASSERT_TRUE(inForce()) << inForce().error().message;
  EXPECT_EQ(inForce()->version, 2u);
  EXPECT_EQ(inForce()->entries.size(), 2u);
  // Lifting the first is an entry of its own.
  const std::string first = inForce()->entries[0].id().text();
  EXPECT_EQ(recall({"--lift", digestOf("none").text(), "--reason", "r", "--sign-with", two}).exit, 6);
  done = recall({"--lift", first.substr(0, 19), "--reason", "a mistake", "--sign-with", two});
  ASSERT_EQ(done.exit, 0) << done.err;
  EXPECT_EQ(inForce()->condemns(digestOf("artifact")), nullptr);
  EXPECT_EQ(inForce()->entries.size(), 3u);
  // Said twice is said once, whatever it is.
  const auto twice = [&](std::vector<std::string> words, const char* said) {
    const auto before = signing::readTextFile(recalls, 1 << 20).value();
    words.insert(words.end(), {"--sign-with", one, "--sign-with", two});
    const auto again = recall(words);
    EXPECT_EQ(again.exit, 0) << again.err;
    EXPECT_NE(again.err.find(said), std::string::npos) << again.err;
    EXPECT_EQ(signing::readTextFile(recalls, 1 << 20).value(), before);
  };
  twice({"--lift", first, "--reason", "a mistake"}, "already lifted");
  twice({"--lift", first.substr(0, 19), "--reason", "for another reason"}, "already lifted");
  twice({"--worker", "w3", "--since", "2026-11-01T00:00:00Z", "--reason", "disk faults", "--unmatched"},
        "already recalled");
  const auto wider = recall(
      {"--worker", "w3", "--reason", "disk faults", "--unmatched", "--sign-with", one, "--sign-with", two});
  ASSERT_EQ(wider.exit, 0) << wider.err;
  EXPECT_EQ(inForce()->entries.size(), 4u) << "it reaches further";
  const auto anew =
      recall({"--artifact", artifact, "--reason", "wrong after all", "--sign-with", one, "--unmatched"});
  ASSERT_EQ(anew.exit, 0) << anew.err;
  EXPECT_NE(inForce()->condemns(digestOf("artifact")), nullptr) << "what was lifted can be recalled again";
  const std::string lift = inForce()->entries[2].id().text();
  EXPECT_EQ(recall({"--lift", lift, "--reason", "r", "--sign-with", one, "--sign-with", two}).exit, 6)
      << "a lift is no recall";
  EXPECT_EQ(recall({"--reason", "r", "--sign-with", one}).exit, 2) << "recall what?";
  EXPECT_EQ(recall({"--artifact", artifact, "--worker", "w", "--reason", "r", "--sign-with", one}).exit, 2);
  EXPECT_EQ(recall({"--artifact", artifact, "--sign-with", one}).exit, 2) << "why?";
  EXPECT_EQ(recall({"--refresh", "--dry-run"}).exit, 2) << "signs nothing, so there is nothing to show";
  EXPECT_EQ(recall({"--refresh", "--sign-with", one}).exit, 0) << "news without a recall";
}

// The printed next step works as it stands, but for the key that somebody else has.
TEST_F(KilnTrust, ANextStepCarriesTheOptionsThatItNeeds) {
  init();
  const std::string recalls = directory / "our recalls.json", quoted = "'" + recalls + "'";
  const auto drafted = runKiln({"recall", "--trust-root", root, "--recalls", recalls, "--worker", "w1",
                                "--reason", "r", "--unmatched", "--sign-with", keys + "/recall-1.key"},
                               {}, directory.path());
  ASSERT_EQ(drafted.exit, 0) << drafted.err;
  EXPECT_NE(drafted.err.find("kiln recall --cosign '" + recalls + ".draft' --trust-root " + root +
                             " --recalls " + quoted + " --sign-with KEY"),
            std::string::npos)
      << drafted.err;
  const std::string key = signer("signer.pem"), spaced = directory / "the next.json";
  const auto added = trust({"add-key", root, "--id", "urn:farm", "--public", key, "--out", spaced});
  ASSERT_EQ(added.exit, 0) << added.err;
  EXPECT_NE(added.err.find("kiln trust sign '" + spaced + "' --previous " + root +
                           " --key ROOT.key adds a signature"),
            std::string::npos)
      << added.err;
}

// Of two drafts on one version the second has lost, and stays lost: it does not hold the first one's recall.
TEST_F(KilnTrust, ADraftThatWasOvertakenSaysToDraftAgain) {
  init();
  const std::string recalls = directory / "recalls.json";
  const auto recall = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"recall", "--trust-root", root, "--recalls", recalls});
    return runKiln(words, {}, directory.path());
  };
  for (const char* name : {"a", "b"}) {
    const auto drafted =
        recall({"--worker", name, "--reason", "r", "--unmatched", "--out",
                directory / (std::string(name) + ".json"), "--sign-with", keys + "/recall-1.key"});
    ASSERT_EQ(drafted.exit, 0) << drafted.err;
  }
  const auto cosign = [&](const std::string& name) {
    return recall({"--cosign", directory / (name + ".json.draft"), "--sign-with", keys + "/recall-2.key"});
  };
  ASSERT_EQ(cosign("a").exit, 0);
  const std::string first = signing::readTextFile(recalls, 1 << 20).value();
  const auto lost = cosign("b");
  EXPECT_EQ(lost.exit, 2) << lost.err;
  EXPECT_NE(lost.err.find("draft it again on top of version 1"), std::string::npos) << lost.err;
  EXPECT_EQ(lost.err.find("go on with"), std::string::npos) << lost.err;
  EXPECT_EQ(signing::readTextFile(recalls, 1 << 20).value(), first);
  EXPECT_EQ(cosign("a").exit, 0) << "what is in force may be said again";
}

// What the user typed is named, never a member of the document that it would have become.
TEST_F(KilnTrust, WhatIsWrongWithARecallIsToldByItsOption) {
  init();
  const std::string artifact = digestOf("artifact").text();
  const auto refused = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"recall", "--trust-root", root, "--sign-with", keys + "/recall-1.key"});
    const auto result = runKiln(arguments, {}, directory.path());
    EXPECT_EQ(result.exit, 2) << result.err;
    EXPECT_EQ(result.err.find("recall."), std::string::npos) << result.err;
    return result.err;
  };
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{"--artifact", artifact}, "--reason"},
      {{"--artifact", artifact, "--reason", std::string(1001, 'r')}, "--reason"},
      {{"--artifact", artifact, "--reason", "\xff"}, "--reason"},
      {{"--worker", "\xff", "--reason", "r"}, "--worker"},
      {{"--artifact", "sha256:12", "--reason", "r"}, "--artifact"},
      {{"--record", "m.json", "--reason", "r"}, "--record"},
      {{"--lift", "x", "--reason", "r"}, "--lift"},
      {{"--key", "x", "--reason", "r"}, "--key"},
      {{"--worker", std::string(3000, 'w'), "--reason", "r"}, "--worker"},
      {{"--source", std::string(40, 'c'), "--reason", "r"}, "--source"},
      {{"--artifact", artifact, "--reason", "r", "--since", "2026-11-01T00:00:00Z"}, "--since"},
      {{"--worker", "w", "--reason", "r", "--since", "soon"}, "--since"},
      {{"--worker", "w", "--reason", "r", "--since", "2026-11-02T00:00:00Z", "--until",
        "2026-11-01T00:00:00Z"},
       "--until"},
      {{"--worker", "w", "--reason", "r", "--log-range", "log:5:5"}, "--log-range"},
      {{"--artifact", artifact, "--reason", "r", "--listed", "sha256:12"}, "--listed"},
      {{"--artifact", artifact, "--reason", "r", "--expires", "soon"}, "--expires"}};
  for (const auto& [arguments, option] : wrong) {
    const std::string said = refused(arguments);
    EXPECT_NE(said.find(option), std::string::npos) << said;
  }
}

// A signature that counts for nothing is no signature.
TEST_F(KilnTrust, ARootThatCouldNotBeReadIsNotMade) {
  EXPECT_EQ(trust({"init", "--out", directory / "r.json", "--keys", directory / "k", "--recall-keys", "0",
                   "--recall-scope", "5"})
                .exit,
            2)
      << "of no key";
  for (const char* scope : {"-1", "1000001"}) {
    const auto made =
        trust({"init", "--out", directory / "r.json", "--keys", directory / "k", "--recall-scope", scope});
    EXPECT_EQ(made.exit, 2) << made.err;
    EXPECT_NE(made.err.find("--recall-scope"), std::string::npos) << made.err;
    EXPECT_FALSE(std::filesystem::exists(directory / "k")) << "no keys";
  }
}

TEST_F(KilnTrust, AKeyThatTheRootDoesNotListSignsNothing) {
  init();
  const std::string stranger = signer("stranger.key"), farm = signer("farm.pem");
  const std::vector<std::vector<std::string>> edits{
      {"add-key", root, "--id", "urn:farm", "--public", farm, "--out", next},
      {"rotate", root, "--role", "root", "--old", idOf(rootKey(1)), "--public", farm, "--out", next},
      {"sign", root, "--out", next}};
  for (const std::vector<std::string>& edit : edits)
    for (const std::string& key : {stranger, keys + "/recall-1.key"}) {
      std::vector<std::string> words = edit;
      words.insert(words.end(), {"--key", rootKey(2), "--key", key});
      const auto refused = trust(words);
      EXPECT_EQ(refused.exit, 8) << words[0] << refused.err;
      EXPECT_NE(refused.err.find(idOf(key)), std::string::npos) << refused.err;
      EXPECT_FALSE(std::filesystem::exists(next)) << words[0];
    }
  const auto recalled =
      runKiln({"recall", "--trust-root", root, "--recalls", directory / "recalls.json", "--artifact",
               digestOf("a").text(), "--reason", "r", "--unmatched", "--sign-with", stranger},
              {}, directory.path());
  EXPECT_EQ(recalled.exit, 8) << recalled.err;
  EXPECT_FALSE(std::filesystem::exists(directory / "recalls.json.draft"));
}

TEST_F(KilnTrust, InitLeavesAllOrNothing) {
  for (const std::string& out : {directory / "none/root.json", directory.path()}) {
    const auto failed = trust({"init", "--out", out, "--keys", keys});
    EXPECT_NE(failed.exit, 0) << out;
    EXPECT_NE(failed.exit, 1) << failed.err;
    EXPECT_FALSE(std::filesystem::exists(keys)) << out;
    EXPECT_EQ(failed.err.find("offline"), std::string::npos)
        << "there are no keys to take anywhere: " << failed.err;
  }
  EXPECT_EQ(trust({"init", "--out", root, "--keys", keys, "--expires", "soon"}).exit, 2);
  EXPECT_FALSE(std::filesystem::exists(keys));
  // A folder that was there stays, with what was in it, and without what was not.
  std::filesystem::create_directories(keys);
  ASSERT_TRUE(replaceFile(keys + "/recall-1.key", "somebody's"));
  const auto failed = trust({"init", "--out", root, "--keys", keys});
  EXPECT_EQ(failed.exit, 2) << failed.err;
  EXPECT_FALSE(std::filesystem::exists(rootKey(1)));
  EXPECT_FALSE(std::filesystem::exists(root));
  EXPECT_EQ(signing::readTextFile(keys + "/recall-1.key", 100).value(), "somebody's");
}

TEST_F(KilnTrust, AKeyHasOneRole) {
  init();
  const std::string farm = signer("farm.pem"), log = directory / "log.key";
  ASSERT_TRUE(signing::Ed25519PrivateKey::create()->save(log));
  const auto add = [&](const std::string& role, const std::string& id, const std::string& key) {
    std::filesystem::remove(next);
    std::vector<std::string> words{"add-key", root, "--role", role,       "--public", key,
                                   "--out",   next, "--key",  rootKey(1), "--key",    rootKey(2)};
    if (role != "root" && role != "recall") words.insert(words.end(), {"--id", id});
    return trust(words);
  };
  for (const auto& [role, key] : {std::pair{"signer", farm}, {"log", log}}) {
    const auto added = add(role, role == std::string("log") ? "log.example" : "urn:farm", key);
    ASSERT_EQ(added.exit, 0) << added.err;
    publish();
  }
  const std::pair<std::string, std::string> held[] = {
      {"signer", farm}, {"root", rootKey(3)}, {"recall", keys + "/recall-1.key"}, {"log", log}};
  for (const auto& [role, key] : held)
    for (const char* wanted : {"signer", "root", "recall", "log", "witness"}) {
      if (role == wanted) continue;
      const auto refused = add(wanted, "urn:other", key);
      EXPECT_EQ(refused.exit, 2) << role << " as " << wanted;
      EXPECT_NE(refused.err.find("has the role " + role), std::string::npos) << refused.err;
      EXPECT_FALSE(std::filesystem::exists(next));
    }
  EXPECT_EQ(trust({"rotate", root, "--id", "urn:farm", "--public", rootKey(3), "--out", next}).exit, 2);
  EXPECT_EQ(
      trust({"rotate", root, "--role", "root", "--public", farm, "--old", idOf(rootKey(1)), "--out", next})
          .exit,
      2);
  EXPECT_EQ(add("signer", "urn:other", farm).exit, 0) << "one signer may speak for two builders";
}

// What kiln-log make-key and kiln log witness write is what a root takes.
TEST_F(KilnTrust, AddsTheVkeyOfALogOrAWitness) {
  init();
  using signing::NoteKeyKind;
  const auto vkey = [&](const std::string& name, NoteKeyKind kind) {
    const auto key = signing::Ed25519PrivateKey::create().value();
    EXPECT_TRUE(signing::writeTextFile(directory / (name + ".vkey"),
                                       signing::VerifierKey{name, kind, key.publicKey()}.text() + "\n"));
    return directory / (name + ".vkey");
  };
  const std::string log = vkey("log.example", NoteKeyKind::kEd25519),
                    witness = vkey("wit.example", NoteKeyKind::kCosignature);
  const auto add = [&](std::vector<std::string> words) {
    std::filesystem::remove(next);
    words.insert(words.begin(), {"add-key", root, "--out", next, "--key", rootKey(1), "--key", rootKey(2)});
    return trust(words);
  };
  const std::pair<std::vector<std::string>, std::string> wrong[] = {
      {{"--role", "log", "--public", witness}, "--role witness"},
      {{"--role", "witness", "--public", log}, "--role log"},
      {{"--role", "signer", "--id", "urn:farm", "--public", log}, "--role log"},
      {{"--role", "recall", "--public", log}, "--role log"},
      {{"--role", "log", "--id", "other.example", "--public", log}, "--id other.example"},
      {{"--role", "log", "--id", "log.example", "--public", root}, ".vkey"}};
  for (const auto& [words, part] : wrong) {
    const auto refused = add(words);
    EXPECT_EQ(refused.exit, 2) << refused.err;
    EXPECT_NE(refused.err.find(part), std::string::npos) << part << " in " << refused.err;
    EXPECT_FALSE(std::filesystem::exists(next));
  }
  for (const auto& words : {std::vector<std::string>{"--role", "log", "--public", log},
                            {"--role", "witness", "--id", "wit.example", "--public", witness}}) {
    const auto added = add(words);
    ASSERT_EQ(added.exit, 0) << added.err;
    publish();
  }
  const signing::TrustRoot made = signing::TrustRoot::load(root).value();
  ASSERT_EQ(made.logs.size(), 1u);
  EXPECT_EQ(made.logs[0].origin, "log.example");
  ASSERT_EQ(made.witnesses.size(), 1u);
  EXPECT_EQ(made.witnesses[0].name, "wit.example");
}

TEST_F(KilnTrust, HelpOffersNoRoleThatIsRefused) {
  init();
  const std::string help = trust({"rotate", "--help"}).out;
  const std::string roles =
      help.substr(help.find("--role"), help.find(';', help.find("--role")) - help.find("--role"));
  for (const char* role : {"signer", "root", "recall"})
    EXPECT_NE(roles.find(role), std::string::npos) << roles;
  for (const char* role : {"log", "witness"}) {
    EXPECT_EQ(roles.find(role), std::string::npos) << roles;
    EXPECT_EQ(trust({"rotate", root, "--role", role, "--public", rootKey(1), "--out", next}).exit, 2);
  }
}

TEST_F(KilnTrust, RefusesWhatMakesNoSense) {
  init();
  const std::string key = signer("signer.pem");
  EXPECT_EQ(trust({"init", "--out", next, "--keys", keys, "--threshold", "3", "--of", "2"}).exit, 2);
  EXPECT_EQ(trust({"add-key", root, "--public", key, "--out", next}).exit, 2) << "whose key?";
  EXPECT_EQ(trust({"add-key", root, "--id", "x", "--role", "log", "--public", key, "--out", next}).exit, 2)
      << "a log has an Ed25519 key";
  EXPECT_EQ(trust({"add-key", root, "--id", "x", "--role", "king", "--public", key, "--out", next}).exit, 2);
  EXPECT_EQ(trust({"rotate", root, "--id", "urn:nobody", "--public", key, "--out", next}).exit, 6);
  EXPECT_EQ(trust({"revoke", root, "--keyid", "nobody", "--reason", "r", "--out", next}).exit, 6);
  EXPECT_FALSE(std::filesystem::exists(next));
}

TEST_F(KilnTrust, TellsStockVerifiersOfSignersAndLogs) {
  init();
  const std::string key = signer("signer.pem"), files = directory / "sigstore";
  ASSERT_EQ(
      trust({"add-key", root, "--id", "urn:farm", "--public", key, "--out", next, "--key", rootKey(1)}).exit,
      0);
  EXPECT_EQ(trust({"show", next, "--previous", root, "--sigstore", files}).exit, 5);
  EXPECT_FALSE(std::filesystem::exists(files)) << "a root that lacks signatures is handed to nobody";
  ASSERT_EQ(trust({"sign", next, "--key", rootKey(2), "--previous", root}).exit, 0);
  const auto shown = trust({"show", next, "--previous", root, "--sigstore", files, "--json"});
  ASSERT_EQ(shown.exit, 0) << shown.err;
  const Json written = parseJson(shown.out)->at("sigstore");
  EXPECT_EQ(written.at("keys").at(0).at("keyid"), idOf(key));
  const auto pem = signing::readTextFile(written.at("keys").at(0).at("file"), 4096);
  ASSERT_TRUE(pem) << pem.error().message;
  EXPECT_EQ(signing::PublicKey::fromPem(*pem)->id(), idOf(key));
  const auto logs = signing::readTextFile(written.at("trustedRoot"), 4096);
  ASSERT_TRUE(logs) << logs.error().message;
  EXPECT_EQ(parseJson(*logs)->at("tlogs"), Json::array());
  EXPECT_EQ(trust({"show", next, "--previous", root, "--sigstore", files}).exit, 2)
      << "nothing is overwritten";
  const std::string used = directory / "used";
  std::filesystem::create_directories(used);
  ASSERT_TRUE(signing::writeTextFile(used + "/mine", "m"));
  const auto refused = trust({"show", next, "--previous", root, "--sigstore", used});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_NE(refused.err.find("--sigstore " + used), std::string::npos) << refused.err;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(used), {}), 1) << "nor written beside";
}

// A root's keys are named where one of them is asked for.
TEST_F(KilnTrust, RotateSaysWhatARoleNeeds) {
  init();
  const std::string fresh = signer("fresh.pem");
  const auto rotate = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"rotate", root, "--public", fresh, "--out", next};
    words.insert(words.end(), more.begin(), more.end());
    const auto result = trust(words);
    EXPECT_FALSE(std::filesystem::exists(next));
    return std::pair(result.exit, result.err);
  };
  const auto root1 = rotate({"--role", "root"});
  EXPECT_EQ(root1.first, 2);
  EXPECT_NE(root1.second.find("--old is missing"), std::string::npos) << root1.second;
  for (int i = 1; i <= 3; ++i)
    EXPECT_NE(root1.second.find(idOf(rootKey(i))), std::string::npos) << root1.second;
  const auto recall = rotate({"--role", "recall"});
  EXPECT_EQ(recall.first, 2);
  EXPECT_NE(recall.second.find(idOf(keys + "/recall-1.key")), std::string::npos) << recall.second;
  EXPECT_NE(rotate({}).second.find("--id is missing"), std::string::npos);
  const std::vector<std::string> ignored[] = {{"--role", "root", "--old", "x", "--id", "i"},
                                              {"--role", "root", "--old", "x", "--until", "1d"},
                                              {"--role", "root", "--old", "x", "--overlap", "1d"},
                                              {"--role", "recall", "--old", "x", "--id", "i"},
                                              {"--id", "i", "--old", "x"},
                                              {"--role", "log", "--id", "i"},
                                              {"--role", "witness", "--id", "i"}};
  for (const auto& words : ignored) EXPECT_EQ(rotate(words).first, 2) << testing::PrintToString(words);
  const auto shown = trust({"show", root});
  EXPECT_NE(shown.out.find("root key    " + idOf(rootKey(2))), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("recall key  " + idOf(keys + "/recall-2.key")), std::string::npos) << shown.out;
}

// What a message tells somebody to type is there to be typed.
TEST_F(KilnTrust, EveryOptionThatAMessageNamesIsOneOfTheCommandsOwn) {
  init();
  const std::string key = signer("farm.pem"), stranger = signer("stranger.pem");
  const std::vector<std::vector<std::string>> wrong{
      {"init", "--out", next, "--keys", keys},
      {"init", "--out", root, "--keys", directory / "other"},
      {"init", "--out", next, "--keys", directory / "other", "--threshold", "9"},
      {"init", "--out", next, "--keys", directory / "other", "--expires", "soon"},
      {"init"},
      {"add-key", root, "--public", key, "--out", next},
      {"add-key", root, "--public", key, "--id", "urn:x", "--out", next, "--key", stranger},
      {"add-key", root, "--public", key, "--id", "urn:x", "--out", next, "--role", "king"},
      {"add-key", root, "--public", key, "--id", "urn:x", "--out", next, "--role", "root"},
      {"add-key", root, "--public", rootKey(1), "--id", "urn:x", "--out", next},
      {"add-key", root, "--public", rootKey(1), "--role", "root", "--out", next},
      {"add-key", root},
      {"rotate", root, "--public", key, "--out", next},
      {"rotate", root, "--public", key, "--id", "urn:x", "--out", next},
      {"rotate", root, "--public", key, "--role", "root", "--out", next},
      {"rotate", root, "--public", key, "--role", "log", "--out", next},
      {"rotate", root, "--public", key, "--role", "root", "--old", "x", "--out", next},
      {"rotate", root, "--public", key, "--role", "root", "--old", idOf(rootKey(1)), "--out", next, "--key",
       stranger},
      {"revoke", root, "--keyid", idOf(rootKey(1)), "--reason", "r", "--out", next},
      {"revoke", root, "--keyid", "x", "--reason", "r", "--out", next, "--at", "soon"},
      {"revoke", root, "--keyid", "x", "--reason", "r", "--out", next, "--log", "x"},
      {"sign", root, "--key", stranger, "--out", next},
      {"sign", root, "--key", stranger, "--out", next, "--previous", root},
      {"sign", directory / "none", "--key", stranger},
      {"show"},
      {"show", directory / "none"},
      {"show", root, "--previous", root},
      {"show", root, "--sigstore", keys}};
  const std::regex named("kiln (trust )?([a-z][a-z-]*)|--[a-z][a-z-]*");
  for (const auto& words : wrong) {
    const auto result = trust(words);
    ASSERT_NE(result.exit, 0) << testing::PrintToString(words);
    std::vector<std::string> whose{"trust", words[0]};
    for (std::sregex_iterator at(result.err.begin(), result.err.end(), named), end; at != end; ++at) {
      const bool isCommand = at->str(2) != "";
      if (isCommand) whose = {at->str(2)};
      if (at->str(1) != "") whose.insert(whose.begin(), "trust");
      std::vector<std::string> asked = whose;
      asked.push_back("--help");
      const auto help = runKiln(asked);
      EXPECT_EQ(help.exit, 0) << at->str() << " in " << result.err;
      if (!isCommand)
        EXPECT_NE(help.out.find(at->str()), std::string::npos) << at->str() << " in " << result.err;
    }
  }
}

}  // namespace
}  // namespace kiln
