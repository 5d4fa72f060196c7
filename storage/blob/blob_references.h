// BlobReferences: who may see which blob of a store that several processes share, kept where a transaction
// is to be had.
//
// The bytes of a blob lie in an object whose key names its digest and its generation. An object that does not
// hold what it should is condemned: from then on nobody refers to it, and the blob, once it is uploaded
// again, goes to the object of the next generation. So no key is ever written after it was condemned, and
// whoever removes condemned objects races with nobody.
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
    bool isUsed = false;  // some blob was added once
  };
  virtual Result<Identity> identity() = 0;

  // The generation that each blob's bytes belong to, in the order given; 0 for one that nobody has.
  virtual Result<std::vector<std::uint32_t>> generations(std::span<const Digest> digests) = 0;

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
  // an add() since standing(), whose bytes may be good ones, or if it was condemned already.
  virtual Result<bool> condemn(const Digest& digest, const Standing& standing) = 0;
};

}  // namespace kiln::storage
