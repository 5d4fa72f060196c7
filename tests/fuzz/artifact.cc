// The artifact loader over a directory image. The input is a manifest, a zero byte, the bytes of one weights
// file preceded by their length (two bytes, little-endian), and the program. In the manifest the texts
// @PROGRAM@ and @WEIGHTS@ become the digests, @PROGRAM_SIZE@ and @WEIGHTS_SIZE@ the sizes of what follows,
// so that changes reach the checks behind them. Loading runs no code of the program.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "compiler_core/runtime/runtime.h"

namespace {

std::string makeDirectory() {
  std::string path = "/tmp/kiln-fuzz-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) std::abort();
  ::mkdir((path + "/weights").c_str(), 0700);
  return path;
}

void writeFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string directory = makeDirectory();
  const auto* split = static_cast<const std::uint8_t*>(size == 0 ? nullptr : std::memchr(data, 0, size));
  if (split == nullptr) return 0;
  const std::uint8_t *rest = split + 1, *end = data + size;
  if (end - rest < 2) return 0;
  const std::ptrdiff_t length = std::min<std::ptrdiff_t>(rest[0] | rest[1] << 8, end - rest - 2);
  const std::string weights(rest + 2, rest + 2 + length), program(rest + 2 + length, end);
  std::string manifest(data, split);
  const kiln::Digest programDigest = kiln::digestOf(program), weightsDigest = kiln::digestOf(weights);
  replace(manifest, "@PROGRAM@", programDigest.text());
  replace(manifest, "@PROGRAM_SIZE@", std::to_string(programDigest.size));
  replace(manifest, "@WEIGHTS@", weightsDigest.text());
  replace(manifest, "@WEIGHTS_SIZE@", std::to_string(weightsDigest.size));
  writeFile(directory + "/manifest.json", manifest);
  writeFile(directory + "/program.so", program);
  writeFile(directory + "/weights/0000.bin", weights);
  auto artifact = kiln::runtime::Artifact::open(directory);
  if (artifact) {
    (void)artifact->inputs();
    (void)artifact->outputs();
  }
  return 0;
}
