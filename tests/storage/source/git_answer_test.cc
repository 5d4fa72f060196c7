#include "storage/source/git_answer.h"

#include <gtest/gtest.h>

namespace kiln::source {
namespace {

TEST(GitAnswer, TellsWhatTheServerDecided) {
  const std::pair<const char*, Code> decided[] = {
      {"invalid content-type: 'text/html'", Code::kDataLoss},
      {"no content-type header in response", Code::kDataLoss},
      {"invalid packet line", Code::kDataLoss},
      {"http parser error: invalid HTTP version", Code::kDataLoss},
      {"remote error: access denied", Code::kUnimplemented},
      {"unexpected redirect", Code::kUnimplemented},
      {"too many redirects or authentication replays", Code::kUnimplemented},
      {"cannot redirect from 'https' to 'file'", Code::kUnimplemented},
      {"malformed URL 'file:///etc'", Code::kUnimplemented},
      {"unexpected http status code: 404", Code::kNotFound},
      {"unexpected http status code: 403", Code::kPermissionDenied},
      {"unexpected http status code: 418", Code::kDataLoss}};
  for (const auto& [message, code] : decided) EXPECT_EQ(answerCode(message), code) << message;
}

TEST(GitAnswer, LeavesTheConnectionsTroubleAlone) {
  for (const char* message :
       {"failed to connect to git.example.org", "early EOF", "unexpected EOF", "error receiving socket data",
        "SSL error: unknown error", "unexpected http status code: 500", "unexpected http status code: 503",
        "unexpected http status code: 429", "unexpected http status code: 408", ""})
    EXPECT_FALSE(answerCode(message)) << message;
}

}  // namespace
}  // namespace kiln::source
