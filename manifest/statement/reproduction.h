// The statement that an artifact was made again, byte for byte, by somebody who did not make it first: on a
// farm by another worker, or offline by an auditor from an export. Described in manifest/FORMAT.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "manifest/spec/compile_spec.h"
#include "manifest/statement/statement.h"

namespace kiln {

inline constexpr char kReproductionType[] = "urn:kiln:predicate:reproduction:v1";

// Exists only where everything was equal: a rebuild that differs is exit code 9 and no statement.
struct Reproduction {
  std::string rebuilderId;           // whom the key speaks for: a farm's builder id, or an auditor's own URI
  std::string worker, operatorName;  // on a farm as in the worker's certificate
  std::string invocationId;          // the job; "" offline
  Digest compile;                    // the Action that was run again, as the spec in the Manifest defines it
  std::optional<Digest> reference;   // likewise, where the fixtures were made again
  Digest manifest;                   // the Manifest that came out: the artifact's config
  std::optional<Digest> fixtures;    // fixtures.json that came out
  Digest sandboxPolicy;              // that the actions ran under
  std::string sandbox = {};          // whose that is, by name ("reapi-cluster/1"); "" for Kiln's own
  std::optional<Digest> receipt;     // of the worker; none offline, where the rebuilder itself signs
  std::vector<ModelFile> absent;  // files of the toolchain that were not there: the run had no use for them
  TimePoint startedOn, finishedOn;
  bool operator==(const Reproduction&) const = default;

  // The predicate.
  Json toJson() const;
  // kInvalidArgument naming the member.
  static Result<Reproduction> fromJson(const Json& predicate);
};

// The statement about one artifact, in canonical JSON: what is signed.
Result<std::string> reproductionStatement(const Digest& artifact, const Reproduction& reproduction);

}  // namespace kiln
