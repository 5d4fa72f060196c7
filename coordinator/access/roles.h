// The roles of a caller in an instance (manifest/DESIGN.md §7).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln::access {

enum class Role : std::uint8_t {
  kSubmitter = 1,        // submits jobs, uploads and reads what they need
  kAuditor = 2,          // reads everything, changes nothing
  kRuntime = 4,          // fetches artifacts
  kWorker = 8,           // runs actions
  kToolchainAdmin = 16,  // adds toolchains
  kAdmin = 32,           // all of these but to be a worker
};

class Roles {
 public:
  constexpr Roles() = default;
  constexpr Roles(std::initializer_list<Role> roles) {
    for (Role role : roles) add(role);
  }
  constexpr void add(Role role) { bits_ |= static_cast<std::uint8_t>(role); }
  constexpr void add(Roles roles) { bits_ |= roles.bits_; }
  constexpr bool has(Role role) const { return (bits_ & static_cast<std::uint8_t>(role)) != 0; }
  constexpr bool meets(Roles other) const { return (bits_ & other.bits_) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  bool operator==(const Roles&) const = default;

  std::string names() const;  // "submitter, admin"

 private:
  std::uint8_t bits_ = 0;
};

inline constexpr Role kEveryRole[] = {Role::kSubmitter, Role::kAuditor,        Role::kRuntime,
                                      Role::kWorker,    Role::kToolchainAdmin, Role::kAdmin};

std::string_view roleName(Role role);  // "toolchain-admin"
// kInvalidArgument names those that there are.
Result<Role> parseRole(std::string_view name);

}  // namespace kiln::access
