// libFuzzer: proofs from outside. Bytes: two numbers, two roots, a list of hashes; and a log entry in JSON.
#include <cstring>

#include "signing/bundle/log_entry.h"
#include "signing/log/merkle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kiln::signing;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto json = kiln::parseStrictJson(text)) (void)readLogEntry(*json, "entry");
  std::uint64_t numbers[2];
  TreeHash first, second;
  if (size < sizeof numbers + 64) return 0;
  std::memcpy(numbers, data, sizeof numbers);
  std::memcpy(first.data(), data + 16, 32);
  std::memcpy(second.data(), data + 48, 32);
  std::vector<TreeHash> proof;
  for (std::size_t at = 80; at + 32 <= size && proof.size() < 100; at += 32)
    std::memcpy(proof.emplace_back().data(), data + at, 32);
  (void)verifyInclusion(numbers[0], numbers[1], first, proof, second);
  (void)verifyConsistency(numbers[0], numbers[1], first, second, proof);
  return 0;
}
