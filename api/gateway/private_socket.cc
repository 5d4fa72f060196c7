#include "api/gateway/private_socket.h"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

#include <boost/asio/io_context.hpp>

namespace kiln::gateway {
namespace {

using Local = boost::asio::local::stream_protocol;

// A socket that nobody serves any more. Other files stay, and binding fails.
Status removeLeftOver(const std::string& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0 || !S_ISSOCK(found.st_mode)) return {};
  boost::asio::io_context io;
  Local::socket probe(io);
  boost::system::error_code error;
  probe.connect(Local::endpoint(path), error);
  if (!error) return fail(Code::kUnavailable, path + ": a server answers there already");
  ::unlink(path.c_str());
  return {};
}

}  // namespace

Status listenPrivately(Local::acceptor& acceptor, const std::string& path) {
  if (!path.starts_with('/') || path.size() >= sizeof(sockaddr_un{}.sun_path))
    return fail(Code::kInvalidArgument, path + ": a socket's path begins with '/' and has at most " +
                                            std::to_string(sizeof(sockaddr_un{}.sun_path) - 1) + " bytes");
  KILN_TRY(removeLeftOver(path));
  boost::system::error_code error;
  acceptor.open(Local(), error);
  // Linux gives the file the mode that its socket has by then.
  if (!error && ::fchmod(acceptor.native_handle(), 0600) != 0) return fail(errnoError(errno, path));
  if (!error) acceptor.bind(Local::endpoint(path), error);
  if (!error) acceptor.listen(boost::asio::socket_base::max_listen_connections, error);
  if (error) return fail(Code::kUnavailable, "cannot listen on " + path + ": " + error.message());
  return {};
}

}  // namespace kiln::gateway
