#include "storage/postgres/conninfo.h"

#include <libpq-fe.h>

#include <charconv>
#include <memory>
#include <string_view>
#include <vector>

#include "manifest/base/printable.h"

namespace kiln::postgres {
namespace {

constexpr const char* kNowhere = "/dev/null";  // no directory, so no socket lies in it

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, FreeOptions>;

tl::unexpected<Error> invalid(std::string_view why) {
  while (why.ends_with('\n')) why.remove_suffix(1);
  return fail(Code::kInvalidArgument, "not a connection string of libpq: " + printable(why));
}

// As libpq tells one from the name of a database.
bool isConninfo(std::string_view text) {
  return text.find('=') != text.npos || text.starts_with("postgresql://") || text.starts_with("postgres://");
}

// One for each host, or one for all; an empty one is the default.
bool arePorts(std::string_view list) {
  while (true) {
    const auto comma = list.find(',');
    const std::string_view one = list.substr(0, comma);
    int port = 0;
    const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), port);
    if (!one.empty() && (error != std::errc() || end != one.data() + one.size() || port < 1 || port > 65535))
      return false;
    if (comma == list.npos) return true;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

Status checkConninfo(const std::string& conninfo) {
  if (!isConninfo(conninfo)) return {};
  char* why = nullptr;
  const Options options(PQconninfoParse(conninfo.c_str(), &why));
  if (!options) {
    const std::unique_ptr<char, decltype(&PQfreemem)> owned(why, PQfreemem);
    return invalid(why ? why : "out of memory");
  }
  // What the keywords are set to libpq looks at as it connects: so it does, to where nothing can be.
  std::vector<const char*> keywords{"host", "connect_timeout"}, values{kNowhere, "1"};
  for (const PQconninfoOption* option = options.get(); option->keyword; ++option) {
    const std::string_view keyword = option->keyword;
    if (!option->val || !*option->val || keyword == "connect_timeout") continue;
    if (keyword == "port" && !arePorts(option->val)) return invalid("port " + inQuotes(option->val));
    if (keyword == "host" || keyword == "hostaddr" || keyword == "port") continue;
    keywords.push_back(option->keyword);
    values.push_back(option->val);
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  if (PQpingParams(keywords.data(), values.data(), 0) != PQPING_NO_ATTEMPT) return {};
  const std::unique_ptr<PGconn, decltype(&PQfinish)> refused(
      PQconnectStartParams(keywords.data(), values.data(), 0), PQfinish);
  return invalid(refused ? PQerrorMessage(refused.get()) : "out of memory");
}

bool namesSeveralHosts(const std::string& conninfo) {
  if (!isConninfo(conninfo)) return false;
  const Options options(PQconninfoParse(conninfo.c_str(), nullptr));
  if (!options) return false;
  for (const PQconninfoOption* option = options.get(); option->keyword; ++option) {
    const std::string_view keyword = option->keyword;
    if (option->val && (keyword == "host" || keyword == "hostaddr") &&
        std::string_view(option->val).find(',') != std::string_view::npos)
      return true;
  }
  return false;
}

}  // namespace kiln::postgres
