#include <fmt/format.h>

#include <map>

#include "compiler_core/driver/command.h"
#include "compiler_core/package/files.h"
#include "compiler_core/runtime/npy/npy.h"
#include "manifest/artifact/fixture_list.h"

namespace kiln::driver {
namespace {

constexpr std::uint64_t kSeed = 1;  // of version 1 of the fixtures

using Tensors = std::vector<reference::HostTensor>;
using Digests = std::map<std::string, Digest>;  // of the files written, by path

Result<Json> writeTensors(const Tensors& tensors, const std::string& out, const std::string& profile,
                          const char* kind, Digests& digests) {
  Json paths = Json::array();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string path = fmt::format("{}/{}_{}.npy", profile, kind, i);
    const auto bytes = npy::serialise({tensors[i].dtype, tensors[i].shape, tensors[i].bytes});
    KILN_ASSIGN(digests[path], package::writeFile(out + "/" + path, bytes));
    paths.push_back(path);
  }
  return paths;
}

Status writeFixtures(const ReferenceResult& result, const std::string& out, const std::string& profile) {
  KILN_TRY(package::makeDirectory(out + "/" + profile));
  Digests digests;
  KILN_ASSIGN(const Json inputs, writeTensors(result.inputValues, out, profile, "input", digests));
  KILN_ASSIGN(const Json outputs, writeTensors(result.outputValues, out, profile, "output", digests));
  Json files = Json::array();
  for (const auto& [path, digest] : digests)
    files.push_back({{"path", path}, {"digest", digest.text()}, {"size", std::to_string(digest.size)}});
  const Json document = {{"version", "1"},
                         {"files", std::move(files)},
                         {"profiles", {{{"name", profile}, {"inputs", inputs}, {"outputs", outputs}}}},
                         {"tolerance", {{"rtol", "1e-3"}, {"atol", "1e-5"}}}};
  KILN_ASSIGN(const std::string text, toCanonicalJson(document));
  KILN_TRY(parseFixtureList(text));  // nothing is written that a reader would refuse
  KILN_TRY(package::writeFile(out + "/" + kFixtureList, asBytes(text)));
  return {};
}

}  // namespace

CommandResult referenceCommand(const ReferenceArguments& arguments) {
  auto spec = readSpec(arguments.spec);
  if (!spec) return tl::make_unexpected(spec.error());
  auto dims = dimsOf(*spec);
  if (!dims) return stop(dims.error());
  fmt::print(stderr, "stage: reference\n");
  auto result = evaluateReference(arguments.model, *dims, spec->pins, spec->sequences, kSeed);
  if (!result) return stop(result.error());
  // A profile's name becomes a folder.
  const std::string& profile = spec->profiles.front().name;
  if (profile.empty() || profile.front() == '.' || profile.find('/') != std::string::npos)
    return stop(kExitUsage, {Code::kInvalidArgument,
                             fmt::format("profile \"{}\": not usable as the name of a folder", profile),
                             {}});
  if (auto written = writeFixtures(*result, arguments.out, profile); !written)
    return stop(kExitInternal, written.error());
  return {};
}

}  // namespace kiln::driver
