// The step between fork and exec: one process, set up, that becomes bubblewrap.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "manifest/base/file.h"
#include "manifest/base/result.h"
#include "worker/sandbox/policy.h"

namespace kiln::sandbox {

struct Launch {
  std::string program;                 // absolute path of bwrap
  std::vector<std::string> arguments;  // argv, without binds (see `binds`)
  struct Bind {
    std::string source;       // on the host
    std::string destination;  // inside
    bool writable = false;
    bool device = false;
  };
  std::vector<Bind> binds;  // in order; inserted in front of the arguments from `tail` on
  std::vector<std::string> tail;
  uid_t uid = 0;  // on the host; never 0
  gid_t gid = 0;
  std::uint64_t processLimit = 0;  // RLIMIT_NPROC for that uid
  Limits limits;
  bool ownPids = false;          // see canOwnPids(); bubblewrap is then pid 1 of a namespace of its own
  std::vector<int> cgroups;      // cgroup.procs files to write "0" to
  int out = -1, err = -1;        // become 1 and 2
  int status = -1, filter = -1;  // become 3 and 4
};

// Whether launch() can start bubblewrap as pid 1 of a pid namespace with a /proc of its own. It needs root,
// or user namespaces and a /proc that nothing is mounted over. Then the kernel ends everything at once with
// bubblewrap, and bubblewrap with the thread that started it, whenever either is killed. Without it
// bubblewrap's own child can be left behind if bubblewrap is killed in the milliseconds before that child
// asks to die too.
bool canOwnPids();

// Starts a process. The calling thread must outlive it: it gets SIGKILL when that thread ends. When this
// process is root the child takes a private mount namespace, so that bind sources below directories closed to
// `uid` can be reached, and then becomes uid:gid with no groups and no capabilities. Setup errors go to the
// child's stderr and exit status 127.
Result<pid_t> launch(const Launch& plan);

}  // namespace kiln::sandbox
