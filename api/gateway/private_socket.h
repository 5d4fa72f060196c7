// A Unix socket that only this user can open.
#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <string>

#include "manifest/base/result.h"

namespace kiln::gateway {

// Listens at `path`, mode 0600 from its first moment. What an ended server has left there is replaced.
// kInvalidArgument for a path that no socket can have; kUnavailable if a server answers there, or the place
// cannot be written.
Status listenPrivately(boost::asio::local::stream_protocol::acceptor& acceptor, const std::string& path);

}  // namespace kiln::gateway
