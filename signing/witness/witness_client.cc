#include "signing/witness/witness_client.h"

#include "manifest/base/printable.h"
#include "manifest/json/reader.h"
#include "signing/follow/http.h"
#include "signing/log/cosignature.h"
#include "signing/witness/add_checkpoint.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxAnswer = 16 << 10;
constexpr std::size_t kMaxSaid = 300;  // of a refusal, in a message

Result<HttpAnswer> post(const WitnessEndpoint& witness, const std::string& checkpoint, std::uint64_t from,
                        TileTree& tree) {
  KILN_ASSIGN(auto proof, consistencyProof(tree, from, tree.size()));
  return httpPost(witness.url + "/add-checkpoint", AddCheckpoint{from, std::move(proof), checkpoint}.text(),
                  kMaxAnswer);
}

// The body of a 409.
Result<std::uint64_t> sizeIn(std::string body, const WitnessEndpoint& witness) {
  if (body.ends_with('\n')) body.pop_back();
  auto size = parseDecimal(body);
  if (!size) return fail(Code::kUnavailable, witness.url + ": answered a conflict without a size");
  return size;
}

// The witness's own cosignature in its answer.
Result<NoteSignature> cosignatureIn(const std::string& body, const Note& checkpoint,
                                    const WitnessEndpoint& witness) {
  // A witness that talks nonsense is one that is not there: others may make the quorum.
  const auto nonsense = [&](const Error& error) {
    return Error{Code::kUnavailable,
                 witness.url + ": no cosignature of " + witness.key.name + " in its answer: " + error.message,
                 {}};
  };
  KILN_ASSIGN(Note answer, parseNote(checkpoint.text + "\n" + body).map_error(nonsense));
  KILN_ASSIGN(auto read, readCosignatures(answer, std::span(&witness.key, 1)).map_error(nonsense));
  for (const NoteSignature& one : answer.signatures)
    if (!read.empty() && one.name == witness.key.name && one.hint == witness.key.hint()) return one;
  return fail(Code::kUnavailable, witness.url + ": answered without the cosignature of " + witness.key.name);
}

// What it says is for people: the log's operator is to know what the witness's must mend.
tl::unexpected<Error> refused(const WitnessEndpoint& witness, HttpAnswer answer) {
  while (answer.body.ends_with('\n')) answer.body.pop_back();
  return fail(Code::kUnavailable, witness.url + ": HTTP status " + std::to_string(answer.status) +
                                      (answer.body.empty() ? "" : ": " + printable(answer.body, kMaxSaid)));
}

tl::unexpected<Error> contradicts(const WitnessEndpoint& witness, const char* what, std::uint64_t seen) {
  return fail(Code::kDataLoss, witness.url + ": the witness " + witness.key.name + " has cosigned " + what +
                                   " (" + std::to_string(seen) +
                                   " entries); nothing is appended. Restore the newest tiles and database");
}

// Asks again, once, from where the witness says that it stands.
Result<NoteSignature> askOne(const WitnessEndpoint& witness, const Note& checkpoint, std::uint64_t from,
                             TileTree& tree) {
  const std::string text = checkpoint.toString();
  KILN_ASSIGN(HttpAnswer answer, post(witness, text, from, tree));
  if (answer.status == 409) {
    KILN_ASSIGN(std::uint64_t seen, sizeIn(answer.body, witness));
    if (seen > tree.size()) return contradicts(witness, "a larger log", seen);
    if (seen != from) {
      from = seen;
      KILN_ASSIGN(answer, post(witness, text, from, tree));
    }
  }
  if (answer.status == 422) return contradicts(witness, "another history", from);
  if (answer.status == 409) {
    KILN_ASSIGN(std::uint64_t seen, sizeIn(answer.body, witness));
    if (seen == from) return contradicts(witness, "another log of this size", seen);
  }
  if (answer.status != 200) return refused(witness, std::move(answer));
  return cosignatureIn(answer.body, checkpoint, witness);
}

}  // namespace

Status collectCosignatures(const std::vector<WitnessEndpoint>& witnesses, std::size_t quorum,
                           Note& checkpoint, std::uint64_t from, TileTree& tree,
                           const WitnessAnswered& told) {
  const Note asked = checkpoint;
  std::size_t answered = 0;
  std::string why;
  for (const WitnessEndpoint& witness : witnesses) {
    auto cosignature = askOne(witness, asked, from, tree);
    if (told) told(witness, cosignature ? Status() : fail(cosignature.error()));
    if (cosignature) {
      checkpoint.signatures.push_back(std::move(*cosignature));
      ++answered;
    } else if (cosignature.error().code == Code::kDataLoss) {
      return fail(cosignature.error());
    } else {
      why += "; " + cosignature.error().message;
    }
  }
  if (answered >= quorum) return {};
  return fail(Code::kUnavailable, std::to_string(answered) + " of " + std::to_string(quorum) +
                                      " witnesses that are needed cosigned" + why);
}

}  // namespace kiln::signing
