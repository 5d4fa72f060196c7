// What a request of a browser may be, by its header alone.
//
// Sources: RFC 9110 7.2 (Host), Fetch 3.2 (Origin), Fetch Metadata (Sec-Fetch-Site), RFC 6750 2.1 (Bearer).
#pragma once

#include <boost/beast/http/message.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kiln::relay {

using RequestHeader = boost::beast::http::request_header<>;

struct Refusal {
  unsigned status = 0;
  std::string why;  // for people; never what the request said
};

enum class Place { kPage, kSession, kFarm };

// "127.0.0.1:PORT", which is the only name that the relay answers to.
std::string authorityOf(std::uint16_t port);

// Where a request leads, or why it may not be: 421 for another Host, 403 for a page of another origin, 405
// for what is no read, 404 for what is not relayed, 400 for a target or a body whose end could be seen
// elsewhere by others.
struct Judged {
  Place place = Place::kPage;
  std::optional<Refusal> refusal;
};
Judged judge(const RequestHeader& request, std::uint16_t port);

// The token of "Authorization: Bearer TOKEN"; "" if there is none, or more than one field.
std::string_view tokenOf(const RequestHeader& request);

}  // namespace kiln::relay
