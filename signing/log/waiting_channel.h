// Where kiln-log tells coordinators why the log does not grow.
#pragma once

namespace kiln::signing {

// A channel of PostgreSQL's NOTIFY; the payload is printable text of at most 1000 bytes.
inline constexpr char kLogWaitingChannel[] = "kiln_log_waiting";

}  // namespace kiln::signing
