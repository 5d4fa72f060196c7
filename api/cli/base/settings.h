// What a command can be told of a farm: by an option, by a variable, or by a farm that has a name.
//
// The option comes first, then the variable, then the named farm. A named farm is one farm as a whole: where
// an option or a variable names another coordinator, HTTP side or state folder, nothing of it counts, so that
// no token goes to a farm that it is not for. Where --context names it, it comes before the environment, of
// which only what restricts (trust root, policy, recalls), mirrors and the wait fill in what it leaves out.
#pragma once

#include <span>
#include <string>

#include "api/cli/base/context.h"

namespace kiln::cli {

struct Setting {
  const char* member;    // in a named farm and of kiln config
  const char* option;    // of commands; "" for none
  const char* variable;  // of the environment
  const char* what;      // for people
  bool isPath;           // of a file or folder
  bool isSecret;         // what lies at the path is
  bool isOfFarm;         // of one farm: never mixed with another's
  std::string& (*value)(Context&);
};

// In the order in which people read them.
std::span<const Setting> settings();

// What is wrong with the file or folder that a setting names, and the next step: it is not there, or others
// may read a secret. Both "" where nothing is.
struct SettingFault {
  std::string what, next;
};
SettingFault faultOf(const Setting& setting, const std::string& value);

}  // namespace kiln::cli
