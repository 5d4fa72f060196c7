// The statement that a tuning record was measured: by whom, for which plan, on what. Described in
// manifest/FORMAT.md.
#pragma once

#include <string>

#include "manifest/base/digest.h"
#include "manifest/statement/stated_run.h"
#include "manifest/statement/statement.h"

namespace kiln {

inline constexpr char kTuneType[] = "urn:kiln:predicate:tune:v1";

struct TuneStatement : StatedRun {
  Digest plan;  // the kernel plan (manifest/tuning/kernel_plan.h)
  std::string target;
  std::string deviceKind, deviceName;  // as in the record
  std::uint64_t kernels = 0;           // of the record
  std::uint64_t faster = 0;            // among them, those whose choice is not the default

  // The predicate.
  Json toJson() const;
  // kInvalidArgument naming the member.
  static Result<TuneStatement> fromJson(const Json& predicate);
};

// The statement about one record (the digest of its canonical JSON), in canonical JSON: what the signer
// signs.
Result<std::string> tuneStatement(const Digest& record, const TuneStatement& tune);

}  // namespace kiln
