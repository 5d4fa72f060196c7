// BlobReferences: who may see which blob of a store that several processes share, kept where a transaction
// is to be had.
//
// The bytes of a blob lie in an object whose key names its digest and its generation. An object that does not
// hold what it should, or that nobody needs, is condemned: from then on nobody refers to it, and the blob,
// once it is uploaded again, goes to the object of the next generation. So an upload that was on its way is
// told that it does not count, and whoever removes condemned objects races with nobody.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "manifest/base/clock.h"
#include "manifest/base/digest.h"
#include "manifest/base/result.h"

namespace kiln::storage {

struct PlacedBlob {
  Digest digest;
  std::uint32_t generation = 0;
};

// Thread safe, and safe beside other processes on the same records. All calls: kUnavailable while the records
// cannot be reached. `instance` is a valid name (instance_name.h).
class BlobReferences {
 public:
  virtual ~BlobReferences() = default;

  struct Identity {
    std::string id;       // 32 hex digits, drawn at the first call, the same for ever
    bool isUsed = false;  // some upload was begun once
  };
  virtual Result<Identity> identity() = 0;

  // Before the first byte of an upload goes out: the generation that each blob's bytes belong to, in the
  // order given. That there may be an object is kept in mind, so that a sweep finds those that nobody
  // referred to in the end without asking the bucket for all that it holds.
  virtual Result<std::vector<std::uint32_t>> begin(std::span<const Digest> digests, TimePoint now) = 0;

  // Once the bytes are durable: the instance has uploaded them. In the order given whether that counts: not
  // if the generation was condemned meanwhile, and then the bytes have to be uploaded again.
  virtual Result<std::vector<bool>> add(const std::string& instance, std::span<const PlacedBlob> blobs,
                                        TimePoint now) = 0;

  // The generation of each blob that the instance refers to. With `promised` their references are as young as
  // `now` afterwards (within a minute): a sweep lets them be for its grace period.
  virtual Result<std::vector<std::optional<std::uint32_t>>> find(const std::string& instance,
                                                                 std::span<const Digest> digests,
                                                                 TimePoint now, bool promised) = 0;

  // To be asked before an object is read to judge it.
  struct Standing {
    std::uint32_t generation = 0;
    std::int64_t uploads = 0;  // grows with each add() of any instance
  };
  virtual Result<Standing> standing(const Digest& digest) = 0;
  // The object of that generation does not hold the blob's bytes. False, and nothing is changed, if there was
  // an add() since standing(), whose bytes may be good ones, or if it was condemned already. The object is
  // kept until due() names it, kKeepCorrupt from `now` on.
  virtual Result<bool> condemn(const Digest& digest, const Standing& standing, TimePoint now) = 0;
  static constexpr Duration kKeepCorrupt = std::chrono::hours(7 * 24);

  // What a sweep looks at: a blob that an instance refers to, or of which an upload was begun.
  struct Holder {
    std::string instance;
    TimePoint promised;
    bool counts = true;  // not so: of an object that was condemned; its bytes have to be uploaded again
  };
  struct HeldBlob {
    PlacedBlob blob;
    TimePoint begun;  // when an upload was begun last
    std::vector<Holder> holders;
  };
  // Those behind `after` by digest, from the first on without it; at most `most`. None: there are no more.
  virtual Result<std::vector<HeldBlob>> list(const std::optional<Digest>& after, std::size_t most) = 0;

  struct Unneeded {
    Digest digest;
    std::vector<std::string> instances;
  };
  struct Released {
    std::uint64_t references = 0;
    std::vector<Digest> blobs;
  };
  // Takes away these references, but for those that were promised since `oldest`, and condemns the object of
  // each of the blobs that nobody refers to then and that no upload was begun of since `oldest`. What went.
  virtual Result<Released> release(std::span<const Unneeded> blobs, TimePoint oldest, TimePoint now) = 0;

  // Objects that were condemned and may be removed by now, at most `most`.
  virtual Result<std::vector<PlacedBlob>> due(TimePoint now, std::size_t most) = 0;
  // They were removed. Each is due() once more at `again`, since an upload that did not know may have put it
  // back meanwhile; after that it is forgotten.
  virtual Status removed(std::span<const PlacedBlob> objects, TimePoint again) = 0;

  // How far the blobs have been looked at in turn; nothing: from the first on.
  virtual Result<std::optional<Digest>> scrubbedTo() = 0;
  virtual Status scrubTo(const std::optional<Digest>& digest) = 0;
};

}  // namespace kiln::storage
