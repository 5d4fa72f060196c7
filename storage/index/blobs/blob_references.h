// References of a shared blob store, in PostgreSQL: schema/0023_blob_references.sql.
#pragma once

#include "storage/blob/blob_references.h"
#include "storage/postgres/pool.h"

namespace kiln::index {

// Thread safe. Each call is one transaction for each 1,000 digests; a call that failed may have stored some
// of them, and may be repeated. `pool` must outlive it.
class PostgresBlobReferences final : public storage::BlobReferences {
 public:
  explicit PostgresBlobReferences(postgres::Pool& pool) : pool_(pool) {}

  Result<Identity> identity() override;
  Result<std::vector<std::uint32_t>> generations(std::span<const Digest> digests) override;
  Result<std::vector<bool>> add(const std::string& instance, std::span<const storage::PlacedBlob> blobs,
                                TimePoint now) override;
  Result<std::vector<std::optional<std::uint32_t>>> find(const std::string& instance,
                                                         std::span<const Digest> digests, TimePoint now,
                                                         bool promised) override;
  Result<Standing> standing(const Digest& digest) override;
  Result<bool> condemn(const Digest& digest, const Standing& standing) override;

 private:
  postgres::Pool& pool_;
};

}  // namespace kiln::index
