// One layer of an artifact's container image: a tar archive (tar_writer.h) that is never made as a whole. Its
// size is known before a byte of it is there, and any part of it is put together from the files that lie in
// that part.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "manifest/artifact/oci.h"
#include "storage/blob/blob_store.h"

namespace kiln::storage {

struct LayerFile {
  std::string path;  // below kImageFolder
  Digest digest;     // of its bytes; the layer itself goes by the size alone
};

// Immutable. What it holds of a file is its path, so that a layer of a thousand files takes kilobytes.
class ImageLayer {
 public:
  // Of safe paths, each once, in whatever order. They lie in the archive in the order of their bytes, each
  // folder before what is in it.
  explicit ImageLayer(std::vector<LayerFile> files);

  // The artifact's own files, which never change.
  static ImageLayer ofArtifact(const OciManifest& artifact);
  // Bundles as `kiln fetch` leaves them.
  static ImageLayer ofBundles(const std::vector<Digest>& bundles);

  const std::vector<LayerFile>& files() const { return files_; }
  std::uint64_t size() const { return end_; }

  // Hands out bytes [offset, offset + length) of a file; `length` is never 0.
  using Reader = std::function<Status(const LayerFile& file, std::uint64_t offset, std::uint64_t length,
                                      const ByteSink& sink)>;
  // Bytes [offset, offset + length) of the archive, which lie in it. Errors are the reader's and the sink's;
  // kDataLoss if the reader hands out more or less than it was asked for.
  Status read(std::uint64_t offset, std::uint64_t length, const Reader& reader, const ByteSink& sink) const;
  // Of the whole archive. Reads all of it.
  Result<Digest> digest(const Reader& reader) const;

 private:
  struct Entry {
    std::uint64_t at = 0, header = 0;  // where it begins; the bytes before the contents
    std::string folder;                // "" for a file
    std::size_t file = 0;              // in files_
  };
  void add(Entry entry);
  std::string headerOf(const Entry& entry) const;

  std::vector<LayerFile> files_;  // by path
  std::vector<Entry> entries_;
  std::uint64_t end_ = 0;
};

// From a store that hashes what it hands out.
ImageLayer::Reader readerOf(BlobStore& store, const std::string& instance);

}  // namespace kiln::storage
