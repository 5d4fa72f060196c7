#include "storage/oci/image_layer.h"

#include <gtest/gtest.h>

#include <map>

#include "storage/oci/tar_writer.h"

namespace kiln::storage {
namespace {

using Contents = std::map<std::string, std::string>;  // by path

ImageLayer layerOf(const Contents& contents) {
  std::vector<LayerFile> files;
  for (const auto& [path, text] : contents) files.insert(files.begin(), {path, digestOf(text)});
  return ImageLayer(std::move(files));
}

ImageLayer::Reader readerOf(const Contents& contents) {
  return [&](const LayerFile& file, std::uint64_t offset, std::uint64_t length, const ByteSink& sink) {
    return sink(asBytes(std::string_view(contents.at(file.path)).substr(offset, length)));
  };
}

std::string partOf(const ImageLayer& layer, const Contents& contents, std::uint64_t offset,
                   std::uint64_t length) {
  std::string out;
  const Status read = layer.read(offset, length, readerOf(contents), [&](Bytes bytes) {
    EXPECT_FALSE(bytes.empty());
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return Status();
  });
  EXPECT_TRUE(read) << read.error().message;
  return out;
}

// As a writer of whole archives makes it.
std::string archiveOf(const std::vector<std::string>& names, const Contents& contents) {
  std::string out;
  TarWriter tar([&](Bytes bytes) {
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return Status();
  });
  for (const std::string& name : names) {
    const auto file = contents.find(name.substr(std::min(name.size(), std::string("models/").size())));
    const Status added = file == contents.end()
                             ? tar.folder(name)
                             : tar.file(name, file->second.size(), [&](const ByteSink& sink) {
                                 return file->second.empty() ? Status() : sink(asBytes(file->second));
                               });
    EXPECT_TRUE(added);
  }
  EXPECT_TRUE(tar.finish());
  return out;
}

const Contents kContents{{"artifact.json", std::string(700, 'a')},
                         {"kernels/" + std::string(120, 'k'), "cubin"},
                         {"manifest.json", ""},
                         {"weights/0000.bin", std::string(512, 'w')},
                         {"weights/0001.bin", std::string(1025, 'x')}};

TEST(ImageLayer, IsTheArchiveThatAWriterMakesOfTheFilesInOrder) {
  const ImageLayer layer = layerOf(kContents);
  const std::string whole = archiveOf(
      {"models", "models/artifact.json", "models/kernels", "models/kernels/" + std::string(120, 'k'),
       "models/manifest.json", "models/weights", "models/weights/0000.bin", "models/weights/0001.bin"},
      kContents);
  EXPECT_EQ(layer.size(), whole.size());
  EXPECT_EQ(partOf(layer, kContents, 0, layer.size()), whole);
  EXPECT_EQ(layer.digest(readerOf(kContents)).value(), digestOf(whole));
  EXPECT_EQ(layer.files().front().path, "artifact.json") << "whatever order they came in";
}

TEST(ImageLayer, GivesAnyPartOfItself) {
  const ImageLayer layer = layerOf(kContents);
  const std::string whole = partOf(layer, kContents, 0, layer.size());
  for (std::uint64_t offset = 0; offset < whole.size(); offset += 61)
    for (const std::uint64_t length : {1u, 511u, 512u, 513u, 3000u}) {
      if (offset + length > whole.size()) continue;
      ASSERT_EQ(partOf(layer, kContents, offset, length), whole.substr(offset, length))
          << offset << " " << length;
    }
  EXPECT_EQ(partOf(layer, kContents, whole.size() - 1, 1), std::string(1, '\0'));
}

TEST(ImageLayer, ReadsOfFilesWhatLiesInThePartAlone) {
  const ImageLayer layer = layerOf(kContents);
  const std::string whole = partOf(layer, kContents, 0, layer.size());
  const auto at = whole.find(std::string(512, 'w'));
  std::string asked;
  const ImageLayer::Reader reader = [&](const LayerFile& file, std::uint64_t offset, std::uint64_t length,
                                        const ByteSink& sink) {
    asked += file.path + " " + std::to_string(offset) + " " + std::to_string(length) + "\n";
    return readerOf(kContents)(file, offset, length, sink);
  };
  ASSERT_TRUE(layer.read(at + 500, 20, reader, [](Bytes) { return Status(); }));
  EXPECT_EQ(asked, "weights/0000.bin 500 12\n");
}

TEST(ImageLayer, RefusesFilesOfAnotherLengthThanTheyWereSaidToHave) {
  const ImageLayer layer = layerOf({{"a", "hello"}});
  for (const char* text : {"hell", "hello!"}) {
    const ImageLayer::Reader reader = [&](const LayerFile&, std::uint64_t, std::uint64_t,
                                          const ByteSink& sink) { return sink(asBytes(text)); };
    const auto digest = layer.digest(reader);
    ASSERT_FALSE(digest) << text;
    EXPECT_EQ(digest.error().code, Code::kDataLoss);
  }
}

TEST(ImageLayer, OfBundlesHasThemUnderTheNamesThatFetchLeaves) {
  const ImageLayer layer = ImageLayer::ofBundles({digestOf("two"), digestOf("one")});
  ASSERT_EQ(layer.files().size(), 2u);
  EXPECT_EQ(layer.files()[0].path,
            "bundles/" + std::min(digestOf("one").hex(), digestOf("two").hex()) + ".sigstore.json");
  EXPECT_EQ(layer.size(), ImageLayer::ofBundles({digestOf("one"), digestOf("two")}).size());
}

}  // namespace
}  // namespace kiln::storage
