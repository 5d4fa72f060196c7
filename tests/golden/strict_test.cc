// Whoever reads a format from outside refuses NUL, bytes before and after the document and white space that
// the format does not name; one test for every reader there is.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>

#include "compiler_core/runtime/check/plan.h"
#include "coordinator/access/access_rules.h"
#include "coordinator/access/json_web_key.h"
#include "manifest/artifact/fixture_list.h"
#include "manifest/artifact/oci.h"
#include "manifest/artifact/oci_layout.h"
#include "manifest/base/clock.h"
#include "manifest/json/reader.h"
#include "manifest/spec/pin.h"
#include "manifest/statement/statement.h"
#include "manifest/toolchain/description.h"
#include "manifest/toolchain/lock.h"
#include "signing/bundle/bundle.h"
#include "signing/keys/certificate.h"
#include "signing/keys/files.h"
#include "signing/keys/public_pem.h"
#include "signing/log/checkpoint.h"
#include "signing/log/leaf.h"
#include "signing/log/tile_path.h"
#include "signing/policy/policy.h"
#include "signing/recall/recalls.h"
#include "signing/receipt/receipt.h"
#include "signing/trust/signed_root.h"
#include "signing/trust/trust_root.h"
#include "signing/witness/add_checkpoint.h"
#include "storage/backup/document.h"
#include "storage/index/mention/mention.h"
#include "storage/source/git_reference.h"
#include "tests/support/golden.h"
#include "tests/support/temp_directory.h"

