// libFuzzer: paths and content of tiles from outside. The first line is a path, the rest the tile.
#include "signing/log/leaf.h"
#include "signing/log/tiles.h"

namespace {

class OneTile final : public kiln::signing::TileReader {
 public:
  explicit OneTile(std::string_view bytes) : bytes_(bytes) {}
  kiln::Result<std::string> read(const kiln::signing::TilePath&) override { return std::string(bytes_); }

 private:
  std::string_view bytes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kiln::signing;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto line = text.find('\n');
  auto path = TilePath::parse(text.substr(0, line));
  if (path && path->text() != text.substr(0, line)) __builtin_trap();
  if (line == text.npos) return 0;
  OneTile reader(text.substr(line + 1));
  const std::uint64_t leaves = path ? path->width : 1;
  if (auto entries = readEntries(reader, leaves, 0, leaves))
    for (const std::string& entry : *entries) (void)Leaf::parse(entry);
  TileTree tree(reader, leaves);
  (void)treeRoot(tree, leaves);
  (void)grow(reader, leaves, {});
  return 0;
}
