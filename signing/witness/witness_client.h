// The log's side: has its checkpoints cosigned before it releases them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "signing/log/tiles.h"
#include "signing/log/verifier_key.h"

namespace kiln::signing {

struct WitnessEndpoint {
  VerifierKey key;  // kind kCosignature
  std::string url;  // submission prefix; "/add-checkpoint" is added
};

// Told what came of asking a witness: no error for a cosignature, else collectCosignatures()' codes.
using WitnessAnswered = std::function<void(const WitnessEndpoint&, const Status&)>;

// Adds the cosignatures of those that answer to `checkpoint`, which has `tree`'s size and root; `from` is the
// size that they are likely to have seen. kUnavailable if fewer than `quorum` answered. kDataLoss if one has
// seen a larger log or another one of this size: ours is not the log's latest history, and nothing may be
// appended.
Status collectCosignatures(const std::vector<WitnessEndpoint>& witnesses, std::size_t quorum,
                           Note& checkpoint, std::uint64_t from, TileTree& tree,
                           const WitnessAnswered& told = {});

}  // namespace kiln::signing
