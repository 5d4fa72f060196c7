// The file behind a TrustStore.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "manifest/base/clock.h"
#include "manifest/base/result.h"

namespace kiln::signing {

struct TrustState {
  std::string root;  // the last root's file, whole; "" for none
  TimePoint latestSeen{};
  std::uint64_t recallsVersion = 0;
  std::string recalls;  // "" for none

  bool operator==(const TrustState&) const = default;

  // What is there; an empty state if there is no file. kDataLoss if it is not one.
  static Result<TrustState> load(const std::string& path);
  // Applies `change` to what is there, alone among processes, and replaces the file if it differs. Does
  // nothing where the folder cannot be written.
  static Status update(const std::string& path, const std::function<Status(TrustState&)>& change);
};

}  // namespace kiln::signing
