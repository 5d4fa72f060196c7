// A session with a token, logged in as its user.
#pragma once

#include <optional>
#include <vector>

#include "signing/token/module.h"
#include "signing/token/token_uri.h"

namespace kiln::signing {

// Not thread safe: one operation at a time.
class TokenSession {
 public:
  // Opens the one token of the module that the URI means. kNotFound (with the tokens that are there) or
  // kInvalidArgument if none or several match; errors of readSecretFile about the PIN's file,
  // kPermissionDenied if the PIN is wrong. `writing`: keys can be made.
  static Result<TokenSession> open(std::shared_ptr<const TokenModule> module, const TokenUri& uri,
                                   bool writing = false);
  TokenSession(TokenSession&& other) noexcept;
  TokenSession& operator=(TokenSession&&) = delete;
  ~TokenSession();

  // The objects with exactly these attributes; at most two, so that "several" can be told.
  Result<std::vector<CK_OBJECT_HANDLE>> find(std::vector<CK_ATTRIBUTE> attributes) const;
  // nullopt if the object has no such attribute or hides it.
  Result<std::optional<std::string>> read(CK_OBJECT_HANDLE object, CK_ATTRIBUTE_TYPE type) const;

  const CK_FUNCTION_LIST* operator->() const { return module_->operator->(); }
  CK_SESSION_HANDLE handle() const { return handle_; }
  // token "farm" (slot 17), for messages
  const std::string& token() const { return token_; }
  // `what` went wrong with this token.
  Error error(CK_RV answer, const std::string& what) const {
    return tokenError(answer, token_ + ": " + what);
  }

 private:
  TokenSession(std::shared_ptr<const TokenModule> module, CK_SESSION_HANDLE handle, std::string token)
      : module_(std::move(module)), handle_(handle), token_(std::move(token)) {}

  std::shared_ptr<const TokenModule> module_;  // null once moved from
  CK_SESSION_HANDLE handle_;
  std::string token_;
};

}  // namespace kiln::signing
