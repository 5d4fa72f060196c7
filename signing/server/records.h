// What was signed: one file per payload, DIR/<sha256 of the payload>.json, holding the bundle. Written once,
// never replaced; a payload is signed once and a repeat gets the first bundle.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "manifest/base/digest.h"

namespace kiln::signing {

// Thread safe, and safe with other processes on the same directory.
class Records {
 public:
  // Creates the directory (mode 0700) if it is not there.
  static Result<Records> open(const std::string& directory);

  // The bundle of a payload, if it was signed. kDataLoss if its record does not hold that payload any more.
  Result<std::optional<std::string>> find(std::string_view payload) const;
  // The same by the payload's digest; its size is not looked at.
  Result<std::optional<std::string>> find(const Digest& payload) const;

  // Durable on return. The bundle to hand out: `bundle`, or the one that another call recorded first.
  Result<std::string> add(std::string_view payload, const std::string& bundle) const;

 private:
  explicit Records(std::string directory) : directory_(std::move(directory)) {}
  std::string pathOf(const Digest& payload) const;

  std::string directory_;
};

}  // namespace kiln::signing
