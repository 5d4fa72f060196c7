// Before anything is appended: database and tiles must tell one history. Either may have come back from a
// backup; the one that lacks what the other has is completed, and if they contradict each other nothing goes
// on.
#pragma once

#include <span>

#include "signing/follow/tile_writer.h"
#include "signing/log/checkpoint.h"
#include "storage/index/log/log_repository.h"

namespace kiln::signing {

// `state` is what openLog() gave; `keys` are the log's, at least one: what one of them signed is the log's.
// Afterwards both hold what either held:
//  - tiles that go further than the database: their entries get their places again, signatures included, and
//    the next append covers them with the checkpoint that the tiles had;
//  - a database that goes further than the tiles: they are written again from its leaves;
//  - neither holds the other, or tiles do not lead to their checkpoint: kDataLoss with the next step.
Status reconcile(postgres::Connection& connection, TileWriter& tiles, std::span<const VerifierKey> keys,
                 const index::LogState& state, TimePoint now);

}  // namespace kiln::signing
