// The statement that a farm admitted a toolchain: from then on the label means this tree in that instance,
// for ever.
// Described in manifest/FORMAT.md.
#pragma once

#include <optional>
#include <string>

#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "manifest/statement/statement.h"

namespace kiln {

inline constexpr char kToolchainType[] = "urn:kiln:predicate:toolchain:v1";

struct ToolchainAdmission {
  std::string builderId;       // of the farm that says so
  std::string label;           // the one that the tree's toolchain.json gives
  std::optional<Digest> lock;  // what the tree was made from; none where whoever added it named none
  TimePoint admittedOn;
  // Where it was admitted, as text: it counts nowhere else. Nothing: a release signed it that did not say so.
  std::optional<std::string> instance = {};

  // The predicate.
  Json toJson() const;
  // kInvalidArgument naming the member.
  static Result<ToolchainAdmission> fromJson(const Json& predicate);
};

// The statement about one tree, by its root Directory, in canonical JSON: what the signer signs.
Result<std::string> admissionStatement(const Digest& toolchainDigest, const ToolchainAdmission& admission);

}  // namespace kiln
