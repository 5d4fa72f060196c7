// Before anything is appended: database and tiles must tell one history. Either may have come back from a
// backup; the one that lacks what the other has is completed, and if they contradict each other nothing goes
// on.
#pragma once

#include "signing/log/checkpoint.h"
#include "signing/sequencer/tile_directory.h"
#include "storage/index/log_repository.h"

namespace kiln::signing {

// `state` is what openLog() gave. The state that both agree on, published:
//  - tiles that go further than the database: their leaves are adopted, signatures included;
//  - a database that goes further than the tiles: they are written again from its leaves;
//  - neither holds the other, or tiles do not lead to their checkpoint: kDataLoss with the next step.
Result<index::LogState> reconcile(postgres::Connection& connection, WritableTiles& tiles,
                                  const VerifierKey& log, index::LogState state, TimePoint now);

}  // namespace kiln::signing
