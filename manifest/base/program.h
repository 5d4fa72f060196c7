// The frame of every program of Kiln: standard streams that are what they seem, no exception that ends in an
// abort, and one look at the end whether all that was printed has arrived.
#pragma once

#include <functional>
#include <string_view>

namespace kiln {

// Runs `body` and returns what the process shall exit with. That is what `body` returns, but never 0 when
// part of what was printed was lost: "NAME: error: standard output: <why>" is then on standard error, and the
// exit code is 7, whatever the reason. Where the reader of standard output has gone away, as `head` does, the
// process says nothing of it, as other tools do, and ends by SIGPIPE where it would have ended with 0; not if
// whoever started it has that signal ignored. A file that grows beyond the limit of its size is an error of
// the write and no signal. An exception that escapes is told like that and is exit 1; where it is one of
// memory, threads or descriptors that ran out, 7. Descriptors 0, 1 and 2 that the caller left closed are
// occupied first, so that no file of the program becomes its output by chance; what is printed there counts
// as lost. GRPC_TRACE is taken out of the environment: what gRPC traces is what calls carry, and a token
// would be in the log of whoever sets it. Call it from main() alone.
int runMain(std::string_view name, const std::function<int()>& body);

}  // namespace kiln