namespace kiln {
namespace {

using namespace std::string_literals;

enum class Space {
  kNone,       // none anywhere around the document
  kLastLine,   // its last newline may be missing, nothing else
  kJson,       // RFC 8259's: space, tab, newline, carriage return
  kMoreLines,  // further lines may follow
};

struct Reader {
  std::string name, good;
  Space space;
  std::function<bool(const std::string&)> accepts;
  bool hasEnd = true;  // false for values of which a longer one is another value
};

std::string golden(const std::string& name) {
  return testing_support::readGolden(std::string(KILN_GOLDEN_DIR) + "/v1/" + name);
}

template <class Parse>
std::function<bool(const std::string&)> taken(Parse parse) {
  return [parse](const std::string& text) { return static_cast<bool>(parse(text)); };
}

template <class T>
std::function<bool(const std::string&)> takenFromFile(Result<T> (*load)(const std::string&)) {
  return [load](const std::string& text) {
    const testing_support::TempDirectory directory;
    const std::string path = directory / "file";
    std::ofstream(path, std::ios::binary) << text;
    return ::chmod(path.c_str(), 0600) == 0 && load(path);
  };
}

std::vector<Reader> jsonReaders() {
  using namespace signing;
  std::vector<Reader> out;
  const auto add = [&](const std::string& file, auto parse) {
    out.push_back({file, golden(file), Space::kJson, taken(parse)});
  };
  add("policy-full.json", [](const std::string& text) { return Policy::parse(text); });
  add("policy-devices.json", [](const std::string& text) { return Policy::parse(text); });
  add("root-full.json", [](const std::string& text) { return TrustRoot::parse(text); });
  add("logged/root.json", [](const std::string& text) { return TrustRoot::parse(text); });
  add("bundle.sigstore.json", [](const std::string& text) { return parseBundle(text); });
  add("logged/bundle.sigstore.json", [](const std::string& text) { return parseBundle(text); });
  add("provenance.json", [](const std::string& text) { return parseStatement(text); });
  add("artifact.json", [](const std::string& text) { return parseOciManifest(text); });
  add("oci-fixtures.json", [](const std::string& text) { return parseReferrer(text); });
  add("oci-index.json", [](const std::string& text) { return parseLayoutIndex(text); });
  add("fixtures.json", [](const std::string& text) { return parseFixtureList(text); });
  add("toolchain-lock.json", [](const std::string& text) { return readToolchainLock(text); });
  add("backup.json", [](const std::string& text) { return storage::BackupDocument::parse(text); });
  add("access.jwks.json", [](const std::string& text) { return access::parseJsonWebKeys(text); });
  add("access.json", [](const std::string& text) {
    return access::AccessRules::parse(
        text, {.read = [](const std::string& path) { return Result<std::string>(golden(path)); }});
  });
  const PrivateKey key = PrivateKey::create().value();
  const auto envelope = signEnvelope(kInTotoPayload, golden("provenance.json"), key)->toJson().dump();
  out.push_back({"DSSE envelope", envelope, Space::kJson,
                 taken([](const std::string& text) { return parseEnvelope(text, kInTotoPayload); })});
  out.push_back({"receipt", signEnvelope(kReceiptPayload, golden("receipt.json"), key)->toJson().dump(),
                 Space::kJson, taken([](const std::string& text) { return readReceipt(text); })});
  out.push_back({"check plan", R"({"runs":3})", Space::kJson,
                 taken([](const std::string& text) { return runtime::parseCheckPlan(text); })});
  return out;
}

std::vector<Reader> canonicalReaders() {
  std::vector<Reader> out;
  for (const char* file :
       {"compile-spec.json", "manifest.json", "evidence.json", "tune.json", "recalls.json"})
    out.push_back({file, golden(file), Space::kNone,
                   taken([](const std::string& text) { return parseCanonicalJson(text); })});
  out.push_back({"oci-closure.json", golden("oci-closure.json"), Space::kNone,
                 taken([](const std::string& text) { return parseClosureConfig(text); })});
  const signing::Leaf leaf{digestOf("x").hash, "signature", signing::PrivateKey::create()->publicKey().der()};
  out.push_back({"leaf", leaf.text(), Space::kNone,
                 taken([](const std::string& text) { return signing::Leaf::parse(text); })});
  return out;
}

std::vector<Reader> logReaders() {
  using namespace signing;
  const Ed25519PrivateKey key = Ed25519PrivateKey::create().value();
  const VerifierKey verifier{"log.example", NoteKeyKind::kEd25519, key.publicKey()};
  const Checkpoint checkpoint{"log.example", 0, emptyTreeHash()};
  const std::string note = signCheckpoint(checkpoint, key)->toString();
  return {
      {"note", note, Space::kNone,
       [verifier](const std::string& text) {
         auto read = parseNote(text);
         return read && openCheckpoint(*read, verifier);
       }},
      // Whatever its log signs.
      {"checkpoint", checkpoint.text(), Space::kMoreLines,
       [key, verifier](const std::string& text) {
         const Note made{text, {signNote(text, verifier.name, key).value()}};
         return static_cast<bool>(openCheckpoint(made, verifier));
       }},
      {"add-checkpoint", AddCheckpoint{3, {emptyTreeHash()}, note}.text(), Space::kMoreLines,
       taken([](const std::string& text) {
         auto read = AddCheckpoint::parse(text);
         return read && parseNote(read->checkpoint);
       })},
      {"verifier key", verifier.text(), Space::kNone,
       taken([](const std::string& text) { return VerifierKey::parse(text); })},
      {"verifier key's file", verifier.text() + "\n", Space::kLastLine, takenFromFile(loadVerifierKey)},
      {"tile path", "tile/entries/x001/234.p/7", Space::kNone,
       taken([](const std::string& text) { return TilePath::parse(text); })},
  };
}

std::vector<Reader> keyReaders() {
  using namespace signing;
  const TimePoint now = parseRfc3339("2026-11-20T06:00:00Z").value();
  const PrivateKey key = PrivateKey::create().value();
  const auto certificate = Authority::create(now)->issue("w1", "acme", key.publicKey(), now);
  const testing_support::TempDirectory directory;
  EXPECT_TRUE(key.save(directory / "key"));
  const std::string secret = readTextFile(directory / "key", 1 << 16).value();
  return {
      {"public key", key.publicKey().pem(), Space::kLastLine,
       taken([](const std::string& text) { return PublicKey::fromPem(text); })},
      {"public key's file", key.publicKey().pem(), Space::kLastLine, takenFromFile(readPublicKeyFile)},
      {"private key's file", secret, Space::kLastLine, takenFromFile(PrivateKey::load)},
      {"private key's file as a public key's", secret, Space::kLastLine, takenFromFile(readPublicKeyFile)},
      {"certificate", certificate->pem(), Space::kLastLine,
       taken([](const std::string& text) { return Certificate::fromPem(text); })},
      {"public key in DER", key.publicKey().der(), Space::kNone,
       taken([](const std::string& text) { return PublicKey::fromDer(text); })},
  };
}

std::vector<Reader> valueReaders() {
  const std::string hash = digestOf("x").hex();
  return {
      {"base64", "Zm9v", Space::kNone, taken([](const std::string& text) { return fromBase64(text); }),
       false},
      {"padded base64", "Zm9vYg==", Space::kNone,
       taken([](const std::string& text) { return fromBase64(text); })},
      {"base64url", "Zm9v", Space::kNone,
       taken([](const std::string& text) { return access::fromBase64Url(text); }), false},
      {"key id", toBase64(digestOf("x").hash), Space::kNone,
       taken([](const std::string& text) { return index::keyValue(text); })},
      {"digest", "sha256:" + hash, Space::kNone,
       taken([](const std::string& text) { return Digest::parse(text, 0); })},
      {"time", "2026-11-20T06:00:00Z", Space::kNone,
       taken([](const std::string& text) { return parseRfc3339(text); })},
      {"decimal", "42", Space::kNone, taken([](const std::string& text) { return parseDecimal(text); }),
       false},
      {"version", "1.2", Space::kNone,
       taken([](const std::string& text) { return signing::parseVersion(text); }), false},
      {"pin", "-0.5", Space::kNone, taken([](const std::string& text) { return parsePin(text); }), false},
      {"toolchain label", "kiln-0.1.0", Space::kNone,
       taken([](const std::string& text) { return checkToolchainLabel(text); }), false},
  };
}

std::vector<Reader> allReaders() {
  std::vector<Reader> out;
  for (auto list : {jsonReaders(), canonicalReaders(), logReaders(), keyReaders(), valueReaders()})
    out.insert(out.end(), list.begin(), list.end());
  return out;
}

TEST(StrictReaders, TakeWhatIsWellFormed) {
  for (const Reader& reader : allReaders()) EXPECT_TRUE(reader.accepts(reader.good)) << reader.name;
}

TEST(StrictReaders, RefuseNulAnywhere) {
  for (const Reader& reader : allReaders()) {
    const std::size_t step = reader.good.size() / 200 + 1;
    for (std::size_t at = 0; at <= reader.good.size(); at += step) {
      std::string text = reader.good;
      text.insert(at, 1, '\0');
      EXPECT_FALSE(reader.accepts(text)) << reader.name << " at " << at;
    }
    for (const std::string& end : {"\0"s, "\0x"s, " \0"s, "\n\0{}"s})
      EXPECT_FALSE(reader.accepts(reader.good + end)) << reader.name;
  }
}

TEST(StrictReaders, RefuseMoreThanOneDocument) {
  for (const Reader& reader : allReaders()) {
    if (!reader.hasEnd) continue;
    for (const std::string& more : {reader.good, "x"s, ","s, "-"s, "="s, "===="s, "{}"s, "//"s, "A"s}) {
      if (reader.space == Space::kMoreLines && more == reader.good) continue;
      EXPECT_FALSE(reader.accepts(reader.good + more)) << reader.name << " before " << more;
    }
    for (const std::string& more : {"\xEF\xBB\xBF"s, "x"s, "{}"s, "x\n"s, "="s})
      EXPECT_FALSE(reader.accepts(more + reader.good)) << reader.name << " after " << more;
  }
}

TEST(StrictReaders, RefuseWhiteSpaceThatNoFormatNames) {
  for (const Reader& reader : allReaders()) {
    for (const std::string& space : {" "s, "\t"s, "\n"s, "\r"s, "\v"s, "\f"s, "\r\n"s, "\x1a"s, "\x85"s,
                                     "\xC2\xA0"s, "\xE2\x80\xA8"s, "    "s}) {
      if (reader.space == Space::kMoreLines && space == "\r\n") continue;
      const bool json = reader.space == Space::kJson && space.find_first_not_of(" \t\r\n") == space.npos;
      EXPECT_EQ(reader.accepts(reader.good + space), json) << reader.name << ", " << toHex(asBytes(space));
      EXPECT_EQ(reader.accepts(space + reader.good), json) << toHex(asBytes(space)) << ", " << reader.name;
    }
    if (reader.space == Space::kLastLine) {
      EXPECT_TRUE(reader.accepts(reader.good.substr(0, reader.good.size() - 1))) << reader.name;
    }
  }
}

// Two spellings of one key or hash would count as two.
TEST(StrictReaders, TakeOneSpellingOfBase64) {
  for (const char* text : {"Zm9vYh==", "Zm9vYg", "Zm9vYg=", "Zm9-", "Zm9_", " Zm9", "Zm9v\n\n\n\n",
                           "====", "A===", "Zm==Zm9v", "Zm9vYmF\n", "-AAA", "Zm-v"})
    EXPECT_FALSE(fromBase64(text)) << text;
  EXPECT_EQ(fromBase64("").value(), "");
  EXPECT_EQ(fromBase64("Zg==").value(), "f");
}

TEST(StrictReaders, TakeOneSpellingOfPem) {
  const std::string pem = signing::PrivateKey::create()->publicKey().pem();
  const std::size_t body = pem.find('\n') + 1;
  std::string wrapped = pem, headed = pem, windows, trailing = pem;
  wrapped.insert(body + 10, "\n");
  headed.insert(body, "Comment: mine\n\n");
  for (const char c : pem) windows += c == '\n' ? "\r\n" : std::string(1, c);
  for (const std::string& text : {wrapped, headed, windows, "# mine\n" + pem, pem + "\n" + pem})
    EXPECT_FALSE(signing::PublicKey::fromPem(text)) << text;
}

// What a guide shows is what the reader takes, member by member.
TEST(Documented, TheCheckPlanOfTheGuide) {
  const std::string guide =
      testing_support::readGolden(std::string(KILN_GOLDEN_DIR) + "/../../api/guides/run_on_a_node.md");
  const std::string open = "```json\n";
  const std::size_t begin = guide.find(open);
  ASSERT_NE(begin, std::string::npos);
  const std::string text =
      guide.substr(begin + open.size(), guide.find("```", begin + open.size()) - begin - open.size());
  const auto plan = runtime::parseCheckPlan(text);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->goldens.size(), 1u);
  EXPECT_EQ(plan->metrics.size(), 1u);
  EXPECT_TRUE(plan->limits.peakBytes);
}

}  // namespace
}  // namespace kiln
