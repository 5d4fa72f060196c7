#include "manifest/artifact/fixture_list.h"

#include <set>

#include "manifest/base/printable.h"
#include "manifest/json/reader.h"
#include "manifest/spec/path.h"

namespace kiln {
namespace {

constexpr std::size_t kMaxProfiles = 256;

using Paths = std::set<std::string, std::less<>>;

Result<FixtureFile> readFile(const Json& json, const std::string& place) {
  KILN_ASSIGN(ObjectReader entry, ObjectReader::open(json, place));
  FixtureFile file;
  KILN_ASSIGN(file.path, entry.string("path"));
  if (const Status safe = checkRelativePath(file.path); !safe)
    return badMember(entry.path("path"), safe.error().message);
  if (!file.path.ends_with(".npy")) return badMember(entry.path("path"), "must end in .npy");
  KILN_ASSIGN(file.digest, entry.digest());
  KILN_TRY(entry.finish());
  return file;
}

bool isBelowAFile(const std::string& path, const Paths& files) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
    if (files.contains(std::string_view(path).substr(0, slash))) return true;
  return false;
}

Result<Paths> readFiles(ObjectReader& reader, std::vector<FixtureFile>& out) {
  KILN_ASSIGN(const Json* files, reader.array("files"));
  if (files->size() > kMaxFixtureFiles)
    return badMember("files", "more than " + std::to_string(kMaxFixtureFiles) + " files");
  Paths paths;
  for (const Json& json : *files) {
    const std::string place = "files[" + std::to_string(out.size()) + "]";
    KILN_ASSIGN(FixtureFile file, readFile(json, place));
    if (!out.empty() && file.path <= out.back().path)
      return badMember(place + ".path", "must come after the path before it");
    paths.insert(file.path);
    out.push_back(std::move(file));
  }
  for (const FixtureFile& file : out)
    if (isBelowAFile(file.path, paths)) return badMember("files", inQuotes(file.path) + " is below a file");
  return paths;
}

Result<std::vector<std::string>> readPaths(ObjectReader& reader, std::string_view name, const Paths& files) {
  KILN_ASSIGN(std::vector<std::string> paths, reader.strings(name));
  for (const std::string& path : paths)
    if (!files.contains(path))
      return badMember(reader.path(name), inQuotes(path) + " is not among the files");
  return paths;
}

}  // namespace

Result<FixtureList> parseFixtureList(std::string_view text) {
  KILN_ASSIGN(const Json json, parseStrictJson(text, {kMaxFixtureListBytes, 8}));
  KILN_ASSIGN(ObjectReader reader, ObjectReader::open(json, ""));
  KILN_TRY(reader.expect("version", "1"));
  FixtureList list;
  KILN_ASSIGN(const Paths files, readFiles(reader, list.files));
  KILN_ASSIGN(const Json* profiles, reader.array("profiles"));
  if (profiles->size() > kMaxProfiles) return badMember("profiles", "more than 256 profiles");
  for (const Json& entryJson : *profiles) {
    KILN_ASSIGN(ObjectReader entry,
                ObjectReader::open(entryJson, "profiles[" + std::to_string(list.profiles.size()) + "]"));
    FixtureProfile profile;
    KILN_ASSIGN(profile.name, entry.string("name"));
    KILN_ASSIGN(profile.inputs, readPaths(entry, "inputs", files));
    KILN_ASSIGN(profile.outputs, readPaths(entry, "outputs", files));
    if (entry.has("atol")) {
      KILN_ASSIGN(profile.absoluteTolerances, entry.decimals("atol"));
      if (profile.absoluteTolerances.size() != profile.outputs.size())
        return badMember(entry.path("atol"), "must have one for each output");
    }
    KILN_TRY(entry.finish());
    list.profiles.push_back(std::move(profile));
  }
  KILN_ASSIGN(ObjectReader tolerance, reader.object("tolerance"));
  KILN_ASSIGN(list.relativeTolerance, tolerance.decimal("rtol"));
  KILN_ASSIGN(list.absoluteTolerance, tolerance.decimal("atol"));
  KILN_TRY(tolerance.finish());
  KILN_TRY(reader.finish());
  for (FixtureProfile& profile : list.profiles)
    profile.absoluteTolerances.resize(profile.outputs.size(), list.absoluteTolerance);
  return list;
}

}  // namespace kiln
