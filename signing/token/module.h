// A token's PKCS#11 module: the shared object that speaks to it. Source: OASIS PKCS #11 2.40.
#pragma once

#include <p11-kit/p11-kit.h>

#include <memory>
#include <string>

#include "manifest/base/result.h"

namespace kiln::signing {

// Thread safe; modules do their own locking.
class TokenModule {
 public:
  // kNotFound if there is no module at `path`, kUnavailable if it does not start. Loaded once per process,
  // however often it is asked for.
  static Result<std::shared_ptr<const TokenModule>> load(const std::string& path);
  ~TokenModule();
  TokenModule(const TokenModule&) = delete;
  TokenModule& operator=(const TokenModule&) = delete;

  const CK_FUNCTION_LIST* operator->() const { return functions_; }
  const std::string& path() const { return path_; }

 private:
  TokenModule(CK_FUNCTION_LIST* functions, std::string path)
      : functions_(functions), path_(std::move(path)) {}

  CK_FUNCTION_LIST* functions_;
  const std::string path_;
};

// What a module's answer means: a PIN that is wrong or locked is kPermissionDenied, a token that is away or
// was exchanged kUnavailable, anything else kInternal. `what` comes first in the message.
Error tokenError(CK_RV answer, const std::string& what);

}  // namespace kiln::signing
