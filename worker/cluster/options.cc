#include "worker/cluster/options.h"

#include <set>

#include "manifest/base/printable.h"
#include "manifest/json/reader.h"
#include "storage/remote/channel.h"

namespace kiln::cluster {
namespace {

constexpr std::size_t kMaxText = 4096, kMaxPlatform = 64;
constexpr std::uint64_t kMaxQueueSeconds = 3600;

tl::unexpected<Error> bad(const std::string& why) {
  return fail(Code::kInvalidArgument, "--executor: " + why);
}

bool isOfThisMachine(const std::string& address) {
  return address.starts_with("127.0.0.1:") || address.starts_with("localhost:") ||
         address.starts_with("[::1]:") || storage::isSocketEndpoint(address);
}

Status addProperty(std::string_view text, ClusterOptions& out) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return bad("platform=" + printable(text) + ": write platform=KEY=VALUE");
  if (out.where.platform.size() >= kMaxPlatform) return bad("more than 64 platform properties");
  const auto [at, added] =
      out.where.platform.emplace(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
  if (!added) return bad("the platform property " + inQuotes(at->first) + " stands there twice");
  return {};
}

Status addPart(std::string_view name, std::string_view value, ClusterOptions& out) {
  if (name == "platform") return addProperty(value, out);
  if (name == "queue-seconds") {
    const auto seconds = parseDecimal(value);
    if (!seconds || *seconds == 0 || *seconds > kMaxQueueSeconds)
      return bad("queue-seconds=" + printable(value) + ": give 1 to 3600");
    out.queueLimit = std::chrono::seconds(*seconds);
    return {};
  }
  std::string* const text = name == "reapi"      ? &out.where.address
                            : name == "instance" ? &out.where.instance
                            : name == "tls"      ? &out.tls
                            : name == "token"    ? &out.token
                                                 : nullptr;
  if (!text)
    return bad(inQuotes(std::string(name)) +
               " is not known; there are reapi, instance, platform, tls, token and queue-seconds");
  *text = value;
  return {};
}

}  // namespace

Result<ClusterOptions> parseExecutor(std::string_view text) {
  if (text.size() > kMaxText) return bad("longer than 4096 characters");
  ClusterOptions out;
  std::set<std::string_view> given;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const std::string_view part = text.substr(from, comma - from);
    from = comma + 1;
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos)
      return bad("the part " + inQuotes(std::string(part)) + " is not NAME=VALUE");
    const std::string_view name = part.substr(0, equals);
    if (name != "platform" && !given.insert(name).second)
      return bad(printable(name) + "= stands there twice");
    KILN_TRY(addPart(name, part.substr(equals + 1), out));
  }
  const std::string& address = out.where.address;
  if (!storage::isSocketEndpoint(address) && !storage::isNetworkEndpoint(address))
    return bad("reapi=HOST:PORT or reapi=unix:/path must name the cluster");
  KILN_TRY(storage::checkSocketPath(address));
  if (!out.tls.empty()) return out;
  if (!isOfThisMachine(address))
    return bad(printable(address) + " is not on this machine: it is reached through TLS; give tls=FILE");
  if (!out.token.empty()) return bad("a token is sent through TLS alone; give tls=FILE");
  return out;
}

}  // namespace kiln::cluster
