// The records of a farm that signed before it had a log: one file per payload, DIR/<sha256 of the
// payload>.json, holding the bundle. Only read.
#pragma once

#include <optional>
#include <string>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::signing {

// Thread safe.
class LegacyRecords {
 public:
  // A directory that is not there holds no records; nor does "".
  explicit LegacyRecords(std::string directory) : directory_(std::move(directory)) {}

  // The bundle of a payload, by its digest, whose size is not looked at. kDataLoss if its record does not
  // hold that payload any more.
  Result<std::optional<std::string>> find(const Digest& payload) const;

 private:
  const std::string directory_;
};

}  // namespace kiln::signing
