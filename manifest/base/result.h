// Result<T>: a value or an Error. No exception crosses a module border.
// Codes are gRPC's canonical ones by number, so the RPC edge converts by a cast; the CLI maps them to exit
// codes.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace kiln {

enum class Code {
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,  // malformed request, spec or model
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,   // quota, disk full, over budget
  kFailedPrecondition = 9,  // the state does not allow it (missing inputs, stale epoch)
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,  // an operator, shape, dtype or target that cannot be served
  kInternal = 13,
  kUnavailable = 14,  // try again later
  kDataLoss = 15,     // bytes do not match their digest or signature
  kUnauthenticated = 16,
};

// "INVALID_ARGUMENT" and so on.
std::string_view codeName(Code code);

// An error says its class, the place and the next step; never a stack trace, never another tenant's data.
struct Error {
  Code code = Code::kInternal;
  std::string message;
  // Structured facts for machines, as the text of one JSON object; "" for none. Kept by in().
  std::string details;

  // The same error with "context: " in front of the message.
  Error in(std::string_view context) const;
  // The same for what somebody else has sent: what cannot be read does not verify, and is no fault of the
  // caller's words. Codes that exit with 2 become kDataLoss; outages and refusals stay what they are.
  Error asEvidence(std::string_view from) const;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> fail(Code code, std::string message) {
  return tl::make_unexpected(Error{code, std::move(message)});
}
inline tl::unexpected<Error> fail(Error error) {
  return tl::make_unexpected(std::move(error));
}

// From errno: ENOENT is kNotFound, ENOSPC and EDQUOT kResourceExhausted, EACCES and EPERM kPermissionDenied.
Error errnoError(int number, std::string_view what);

}  // namespace kiln

// KILN_TRY(expression): returns the error from the enclosing function.
// KILN_ASSIGN(declaration, expression): declares or assigns the value, or returns the error.
#define KILN_CONCAT_(a, b) a##b
#define KILN_CONCAT(a, b) KILN_CONCAT_(a, b)
#define KILN_TRY(expression)                                                         \
  do {                                                                               \
    if (auto kilnTry = (expression); !kilnTry) return ::kiln::fail(kilnTry.error()); \
  } while (0)
#define KILN_ASSIGN_(name, declaration, expression)        \
  auto name = (expression);                                \
  if (!name) return ::kiln::fail(std::move(name).error()); \
  declaration = std::move(*name)
#define KILN_ASSIGN(declaration, ...) \
  KILN_ASSIGN_(KILN_CONCAT(kilnResult, __LINE__), declaration, (__VA_ARGS__))
