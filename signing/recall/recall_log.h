// The proof beside recalls.json that a log holds each recall: one checkpoint and, for each entry of the
// document, its place below it. Not signed by the issuers: it proves itself. Form: manifest/FORMAT.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "signing/dsse/dsse.h"
#include "signing/log/checkpoint.h"

namespace kiln::signing {

struct RecallLog {
  // The leaf of one recall, but for its payload: which recall key's signature the log holds.
  struct Entry {
    std::uint64_t index = 0;
    std::string keyId;
    std::string signature;  // DER
    std::vector<TreeHash> proof;
  };

  std::string checkpoint;      // a signed note
  std::vector<Entry> entries;  // of the document's entries, in their order

  Json toJson() const;
  // kInvalidArgument naming the member. Nothing in it may be believed before it was checked.
  static Result<RecallLog> fromJson(const Json& json);
};

// The leaf of a recall in the log: by the first of its signatures that one of `keys` made. kDataLoss if none
// of them did.
struct RecallLeaf {
  std::string keyId;
  std::string signature;
  std::string text;  // what the log holds
};
Result<RecallLeaf> leafOfRecall(const Envelope& recall, const std::vector<PublicKey>& keys);

// kDataLoss unless the tree holds a leaf of this recall, signed by one of `keys`, where `entry` says.
Status checkRecallLogged(const Envelope& recall, const RecallLog::Entry& entry, const Checkpoint& tree,
                         const std::vector<PublicKey>& keys);

}  // namespace kiln::signing
