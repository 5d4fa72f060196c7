// Both ends of a connection notice that the other has fallen silent, and each bears how often the other asks.
#include "coordinator/server/listen.h"

#include <grpcpp/support/channel_arguments.h>
#include <gtest/gtest.h>

#include <map>

#include "coordinator/access/gate.h"
#include "storage/remote/channel.h"

namespace kiln::server {
namespace {

std::map<std::string, int> ofServer() {
  const auto arguments = connectionArguments();
  return {arguments.begin(), arguments.end()};
}

std::map<std::string, int> ofClient(const std::string& endpoint) {
  std::map<std::string, int> out;
  const grpc::ChannelArguments arguments = storage::channelArguments(endpoint);
  const grpc_channel_args raw = arguments.c_channel_args();
  for (std::size_t i = 0; i < raw.num_args; ++i)
    if (raw.args[i].type == GRPC_ARG_INTEGER) out[raw.args[i].key] = raw.args[i].value.integer;
  return out;
}

constexpr int kMinute = 60'000;

TEST(Keepalive, ASilentClientIsNoticedWithinTwoMinutes) {
  const auto server = ofServer();
  EXPECT_GT(server.at(GRPC_ARG_KEEPALIVE_TIME_MS), 0);
  EXPECT_GT(server.at(GRPC_ARG_KEEPALIVE_TIMEOUT_MS), 0);
  EXPECT_LE(server.at(GRPC_ARG_KEEPALIVE_TIME_MS) + server.at(GRPC_ARG_KEEPALIVE_TIMEOUT_MS), 2 * kMinute);
  EXPECT_EQ(server.at(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS), 1) << "whether or not it calls";
}

TEST(Keepalive, ASilentServerIsNoticedWithinAMinute) {
  for (const char* endpoint : {"unix:/run/kiln/coordinator.sock", "farm.example.org:7443"}) {
    const auto client = ofClient(endpoint);
    EXPECT_GT(client.at(GRPC_ARG_KEEPALIVE_TIME_MS), 0);
    EXPECT_LE(client.at(GRPC_ARG_KEEPALIVE_TIME_MS) + client.at(GRPC_ARG_KEEPALIVE_TIMEOUT_MS), kMinute)
        << endpoint;
    EXPECT_EQ(client.at(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA), 0) << "for as long as a watch is quiet";
  }
}

// A slow line, or a farm that is busy for a moment, is no farm that is away.
TEST(Connections, MayTakeSeconds) {
  EXPECT_GE(ofClient("farm.example.org:7443").at(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS), 2000);
  EXPECT_LE(ofClient("farm.example.org:7443").at(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS), 1000);
}

// Or the server says too_many_pings and ends the connection.
TEST(Keepalive, TheServerBearsWhatItsClientsAsk) {
  EXPECT_LT(ofServer().at(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS),
            ofClient("farm.example.org:7443").at(GRPC_ARG_KEEPALIVE_TIME_MS));
  EXPECT_GT(ofServer().at(GRPC_ARG_HTTP2_MAX_PING_STRIKES), 0) << "0 would be any number";
}

TEST(Connections, TakeAPartOfWhatThereIs) {
  const auto server = ofServer();
  EXPECT_LT(access::kMaxCalls, static_cast<std::size_t>(kMaxThreads))
      << "the local user is served beside them";
  EXPECT_LE(server.at(GRPC_ARG_MAX_CONCURRENT_STREAMS) * 8, kMaxThreads);
  for (const char* limit :
       {GRPC_ARG_MAX_METADATA_SIZE, GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, GRPC_ARG_MAX_CONNECTION_IDLE_MS,
        GRPC_ARG_MAX_CONNECTION_AGE_MS, GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS})
    EXPECT_GT(server.at(limit), 0) << limit;
}

}  // namespace
}  // namespace kiln::server
