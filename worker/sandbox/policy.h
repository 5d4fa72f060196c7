// Policy: what an action may do and how much it may use. Serialised to canonical JSON; its digest is reported
// by every worker and stands in the provenance (internalParameters.sandboxPolicy), so equal digests mean
// equal confinement. Host facts (which limits the kernel really enforces) are no part of it; probe.h reports
// those.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"
#include "manifest/json/json.h"

namespace kiln::sandbox {

// Sizes in bytes, times in seconds. Per process where the kernel's own limit is: addressSpace, fileBytes,
// cpuSeconds, openFiles, stackBytes. All others are for the whole action.
struct Limits {
  std::uint64_t memoryBytes = 16ull << 30;  // cgroup; enforced only where the host gives one
  std::uint64_t addressSpaceBytes = 64ull << 30;
  std::uint64_t stackBytes = 64ull << 20;
  std::uint64_t processes = 256;  // threads included
  std::uint64_t openFiles = 1024;
  std::uint64_t cpuSeconds = 4 * 3600;
  std::uint64_t wallSeconds = 3600;
  std::uint64_t fileBytes = 8ull << 30;
  std::uint64_t outputBytes = 16ull << 30;
  std::uint64_t outputFiles = 8192;  // directories included
  std::uint64_t outputDepth = 8;
  std::uint64_t outputPathBytes = 512;
  std::uint64_t logBytes = 1u << 20;  // each of stdout and stderr; the middle of a longer one is dropped
  std::uint64_t tmpBytes = 0;         // of a /tmp of the action's own, in memory; 0: there is none
  bool operator==(const Limits&) const = default;
};

struct Policy {
  std::string name;          // "compile/2"
  bool network = false;      // share the host's network; the fetcher only
  bool proc = false;         // a /proc of the action's own processes; not for what makes artifacts
  std::uint32_t uid = 1000;  // as seen inside; the host's uid is another one, never 0
  std::uint32_t gid = 1000;
  std::string hostName = "localhost";
  bool randomizeAddresses = false;
  bool gpu = false;                          // the ioctls of GPUs' drivers; checks on GPUs only
  std::vector<std::string> devices;          // bound from the host, sorted
  std::map<std::string, std::string> links;  // symbolic links beside the devices, and where they lead
  std::vector<std::string> calls;            // system calls allowed, sorted; all others fail with ENOSYS
  Limits limits;
  bool operator==(const Policy&) const = default;

  Json toJson() const;
  // The digest of the canonical JSON: the "sandbox policy digest".
  Result<Digest> digest() const;
};

// What compile and reference actions run under.
Policy compilePolicy();
// What checks run under: the worker's own program on the host's libraries, loading a compiled program.
Policy checkPolicy();
// What tunes run under: as compiles, and a /proc, since what they measure is this machine.
Policy tunePolicy();
// What tunes on GPUs run under: likewise (gpuCheckPolicy), for the compiler that tunes.
Policy gpuTunePolicy(std::vector<std::string> nodes);
// What checks on GPUs run under: the same with `nodes` of the driver ("/dev/nvidia0", "/dev/dri/renderD128"),
// its system calls, and
// no limit on addresses, of which it reserves more than any machine has memory.
Policy gpuCheckPolicy(std::vector<std::string> nodes);
// The driver's device nodes on this host, sorted; none without a GPU.
std::vector<std::string> gpuNodes();
// What foreign actions run under: shells, build tools and compiler drivers, which start programs of their
// own, write beside their inputs and want a /tmp and a /proc.
Policy executePolicy();
// What the source fetcher runs under: the network, smaller limits, no more calls than sockets need.
Policy fetchPolicy();
// The system calls of a fetcher that reads a repository on its own machine and has no bubblewrap around it;
// it sets its limits itself.
Policy readPolicy();

}  // namespace kiln::sandbox
