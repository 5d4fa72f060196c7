// The mentions of a signed statement: the terms by which auditors find it. A pure function of the statement
// and of the key that its bundle names, so that `kiln audit` can compute every row again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/digest.h"

namespace kiln::index {

// The numbers are stored.
enum class MentionKind {
  kStatement = 0,  // every statement; the value is textValue("")
  kArtifact = 1,   // its subject
  kToolchain = 2,  // the tree
  kInput = 3,      // the model or a data file
  kSource = 4,     // text: where an input came from; whole, its repository's URL, its commit
  kTarget = 5,     // text: whole, and each part of a composite one
  kWorker = 6,     // text: who built, reproduced or checked it
  kOperator = 7,   // text: of such a worker
  kKey = 8,        // SHA-256 of the SubjectPublicKeyInfo, which a key id is in base64
  kSubmitter =
      9,  // text: whose jobs came to the artifact; from the farm's record of jobs, no statement says it
  kDevice = 10,  // text: whatever a check's report says of the device it ran on
};

// Whether a mention is of the artifact rather than of one statement: it is then true for every statement
// about it. All but the submitter are said by its provenance.
bool isContent(MentionKind kind);

struct Mention {
  MentionKind kind = MentionKind::kStatement;
  Digest value;  // by its hash; the size is 0
  auto operator<=>(const Mention&) const = default;
};

// The posting list of a mention in one instance, in hex: the first 16 bytes of the SHA-256 of value, kind
// (two bytes, big-endian) and instance. The schema's mention_term() computes the same.
std::string termOf(std::string_view instance, const Mention& mention);
// Tells statements of one time apart: the first eight bytes of the payload's digest, big-endian.
std::int64_t statementNumber(const Digest& payload);

// The value of a mention of text.
Digest textValue(std::string_view text);
// A key id as a value. kInvalidArgument unless it is base64 of 32 bytes, or "sha256:<hex>".
Result<Digest> keyValue(std::string_view keyId);

struct StatementMentions {
  Digest artifact;           // the subject
  std::vector<Mention> all;  // sorted, each once
};

// The mentions of an in-toto Statement (canonical JSON) about one artifact, with every kind of content only
// for provenance. kInvalidArgument if it, or a predicate of a type that is known here, cannot be read.
Result<StatementMentions> mentionsOf(std::string_view statement, const Digest& key);

}  // namespace kiln::index
