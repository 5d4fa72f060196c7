#include "signing/witness/add_checkpoint.h"

#include <algorithm>

#include "manifest/json/reader.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxBytes = 128 << 10;
constexpr std::size_t kMaxProof = 63;

tl::unexpected<Error> malformed(const char* what) {
  return fail(Code::kInvalidArgument, std::string("add-checkpoint: ") + what);
}

}  // namespace

std::string AddCheckpoint::text() const {
  std::string out = "old " + std::to_string(oldSize) + "\n";
  for (const TreeHash& hash : proof) out += toBase64(hash) + "\n";
  return out + "\n" + checkpoint;
}

Result<AddCheckpoint> AddCheckpoint::parse(std::string_view text) {
  if (text.size() > kMaxBytes) return malformed("longer than 128 KiB");
  const auto end = text.find("\n\n");
  if (end == text.npos) return malformed("no empty line before the checkpoint");
  AddCheckpoint out;
  out.checkpoint = text.substr(end + 2);
  std::string_view head = text.substr(0, end);
  if (!head.starts_with("old ")) return malformed("must begin with the old size");
  auto line = head.find('\n');
  auto size = parseDecimal(head.substr(4, line == head.npos ? head.npos : line - 4));
  if (!size) return malformed("the old size is not a decimal number");
  out.oldSize = *size;
  while (line != head.npos) {
    head.remove_prefix(line + 1);
    line = head.find('\n');
    auto bytes = fromBase64(head.substr(0, line));
    TreeHash hash;
    if (!bytes || bytes->size() != hash.size())
      return malformed("a line of the proof is not a hash in base64");
    if (out.proof.size() == kMaxProof) return malformed("more than 63 hashes");
    std::copy(bytes->begin(), bytes->end(), hash.begin());
    out.proof.push_back(hash);
  }
  return out;
}

}  // namespace kiln::signing
