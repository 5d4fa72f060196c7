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
  std::vector<int> cgroups;      // cgroup.procs files to write "0" to
  int out = -1, err = -1;        // become 1 and 2
  int status = -1, filter = -1;  // become 3 and 4
};

// Forks. The calling thread must outlive the child: bubblewrap dies with it (--die-with-parent). When this
// process is root the child takes a private mount namespace, so that bind sources below directories closed to
// `uid` can be reached, and then becomes uid:gid with no groups and no capabilities. Setup errors go to the
// child's stderr and exit status 127.
Result<pid_t> launch(const Launch& plan);

}  // namespace kiln::sandbox
