#include "signing/sigstore/signed_timestamp.h"

#include <openssl/pkcs7.h>
#include <openssl/ts.h>

#include <ctime>
#include <memory>

#include "signing/keys/openssl.h"

namespace kiln::signing {
namespace {

constexpr std::size_t kMaxResponseBytes = 64 << 10;

struct StackFree {
  void operator()(STACK_OF(X509) * stack) const { sk_X509_free(stack); }  // borrows what it holds
};
struct OwnedStackFree {
  void operator()(STACK_OF(X509) * stack) const { sk_X509_pop_free(stack, X509_free); }
};

tl::unexpected<Error> refused(const char* why) {
  return fail(Code::kDataLoss, std::string("timestamp: ") + why);
}

void push(STACK_OF(X509) * stack, const X509Certificate& certificate) {
  X509_up_ref(certificate.handle());
  sk_X509_push(stack, certificate.handle());
}

STACK_OF(X509) * helpersOf(const KnownTimestampAuthority& authority) {
  STACK_OF(X509)* out = sk_X509_new_null();
  push(out, authority.signer);
  for (const X509Certificate& one : authority.roots.intermediates) push(out, one);
  return out;
}

X509_STORE* storeOf(const KnownTimestampAuthority& authority, TimePoint at) {
  X509_STORE* out = X509_STORE_new();
  for (const X509Certificate& one : authority.roots.anchors) X509_STORE_add_cert(out, one.handle());
  X509_VERIFY_PARAM* rules = X509_STORE_get0_param(out);
  X509_VERIFY_PARAM_set_auth_level(rules, 2);
  X509_VERIFY_PARAM_set_time(rules, std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count());
  return out;
}

// Whether it is this authority's own certificate that signed, and not another one under its root.
bool isSignedBySigner(PKCS7* token, const KnownTimestampAuthority& authority) {
  const std::unique_ptr<STACK_OF(X509), OwnedStackFree> helpers(helpersOf(authority));
  const std::unique_ptr<STACK_OF(X509), StackFree> signers(PKCS7_get0_signers(token, helpers.get(), 0));
  return signers && sk_X509_num(signers.get()) == 1 &&
         X509_cmp(sk_X509_value(signers.get(), 0), authority.signer.handle()) == 0;
}

bool holds(TS_RESP* response, std::string_view message, const KnownTimestampAuthority& authority,
           TimePoint at) {
  const std::unique_ptr<TS_VERIFY_CTX, decltype(&TS_VERIFY_CTX_free)> context(TS_VERIFY_CTX_new(),
                                                                              TS_VERIFY_CTX_free);
  TS_VERIFY_CTX_set_flags(context.get(), TS_VFY_SIGNATURE | TS_VFY_VERSION | TS_VFY_DATA);
  // The context owns what it is given.
  TS_VERIFY_CTX_set_data(context.get(), readerOf(message).release());
  TS_VERIFY_CTX_set_store(context.get(), storeOf(authority, at));
  TS_VERIFY_CTX_set_certs(context.get(), helpersOf(authority));
  const bool good = TS_RESP_verify_response(context.get(), response) == 1 &&
                    isSignedBySigner(TS_RESP_get_token(response), authority);
  clearErrors();
  return good;
}

}  // namespace

Result<TimePoint> checkTimestamp(std::string_view response, std::string_view message,
                                 std::span<const KnownTimestampAuthority> authorities) {
  if (response.size() > kMaxResponseBytes) return refused("is longer than 64 KiB");
  const auto* at = reinterpret_cast<const unsigned char*>(response.data());
  const auto* end = at + response.size();
  const std::unique_ptr<TS_RESP, decltype(&TS_RESP_free)> read(
      d2i_TS_RESP(nullptr, &at, static_cast<long>(response.size())), TS_RESP_free);
  clearErrors();
  TS_TST_INFO* info = read && at == end ? TS_RESP_get_tst_info(read.get()) : nullptr;
  if (!info) return refused("is no answer of a timestamp authority");
  std::tm parts{};
  const bool timed = ASN1_TIME_to_tm(TS_TST_INFO_get_time(info), &parts) == 1;
  clearErrors();
  if (!timed) return refused("states no time");
  const TimePoint time(std::chrono::seconds(timegm(&parts)));
  for (const KnownTimestampAuthority& authority : authorities)
    if (authority.validFor.holds(time) && holds(read.get(), message, authority, time)) return time;
  return refused("no authority that is believed made it over this signature");
}

}  // namespace kiln::signing
