#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

#include "compiler_core/frontend/archive/little_endian.h"
#include "compiler_core/frontend/parameters/formats.h"
#include "compiler_core/frontend/parameters/parameter_file.h"
#include "compiler_core/frontend/parameters/shard_index.h"
#include "compiler_core/frontend/parameters/tensor_checks.h"
#include "manifest/base/mapped_file.h"

namespace kiln::parameters {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexName = "model.safetensors.index.json", kWholeName = "model.safetensors";

bool startsWith(Bytes file, std::string_view magic) {
  return file.size() >= magic.size() && std::ranges::equal(file.first(magic.size()), asBytes(magic));
}

// The length of a header of JSON: no such file begins like one of the others.
bool looksLikeSafetensors(Bytes file) {
  return file.size() > 8 && file[8] == '{' && archive::littleEndian(file, 4, 4) == 0;
}

Error unknown(Bytes file) {
  const std::string_view found = startsWith(file, "version https://git-lfs")
                                     ? "a Git LFS pointer: fetch the file itself with git lfs pull"
                                 : startsWith(file, "\x80") ? "a pickle: save its tensors with safetensors"
                                 : startsWith(file, "\x89HDF\r\n\x1a\n")
                                     ? "an HDF5 file: save its tensors with safetensors or numpy.savez"
                                     : "none of safetensors, npz, npy and GGUF";
  return {Code::kInvalidArgument, "not a file of parameters: " + std::string(found), ""};
}

Result<ParameterFile> readOne(const std::string& path, Bytes file, const Owner& owner) {
  ParameterFile out{path, Format::kSafetensors, {}, {path}};
  const auto filled = [&](Format format, Result<Tensors> tensors) -> Result<ParameterFile> {
    if (!tensors) return fail(tensors.error().in(path));
    out.format = format;
    out.tensors = std::move(*tensors);
    return std::move(out);
  };
  if (startsWith(file, "GGUF")) return filled(Format::kGguf, readGguf(file, owner));
  if (startsWith(file, "\x93NUMPY"))
    return filled(Format::kNpy, readNpy(file, owner, fs::path(path).stem().string()));
  if (startsWith(file, "PK\x03\x04") || startsWith(file, "PK\x05\x06"))
    return filled(Format::kNpz, readNpz(file, owner));
  if (looksLikeSafetensors(file)) return filled(Format::kSafetensors, readSafetensors(file, owner));
  return fail(unknown(file).in(path));
}

// The shards beside the index, whose tensors are those that the index names.
Result<ParameterFile> readShards(const std::string& path, Bytes file) {
  auto index = readShardIndex(file);
  if (!index) return fail(index.error().in(path));
  ParameterFile out{path, Format::kSafetensors, {}, {path}};
  std::map<std::string, std::size_t> left = index->tensors;
  for (std::size_t i = 0; i < index->shards.size(); ++i) {
    const std::string shard = (fs::path(path).parent_path() / index->shards[i]).string();
    KILN_ASSIGN(const auto map, MappedFile::open(shard));
    if (!looksLikeSafetensors(map->bytes())) return fail(unknown(map->bytes()).in(shard));
    KILN_ASSIGN(ParameterFile part, readOne(shard, map->bytes(), map));
    for (ir::Weight& tensor : part.tensors) {
      const auto named = left.find(tensor.name);
      if (named == left.end() || named->second != i) {
        return fail(Code::kInvalidArgument,
                    shard + ": " + tensorPlace(tensor.name) + " is not one that " + path + " places there");
      }
      left.erase(named);
      out.tensors.push_back(std::move(tensor));
    }
    out.files.push_back(shard);
  }
  if (!left.empty()) {
    return fail(Code::kInvalidArgument, path + ": " + tensorPlace(left.begin()->first) + " is not in " +
                                            index->shards[left.begin()->second]);
  }
  return out;
}

}  // namespace

Result<ParameterFile> readParameters(const std::string& path) {
  std::string found = path;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    const fs::path index = fs::path(path) / kIndexName, whole = fs::path(path) / kWholeName;
    if (!fs::exists(index, ignored) && !fs::exists(whole, ignored)) {
      return fail(Code::kNotFound, path + ": a folder of parameters has " + std::string(kIndexName) + " or " +
                                       std::string(kWholeName) + "; name a file of it instead");
    }
    found = (fs::exists(index, ignored) ? index : whole).string();
  }
  KILN_ASSIGN(const auto map, MappedFile::open(found));
  Result<ParameterFile> out = startsWith(map->bytes(), "{") && !looksLikeSafetensors(map->bytes())
                                  ? readShards(found, map->bytes())
                                  : readOne(found, map->bytes(), map);
  if (out) out->path = path;
  return out;
}

}  // namespace kiln::parameters
