// The one writer of a log: gives signatures their places, writes tiles, signs checkpoints.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "signing/follow/tile_writer.h"
#include "signing/log/checkpoint.h"
#include "storage/index/log/log_repository.h"

namespace kiln::signing {

// The points between two durable states, in the order in which an append passes them. Fault tests stop the
// program there.
inline constexpr std::string_view kPointPlaced = "log-placed";        // leaves have their indexes
inline constexpr std::string_view kPointTilesWritten = "log-tiles";   // the tiles are durable
inline constexpr std::string_view kPointStaged = "log-staged";        // the checkpoint is signed and durable
inline constexpr std::string_view kPointCommitted = "log-committed";  // the database has it, with the proofs
inline constexpr std::string_view kPointVisible = "log-visible";      // the checkpoint is published

// What a checkpoint that was published brought.
struct Appended {
  std::uint64_t size = 0;           // of the log now
  std::vector<TimePoint> signedAt;  // of each entry that is new
  std::vector<std::string> traces;  // likewise: a W3C traceparent that its span is part of, or ""
};

struct SequencerSettings {
  postgres::ConnectionOptions database;
  std::string origin;
  std::vector<VerifierKey> earlierKeys = {};  // the log's before this one: their checkpoints stay the log's
  std::uint64_t batch = 4096;                 // leaves per checkpoint at most
  // Adds cosignatures to a checkpoint that grows the log from `from`, before anything depends on it. An error
  // holds the checkpoint up.
  std::function<Status(Note& checkpoint, std::uint64_t from, TileTree& tree)> witness =
      [](Note&, std::uint64_t, TileTree&) -> Status { return {}; };
  std::function<void(std::string_view)> reached = [](std::string_view) {};
  // Told of each checkpoint once it is published, on the thread of append().
  std::function<void(const Appended&)> appended = [](const Appended&) {};
};

// Two sequencers on one log are impossible: each holds an advisory lock of the database, opens an epoch that
// ends every earlier one, and holds the directory, or finds its writes to a bucket refused once another has
// taken over. Killed anywhere, the next one goes on: places are given
// once, tiles are durable before a checkpoint names them, and the database moves from size to size under
// comparison. Not thread safe.
class Sequencer {
 public:
  // Opens the log, making it if it is not there, and reconciles (reconcile.h). kUnavailable: later again,
  // also while another sequencer holds it. What is passed by reference outlives it.
  static Result<std::unique_ptr<Sequencer>> open(const SequencerSettings& settings,
                                                 const Ed25519PrivateKey& key, TileWriter& tiles,
                                                 const Clock& clock);

  // One group commit: all that waits, up to a batch, under one checkpoint. How many leaves; 0: none waited.
  // After an error the sequencer is spent; kUnavailable and the like: open another. kFailedPrecondition:
  // another one has taken over.
  Result<std::uint64_t> append();

  std::uint64_t size() const { return state_.size; }

 private:
  Sequencer(const SequencerSettings& settings, const Ed25519PrivateKey& key, TileWriter& tiles,
            postgres::Connection connection, index::LogState state)
      : settings_(settings),
        key_(key),
        tiles_(tiles),
        connection_(std::move(connection)),
        state_(std::move(state)) {}

  const SequencerSettings& settings_;
  const Ed25519PrivateKey& key_;
  TileWriter& tiles_;
  postgres::Connection connection_;
  index::LogState state_;
};

}  // namespace kiln::signing
