#include "storage/oci/image_layer.h"

#include <algorithm>
#include <array>
#include <set>

#include "manifest/artifact/oci_image.h"
#include "storage/oci/tar_writer.h"

namespace kiln::storage {
namespace {

constexpr std::uint64_t kBlockBytes = 512;
constexpr std::uint64_t kEndBytes = 2 * kBlockBytes;  // an archive ends with two blocks of zeros

std::uint64_t padded(std::uint64_t size) {
  return (size + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

std::string nameOf(const LayerFile& file) {
  return std::string(kImageFolder) + "/" + file.path;
}

// The part of an archive that is asked for. Pieces are offered in order.
class Window {
 public:
  Window(std::uint64_t offset, std::uint64_t length, const ByteSink& sink)
      : begin_(offset), end_(offset + length), sink_(sink) {}

  bool isBehind(std::uint64_t at) const { return at >= end_; }
  bool holds(std::uint64_t at, std::uint64_t size) const {
    return size > 0 && at < end_ && at + size > begin_;
  }

  Status text(std::uint64_t at, std::string_view bytes) const {
    if (!holds(at, bytes.size())) return {};
    const std::uint64_t first = std::max(at, begin_), last = std::min(at + bytes.size(), end_);
    return sink_(asBytes(bytes.substr(first - at, last - first)));
  }
  Status zeros(std::uint64_t at, std::uint64_t size) const {
    static constexpr std::array<char, kEndBytes> kZeros{};
    return text(at, {kZeros.data(), size});
  }
  Status contents(std::uint64_t at, const LayerFile& file, const ImageLayer::Reader& reader) const {
    if (!holds(at, file.digest.size)) return {};
    const std::uint64_t first = std::max(at, begin_), last = std::min(at + file.digest.size, end_);
    std::uint64_t left = last - first;
    KILN_TRY(reader(file, first - at, left, [&](Bytes bytes) -> Status {
      if (bytes.size() > left) return fail(Code::kDataLoss, file.path + ": is longer than it was said to be");
      left -= bytes.size();
      return sink_(bytes);
    }));
    return left == 0 ? Status() : fail(Code::kDataLoss, file.path + ": is shorter than it was said to be");
  }

 private:
  const std::uint64_t begin_, end_;
  const ByteSink& sink_;
};

}  // namespace

ImageLayer::ImageLayer(std::vector<LayerFile> files) : files_(std::move(files)) {
  std::ranges::sort(files_, {}, &LayerFile::path);
  std::set<std::string> folders;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const std::string name = nameOf(files_[i]);
    for (auto slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1))
      if (folders.insert(name.substr(0, slash)).second) add({.folder = name.substr(0, slash)});
    add({.file = i});
    end_ += padded(files_[i].digest.size);
  }
  end_ += kEndBytes;
}

void ImageLayer::add(Entry entry) {
  entry.at = end_;
  entry.header = headerOf(entry).size();
  end_ += entry.header;
  entries_.push_back(std::move(entry));
}

std::string ImageLayer::headerOf(const Entry& entry) const {
  std::string out;
  TarWriter tar([&](Bytes bytes) {
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return Status();
  });
  const LayerFile* file = entry.folder.empty() ? &files_[entry.file] : nullptr;
  // A sink that takes everything is all that could fail.
  (void)(file ? tar.fileHeader(nameOf(*file), file->digest.size) : tar.folder(entry.folder));
  return out;
}

ImageLayer ImageLayer::ofArtifact(const OciManifest& artifact) {
  std::vector<LayerFile> files{{"artifact.json", artifact.digest}, {"manifest.json", artifact.config}};
  for (const ArtifactFile& layer : artifact.layers) files.push_back({layer.path, layer.digest});
  return ImageLayer(std::move(files));
}

ImageLayer ImageLayer::ofBundles(const std::vector<Digest>& bundles) {
  std::vector<LayerFile> files;
  for (const Digest& bundle : bundles)
    files.push_back({"bundles/" + bundle.hex() + ".sigstore.json", bundle});
  return ImageLayer(std::move(files));
}

Status ImageLayer::read(std::uint64_t offset, std::uint64_t length, const Reader& reader,
                        const ByteSink& sink) const {
  const Window window(offset, length, sink);
  // The last entry that does not begin behind the offset.
  auto entry = std::ranges::upper_bound(entries_, offset, {}, &Entry::at);
  if (entry != entries_.begin()) --entry;
  for (; entry != entries_.end() && !window.isBehind(entry->at); ++entry) {
    if (window.holds(entry->at, entry->header)) KILN_TRY(window.text(entry->at, headerOf(*entry)));
    if (!entry->folder.empty()) continue;
    const LayerFile& file = files_[entry->file];
    const std::uint64_t at = entry->at + entry->header, size = file.digest.size;
    KILN_TRY(window.contents(at, file, reader));
    KILN_TRY(window.zeros(at + size, padded(size) - size));
  }
  return window.zeros(end_ - kEndBytes, kEndBytes);
}

Result<Digest> ImageLayer::digest(const Reader& reader) const {
  Hasher hasher;
  KILN_TRY(read(0, end_, reader, [&](Bytes bytes) {
    hasher.update(bytes);
    return Status();
  }));
  return hasher.finish();
}

ImageLayer::Reader readerOf(BlobStore& store, const std::string& instance) {
  return [&store, instance](const LayerFile& file, std::uint64_t offset, std::uint64_t length,
                            const ByteSink& sink) {
    return store.read(instance, file.digest, offset, length, sink);
  };
}

}  // namespace kiln::storage
