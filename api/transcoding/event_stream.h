// Server-sent events, as a stream of messages is answered with. Source: the HTML standard, 9.2 "Server-sent
// events".
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln::transcoding {

inline constexpr char kEventStreamType[] = "text/event-stream";

// One event, with the empty line that ends it. `data` is one line, as JSON is. `id` is where a client that
// lost its connection goes on; none: where it went on before.
std::string event(std::string_view name, std::string_view data, std::optional<std::uint64_t> id = {});
// What a client passes over: it shows that the connection lives.
std::string heartbeat();

// The place of a message in its stream: its field "revision", which rises. Nothing for a message without one.
std::optional<std::uint64_t> placeOf(const google::protobuf::Message& message);
// Of a Last-Event-ID; 0 for none. kInvalidArgument for what placeOf() never gave.
Result<std::uint64_t> placeFrom(std::string_view lastEventId);

}  // namespace kiln::transcoding
