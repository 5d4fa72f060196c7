// Between columns and record members; internal to the repositories.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/index/rows/records.h"
#include "storage/postgres/param.h"
#include "storage/postgres/rows.h"

namespace kiln::index {

inline postgres::Param hashParam(const Digest& digest) {
  return Bytes(digest.hash);
}
inline postgres::Param hashParam(const std::optional<Digest>& digest) {
  return digest ? hashParam(*digest) : postgres::Param(std::nullopt);
}
inline postgres::Param sizeParam(const std::optional<Digest>& digest) {
  return digest ? postgres::Param(digest->size) : postgres::Param(std::nullopt);
}
postgres::Param hashesParam(const std::vector<Digest>& digests);

// A hash column of another length than 32 bytes, which the schema refuses, would read as zeros, and so does a
// size below zero: no farm writes either, and whoever holds the row against what is signed finds it, while
// the list goes on.
Digest digestAt(const postgres::Row& row, std::string_view hash, std::string_view size);
std::optional<Digest> optionalDigestAt(const postgres::Row& row, std::string_view hash,
                                       std::string_view size);
// For columns that hold only the hash: the size is 0.
Digest hashAt(const postgres::Row& row, std::string_view hash);

// git_url, git_commit, git_path and the like; nothing if the URL is empty.
std::optional<GitSource> gitAt(const postgres::Row& row, const std::string& prefix);
std::vector<ActionKind> kindsAt(const postgres::Row& row, std::string_view column);

std::string bytesAt(const postgres::Row& row, std::string_view column);

}  // namespace kiln::index
