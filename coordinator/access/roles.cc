#include "coordinator/access/roles.h"

#include "manifest/base/printable.h"

namespace kiln::access {

std::string_view roleName(Role role) {
  switch (role) {
    case Role::kSubmitter:
      return "submitter";
    case Role::kAuditor:
      return "auditor";
    case Role::kRuntime:
      return "runtime";
    case Role::kWorker:
      return "worker";
    case Role::kToolchainAdmin:
      return "toolchain-admin";
    case Role::kAdmin:
      return "admin";
  }
  return "";
}

Result<Role> parseRole(std::string_view name) {
  Roles every;
  for (Role role : kEveryRole) {
    if (roleName(role) == name) return role;
    every.add(role);
  }
  return fail(Code::kInvalidArgument, inQuotes(name) + " is no role; there are " + every.names());
}

std::string Roles::names() const {
  std::string out;
  for (Role role : kEveryRole)
    if (has(role)) out += (out.empty() ? "" : ", ") + std::string(roleName(role));
  return out;
}

}  // namespace kiln::access
