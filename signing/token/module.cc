#include "signing/token/module.h"

namespace kiln::signing {

Result<std::shared_ptr<const TokenModule>> TokenModule::load(const std::string& path) {
  CK_FUNCTION_LIST* functions = p11_kit_module_load(path.c_str(), 0);
  if (!functions) {
    const char* why = p11_kit_message();
    return fail(Code::kNotFound, path + ": no PKCS#11 module can be loaded from there: " +
                                     (why ? why : "it exports no functions"));
  }
  if (const CK_RV answer = p11_kit_module_initialize(functions); answer != CKR_OK) {
    p11_kit_module_release(functions);
    return fail(Code::kUnavailable,
                path + ": the PKCS#11 module does not start: " + p11_kit_strerror(answer));
  }
  return std::shared_ptr<const TokenModule>(new TokenModule(functions, path));
}

TokenModule::~TokenModule() {
  p11_kit_module_finalize(functions_);
  p11_kit_module_release(functions_);
}

Error tokenError(CK_RV answer, const std::string& what) {
  Code code = Code::kInternal;
  switch (answer) {
    case CKR_PIN_INCORRECT:
    case CKR_PIN_INVALID:
    case CKR_PIN_LEN_RANGE:
    case CKR_PIN_LOCKED:
    case CKR_PIN_EXPIRED:
    case CKR_USER_PIN_NOT_INITIALIZED:
      code = Code::kPermissionDenied;
      break;
    case CKR_TOKEN_NOT_PRESENT:
    case CKR_TOKEN_NOT_RECOGNIZED:
    case CKR_DEVICE_ERROR:
    case CKR_DEVICE_REMOVED:
    case CKR_DEVICE_MEMORY:
    case CKR_SLOT_ID_INVALID:
    case CKR_SESSION_CLOSED:
    case CKR_SESSION_COUNT:
    case CKR_SESSION_HANDLE_INVALID:
    case CKR_USER_NOT_LOGGED_IN:
    case CKR_OBJECT_HANDLE_INVALID:
    case CKR_KEY_HANDLE_INVALID:
      code = Code::kUnavailable;
      break;
    default:
      break;
  }
  return Error{code, what + ": " + p11_kit_strerror(answer), ""};
}

}  // namespace kiln::signing
