// Stands in for kiln-cc in a toolchain tree: the same command line and outputs of the right form. One build
// of it pauses, so that a test can kill the worker meanwhile; the other is not deterministic: it writes down
// when it ran.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "manifest/artifact/manifest.h"
#include "manifest/spec/target_device.h"
#include "tests/support/sample_fixtures.h"
#include "tests/support/sample_spec.h"

namespace {

constexpr bool kDrifts = KILN_DRIFTS;

std::string readFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void writeFile(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

int compile(const std::string& specPath, const std::string& out) {
  std::fputs("stage: codegen\n", stderr);
  if (!kDrifts) std::this_thread::sleep_for(std::chrono::seconds(2));
  auto json = kiln::parseStrictJson(readFile(specPath));
  if (!json) return 1;
  auto spec = kiln::CompileSpec::fromJson(*json);
  if (!spec) return 1;
  const bool onDevice = kiln::wantsDevice(spec->target);
  kiln::Json evidence =
      onDevice ? kiln::testing_support::deviceEvidence() : kiln::testing_support::sampleEvidence();
  if (kDrifts)
    evidence["stages"]["codegen"]["finished"] =
        std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
  auto manifest = kiln::makeManifest(*spec, evidence);
  if (!manifest) return 1;
  writeFile(out + "/program.so", kiln::testing_support::kSampleProgram);
  writeFile(out + "/weights/0000.bin", kiln::testing_support::kSampleWeights);
  if (onDevice) {
    writeFile(out + "/weights/0001.bin", kiln::testing_support::kSampleWeights);
    writeFile(out + "/kernels/sm_90a.cubin", kiln::testing_support::kSampleKernels);
  }
  writeFile(out + "/evidence.json", kiln::toCanonicalJson(evidence).value());
  writeFile(out + "/manifest.json", kiln::toCanonicalJson(manifest->toJson()).value());
  return 0;
}

}  // namespace

// kiln-cc compile|reference --model M --spec S --out DIR [--emulation DIR]
int main(int argc, char** argv) {
  if (argc != 8 && argc != 10) return 2;
  std::string verb = argv[1], out = argv[7];
  if (argc == 10)
    writeFile(
        std::string(argv[9]) + "/" + kiln::digestOf(kiln::testing_support::kSampleProgram).hex() + ".so",
        "code");
  if (verb == "compile") return compile(argv[5], out);
  const kiln::testing_support::FixtureContents fixtures = kiln::testing_support::sampleFixtures();
  for (const auto& [path, content] : fixtures) writeFile(out + "/" + path, content);
  writeFile(out + "/fixtures.json", kiln::testing_support::fixtureListOf(fixtures));
  return 0;
}
