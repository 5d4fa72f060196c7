#include "api/cli/farm/doctor_disks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <filesystem>
#include <map>

#include "api/cli/base/print.h"
#include "manifest/base/result.h"
#include "manifest/base/scratch_directory.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMinBytes = 256u << 20, kMinInodes = 1000;
constexpr std::uint64_t kLowShare = 20;  // one part in so many

std::vector<std::string> placesOf(const std::string& farm) {
  std::vector<std::string> places{ScratchDirectory::temporaryFolder()};
  if (farm.empty()) return places;
  for (const char* name : {"", "/store", "/pg/data", "/log", "/logs", "/workers"})
    places.push_back(farm + name);
  std::error_code error;
  for (fs::directory_iterator at(farm + "/workers", error), end; !error && at != end; at.increment(error))
    places.push_back(at->path().string());
  return places;
}

}  // namespace

Finding judgeDisk(const std::vector<std::string>& places, const DiskFacts& facts) {
  const std::string name = "disk of " + printable(fmt::format("{}", fmt::join(places, ", ")));
  if (facts.readOnly)
    return {name, "missing", "is mounted read-only", "mount it for writing, or choose another place"};
  const bool counted = facts.inodes != 0;
  const std::string detail =
      humanBytes(facts.free) + " free of " + humanBytes(facts.size) +
      (counted ? fmt::format(", {} inodes free of {}", facts.freeInodes, facts.inodes) : "");
  const char* next = "make room: kiln gc removes what no artifact needs; logs and backups are yours to move";
  const bool fewInodes = counted && facts.freeInodes < kMinInodes;
  if (facts.free < kMinBytes || fewInodes)
    return {name, "missing", std::string(fewInodes ? "has no inodes left: " : "is full: ") + detail, next};
  if (facts.free < facts.size / kLowShare || (counted && facts.freeInodes < facts.inodes / kLowShare))
    return {name, "warning", "is nearly full: " + detail, next};
  return {name, "ok", detail, ""};
}

std::vector<Finding> checkDisks(const std::string& farm) {
  std::map<dev_t, std::vector<std::string>> places;
  std::map<dev_t, DiskFacts> facts;
  std::vector<Finding> out;
  for (const std::string& place : placesOf(farm)) {
    struct stat at{};
    struct statvfs disk{};
    if (::stat(place.c_str(), &at) != 0 || ::statvfs(place.c_str(), &disk) != 0) {
      const int why = errno;
      // The farm's own parts are made as they are needed, and some are another user's to look into.
      if (place == ScratchDirectory::temporaryFolder() || place == farm)
        out.push_back({"disk of " + printable(place), "missing", errnoError(why, printable(place)).message,
                       place == farm ? "name the farm's directory with --farm or KILN_FARM"
                                     : "set TMPDIR to a folder that you may write"});
      continue;
    }
    places[at.st_dev].push_back(place);
    facts[at.st_dev] = {.size = std::uint64_t{disk.f_blocks} * disk.f_frsize,
                        .free = std::uint64_t{disk.f_bavail} * disk.f_frsize,
                        .inodes = disk.f_files,
                        .freeInodes = disk.f_favail,
                        .readOnly = (disk.f_flag & ST_RDONLY) != 0};
  }
  for (const auto& [device, there] : places) out.push_back(judgeDisk(there, facts[device]));
  return out;
}

}  // namespace kiln::cli
