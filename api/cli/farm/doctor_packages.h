// Installed packages of which faults are known that a later version has not.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/cli/farm/doctor_finding.h"

namespace kiln::cli {

// A source package, and the first version (Debian's form) without any of the faults that we know.
struct KnownFix {
  const char* source;
  const char* fixed;
  const char* faults;
  const char* next;  // what to do about it
};
std::span<const KnownFix> knownFixes();

// `installed`: lines of "source version", as dpkg-query tells them; `earlier(a, b)`: whether version a is
// before b. One finding for each package below its fix, or one that none is.
std::vector<Finding> packagesBelowFixes(
    std::string_view installed, const std::function<bool(const std::string&, const std::string&)>& earlier);

// Asks dpkg; nothing where there is none.
std::vector<Finding> checkPackages();

}  // namespace kiln::cli
