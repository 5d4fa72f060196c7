// What a model signature says: the files of a model and their digests. The payload is an in-toto statement
// of predicate type https://model_signing/signature/v1.0. Source: OpenSSF Model Signing 1.0, sections 5
// and 6.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::signing {

inline constexpr char kModelSignatureType[] = "https://model_signing/signature/v1.0";
inline constexpr std::size_t kMaxModelFiles = 65536;  // and shards

// How releases of the Python package up to 1.1 call a model that is one file; the specification has its name.
inline constexpr char kWholeModel[] = ".";

struct ModelResource {
  std::string name;  // relative to the model, with '/'; of a model that is one file: its name, or kWholeModel
  Digest digest;     // the size is 0: a signature by whole files does not say it
  // Of a file that was signed in shards, theirs in their order; `digest` has the file's size then, and its
  // hash where there is one shard, which is the file. Of several, nothing says the hash, and it is 0.
  std::vector<Digest> shards = {};
  bool operator==(const ModelResource&) const = default;
};

struct ModelManifest {
  std::string name;                      // of the folder or file; for people
  std::vector<ModelResource> resources;  // at least one; sorted by name, each once
  bool allowSymlinks = false;            // whether links were followed when the files were listed
  std::vector<std::string> ignorePaths;  // left out when they were listed, with all below them
  std::uint64_t shardBytes = 0;          // of each shard but a file's last; 0: signed by whole files

  // The statement in canonical JSON. kInvalidArgument for names that are not UTF-8.
  Result<std::string> statement() const;
  // A statement from outside; of what the specification says nothing of, nothing is read. kInvalidArgument
  // names the member; kUnimplemented for hashes other than SHA-256, and methods other than "files" and
  // "shards" (model_shards.h).
  static Result<ModelManifest> fromStatement(std::string_view payload);
};

// Whether a signature may call a file so: relative, without empty, "." and ".." parts, UTF-8.
bool isResourceName(std::string_view name);

}  // namespace kiln::signing
