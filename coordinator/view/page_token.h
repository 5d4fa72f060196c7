// Page tokens: where a list goes on, bound to the question that was asked. Opaque to clients and not secret:
// whoever forges one only chooses where to begin reading what the request may read anyway.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "manifest/base/result.h"

namespace kiln::service {

inline constexpr int kDefaultPage = 50, kMaxPage = 500;

// kInvalidArgument for a negative or too large page.
Result<int> pageSize(int asked);

// What the token is bound to: the request without its page_size and page_token.
template <class Request>
std::string questionOf(Request request) {
  request.clear_page_size();
  request.clear_page_token();
  return request.GetTypeName() + "\n" + request.SerializeAsString();
}

// base64 of the position behind a digest of question and position. `position` is whatever the list needs.
std::string makePageToken(std::string_view question, std::string_view position);
// The position; "" for no token. kInvalidArgument for one that this question did not give.
Result<std::string> readPageToken(std::string_view question, std::string_view token);

}  // namespace kiln::service
