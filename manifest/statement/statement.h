// in-toto Statement v1. Source: in-toto attestation framework, spec/v1/statement.md.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/json/json.h"

namespace kiln {

inline constexpr char kStatementType[] = "https://in-toto.io/Statement/v1";
inline constexpr char kProvenanceType[] = "https://slsa.dev/provenance/v1";

struct Subject {
  std::string name;  // for people; the digest decides
  std::array<std::uint8_t, 32> sha256{};
  bool operator==(const Subject&) const = default;
};

struct Statement {
  std::vector<Subject> subjects;  // 1 to 1024
  std::string predicateType;
  Json predicate;  // an object

  Json toJson() const;
};

// Reads a statement from outside: strict JSON, no members beyond the specification's, only sha256 digests, at
// most 1024 subjects. kInvalidArgument names the member. The predicate is left as it is.
Result<Statement> parseStatement(std::string_view text);

}  // namespace kiln
