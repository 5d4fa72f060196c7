// What of a container, a pod or a service manager stands between this process and bubblewrap: found by taking
// the steps that bubblewrap takes, and by what the kernel shows of this process. Sources: proc(5),
// user_namespaces(7); the security contexts of Kubernetes' API, pod fields by their names there.
#pragma once

#include <string>

namespace kiln::sandbox {

enum class Surroundings { kHost, kContainer, kPod };

struct Confinement {
  Surroundings surroundings = Surroundings::kHost;
  bool filtered = false;  // a filter of system calls is in force
  bool noNewPrivileges = false;
  std::string appArmor;  // the profile that confines this process; "" for none
  int users = 0;         // errno of making a user namespace; 0: it can be made
  int mounts = 0;        // errno of mounting within one; 0: it works, or was not tried for want of one

  // "a pod, with a filter of system calls, AppArmor profile docker-default", for people.
  std::string describe() const;
};

// Takes each step in a child process of its own. Thread safe.
Confinement readConfinement();

// What to do about a step that does not work, in the words of who configures these surroundings.
struct Remedies {
  std::string users;    // no user namespace
  std::string mounts;   // no mounts within one
  std::string proc;     // no /proc of its own
  std::string memory;   // no control group for memory
  std::string account;  // actions run as the worker's own user
};
Remedies remediesFor(const Confinement& confinement);

}  // namespace kiln::sandbox
