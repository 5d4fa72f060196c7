// References of a shared blob store, in PostgreSQL: schema/0023_blob_references.sql, 0027_blob_sweeps.sql.
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
  Result<std::vector<std::uint32_t>> begin(std::span<const Digest> digests, TimePoint now) override;
  Result<std::vector<bool>> add(const std::string& instance, std::span<const storage::PlacedBlob> blobs,
                                TimePoint now) override;
  Result<std::vector<std::optional<std::uint32_t>>> find(const std::string& instance,
                                                         std::span<const Digest> digests, TimePoint now,
                                                         bool promised) override;
  Result<Standing> standing(const Digest& digest) override;
  Result<bool> condemn(const Digest& digest, const Standing& standing, TimePoint now) override;
  Result<std::vector<HeldBlob>> list(const std::optional<Digest>& after, std::size_t most) override;
  Result<Released> release(std::span<const Unneeded> blobs, TimePoint oldest, TimePoint now) override;
  Result<std::vector<storage::PlacedBlob>> due(TimePoint now, std::size_t most) override;
  Status removed(std::span<const storage::PlacedBlob> objects, TimePoint again) override;
  Result<std::optional<Digest>> scrubbedTo() override;
  Status scrubTo(const std::optional<Digest>& digest) override;

 private:
  postgres::Pool& pool_;
};

}  // namespace kiln::index
