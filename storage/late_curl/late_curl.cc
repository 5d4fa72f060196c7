// libcurl's functions for a program that is started often and speaks HTTP rarely: libcurl and the twenty
// libraries that it needs are loaded with the first call, and not with the program. Where it cannot be loaded
// every call says what libcurl says if it does not start. Functions beside these fail to link: add them here.
#include <curl/curl.h>
#include <dlfcn.h>

#include <cstdarg>

// Of curl/typecheck-gcc.h, for callers.
#undef curl_easy_setopt
#undef curl_easy_getinfo

// The enumerations before the dots are unsigned int, which nothing promotes.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wvarargs"
#endif

namespace {

void* library() {
  static void* const loaded = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  return loaded;
}

template <class Function>
Function* find(const char* name) {
  void* const from = library();
  return from ? reinterpret_cast<Function*>(::dlsym(from, name)) : nullptr;
}

// What comes as the third argument has one size, and is passed on as it came, whatever it is.
static_assert(sizeof(long) == sizeof(void*) && sizeof(curl_off_t) == sizeof(void*));

}  // namespace

extern "C" {

CURLcode curl_global_init(long flags) {
  static const auto real = find<CURLcode(long)>("curl_global_init");
  return real ? real(flags) : CURLE_FAILED_INIT;
}

CURL* curl_easy_init() {
  static const auto real = find<CURL*()>("curl_easy_init");
  return real ? real() : nullptr;
}

CURLcode curl_easy_setopt(CURL* curl, CURLoption option, ...) {
  static const auto real = find<CURLcode(CURL*, CURLoption, ...)>("curl_easy_setopt");
  std::va_list rest;
  va_start(rest, option);
  void* const value = va_arg(rest, void*);
  va_end(rest);
  return real ? real(curl, option, value) : CURLE_FAILED_INIT;
}

CURLcode curl_easy_getinfo(CURL* curl, CURLINFO info, ...) {
  static const auto real = find<CURLcode(CURL*, CURLINFO, ...)>("curl_easy_getinfo");
  std::va_list rest;
  va_start(rest, info);
  void* const value = va_arg(rest, void*);
  va_end(rest);
  return real ? real(curl, info, value) : CURLE_FAILED_INIT;
}

CURLcode curl_easy_perform(CURL* curl) {
  static const auto real = find<CURLcode(CURL*)>("curl_easy_perform");
  return real ? real(curl) : CURLE_FAILED_INIT;
}

void curl_easy_reset(CURL* curl) {
  static const auto real = find<void(CURL*)>("curl_easy_reset");
  if (real) real(curl);
}

void curl_easy_cleanup(CURL* curl) {
  static const auto real = find<void(CURL*)>("curl_easy_cleanup");
  if (real) real(curl);
}

const char* curl_easy_strerror(CURLcode code) {
  static const auto real = find<const char*(CURLcode)>("curl_easy_strerror");
  return real ? real(code) : "libcurl.so.4 cannot be loaded";
}

time_t curl_getdate(const char* text, const time_t* unused) {
  static const auto real = find<time_t(const char*, const time_t*)>("curl_getdate");
  return real ? real(text, unused) : -1;
}

curl_slist* curl_slist_append(curl_slist* list, const char* text) {
  static const auto real = find<curl_slist*(curl_slist*, const char*)>("curl_slist_append");
  return real ? real(list, text) : nullptr;
}

void curl_slist_free_all(curl_slist* list) {
  static const auto real = find<void(curl_slist*)>("curl_slist_free_all");
  if (real) real(list);
}

}  // extern "C"
