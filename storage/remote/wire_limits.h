// The limits that client and server agree on beyond the protocol.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kiln::storage {

inline constexpr std::size_t kStreamChunkBytes = 1 << 20;  // of one ByteStream message

// Limits of one batch call: bytes of blobs, and their number. With digests and statuses a message stays below
// gRPC's default limit of 4 MiB.
inline constexpr std::uint64_t kMaxBatchBytes = 3'500'000;
inline constexpr std::size_t kMaxBatchBlobs = 4000;

inline constexpr std::size_t kMaxFindMissing = 40'000;  // digests in one call

// Of one blob; larger ones are refused when their upload begins.
inline constexpr std::uint64_t kMaxBlobBytes = 1ull << 40;

// For grpc::ServerBuilder::SetMaxReceiveMessageSize: other clients count their batches a little differently.
inline constexpr int kMaxServerMessageBytes = 8 << 20;

}  // namespace kiln::storage
