// Farms that have names ("contexts"), so that nobody exports variables: the file that `kiln config` keeps.
//
//   {"version": 1, "current": "lab", "contexts": {"lab": {"endpoint": "unix:/run/kiln.sock", "mirrors": []}}}
//
// The members of a context are those of settings.h. The file says whom to ask and whom to believe, so another
// user's hand in it is refused as in a trust root. No secret stands in it, only where one lies.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "manifest/base/result.h"
#include "manifest/json/json.h"

namespace kiln::cli {

struct FarmContext {
  std::map<std::string, std::string> settings;  // by Setting::member; no empty values
  std::vector<std::string> mirrors;
};

struct FarmContexts {
  std::string current;  // "" for none
  std::map<std::string, FarmContext> farms;
};

// $XDG_CONFIG_HOME/kiln/config.json, or ~/.config/kiln/config.json; "" where neither variable is an absolute
// path.
std::string contextsPath();

// The same; kInvalidArgument where there is none.
Result<std::string> contextsFile();

// Nothing where there is no such file ("" is none). kInvalidArgument naming the file and the member for what
// is no such document, beyond 256 KiB or 100 farms; kPermissionDenied where another user could have written
// it.
Result<FarmContexts> loadContexts(const std::string& path);
// Replaces the file, mode 0600. The folder is there,
// and the caller holds lockForUpdate() of the file.
Status saveContexts(const std::string& path, const FarmContexts& contexts);

// kInvalidArgument for what can be no name: lower case letters, digits and "-._", at most 64, the first a
// letter or a digit.
Status checkContextName(const std::string& name);
// kInvalidArgument for a value that no setting can have: empty, beyond 4096 bytes, with control characters,
// or a path that is not absolute.
Status checkSetting(const std::string& member, const std::string& value);
// kNotFound with the nearest names and the next step.
Result<FarmContext> findContext(const FarmContexts& contexts, const std::string& name);

Json toJson(const FarmContext& farm);

}  // namespace kiln::cli
