// As much of S3 as the store asks for, in memory: objects, conditions, ranges, parts, copies. It checks no
// signature, but that there is one over the body's hash or in the URL, and then that what it covers has come.
// Thread safe.
#pragma once

#include <cstdio>
#include <map>

#include "manifest/base/digest.h"
#include "tests/support/http_listener.h"

namespace kiln::testing_support {

class FakeS3 {
 public:
  std::string answer(const HttpSeen& seen) {
    const MutexLock lock(mutex_);
    const auto question = seen.target.find('?');
    const std::string key = seen.target.substr(0, question);
    const std::string query = question == std::string::npos ? "" : seen.target.substr(question + 1);
    const bool presigned = query.starts_with("X-Amz-");
    if (std::string refused = presigned ? checkPresigned(seen, query) : check(seen); !refused.empty())
      return refused;
    if (!query.empty() && !presigned) return answerParts(seen, key, query);
    const auto found = objects_.find(key);
    if (seen.headers.contains("x-amz-copy-source")) return copy(seen.headers.at("x-amz-copy-source"), key);
    if (seen.method == "PUT") {
      if (found != objects_.end() && seen.headers.contains("if-none-match"))
        return error(412, "PreconditionFailed");
      if (const auto match = seen.headers.find("if-match"); match != seen.headers.end()) {
        if (found == objects_.end()) return error(404, "NoSuchKey");
        if (match->second != etagOf(found->second)) return error(412, "PreconditionFailed");
      }
      objects_[key] = seen.body;
      return httpAnswer(200, "", {"ETag: " + etagOf(seen.body)});
    }
    if (seen.method == "DELETE") {
      objects_.erase(key);
      return httpAnswer(204);
    }
    if (found == objects_.end()) return seen.method == "HEAD" ? httpAnswer(404) : error(404, "NoSuchKey");
    const std::string& bytes = found->second;
    if (seen.method == "HEAD")
      return "HTTP/1.1 200 OK\r\nETag: " + etagOf(bytes) +
             "\r\nx-amz-checksum-sha256: " + toBase64(digestOf(bytes).hash) +
             "\r\nContent-Length: " + std::to_string(bytes.size()) + "\r\n\r\n";
    if (!seen.headers.contains("range")) return httpAnswer(200, bytes, {"ETag: " + etagOf(bytes), kModified});
    unsigned long long first = 0, last = 0;
    std::sscanf(seen.headers.at("range").c_str(), "bytes=%llu-%llu", &first, &last);
    return httpAnswer(206, bytes.substr(first, last - first + 1),
                      {"Content-Range: bytes " + std::to_string(first) + "-" + std::to_string(last) + "/" +
                       std::to_string(bytes.size())});
  }

  std::size_t uploadsOpen() {
    const MutexLock lock(mutex_);
    return uploads_.size();
  }

  static std::string error(int status, const std::string& code) {
    return httpAnswer(status, "<?xml version=\"1.0\"?>\n<Error><Code>" + code +
                                  "</Code><Message>told &amp; done</Message></Error>");
  }

 private:
  static constexpr char kModified[] = "Last-Modified: Fri, 20 Nov 2026 06:00:00 GMT";
  static std::string etagOf(const std::string& bytes) {
    return "\"" + digestOf(bytes).hex().substr(0, 32) + "\"";
  }

  std::string copy(const std::string& from, const std::string& to) KILN_REQUIRES(mutex_) {
    const auto source = objects_.find(from);
    if (source == objects_.end()) return error(404, "NoSuchKey");
    objects_[to] = source->second;
    return httpAnswer(200, "<CopyObjectResult><ETag>\"e\"</ETag></CopyObjectResult>");
  }

  std::string checkPresigned(const HttpSeen& seen, const std::string& query) {
    if (query.find("&X-Amz-Signature=") == std::string::npos) return error(403, "AccessDenied");
    for (const char* name : {"content-length", "x-amz-checksum-sha256"})
      if (query.find(name) != std::string::npos && !seen.headers.contains(name))
        return error(403, "SignatureDoesNotMatch");
    return checkChecksum(seen);
  }

  std::string checkChecksum(const HttpSeen& seen) {
    const auto checksum = seen.headers.find("x-amz-checksum-sha256");
    if (checksum != seen.headers.end() && checksum->second != toBase64(digestOf(seen.body).hash))
      return error(400, "BadDigest");
    return "";
  }

  std::string check(const HttpSeen& seen) {
    const auto signature = seen.headers.find("authorization");
    if (signature == seen.headers.end() ||
        signature->second.find("x-amz-content-sha256") == std::string::npos)
      return error(403, "AccessDenied");
    const Digest body = digestOf(seen.body);
    if (seen.headers.at("x-amz-content-sha256") != body.hex()) return error(400, "XAmzContentSHA256Mismatch");
    return checkChecksum(seen);
  }

  std::string answerParts(const HttpSeen& seen, const std::string& key, const std::string& query)
      KILN_REQUIRES(mutex_) {
    if (query == "uploads=") {
      const std::string id = "u/" + std::to_string(++next_) + "=";
      uploads_[id];
      return httpAnswer(200, "<InitiateMultipartUploadResult><UploadId>" + id +
                                 "</UploadId></InitiateMultipartUploadResult>");
    }
    std::string id = query.substr(query.find("uploadId=") + 9);
    for (const auto& [quoted, plain] : {std::pair("%2F", "/"), std::pair("%3D", "=")})
      if (const auto at = id.find(quoted); at != std::string::npos) id.replace(at, 3, plain);
    const auto upload = uploads_.find(id);
    if (upload == uploads_.end()) return error(404, "NoSuchUpload");
    if (seen.method == "PUT") {
      upload->second[std::stoi(query.substr(std::string("partNumber=").size()))] = seen.body;
      return httpAnswer(200, "", {"ETag: \"part\""});
    }
    if (seen.method == "POST") {
      if (objects_.contains(key) && seen.headers.contains("if-none-match"))
        return error(412, "PreconditionFailed");
      std::string whole;
      for (const auto& [number, bytes] : upload->second) whole += bytes;
      objects_[key] = whole;
    }
    uploads_.erase(upload);
    return seen.method == "POST" ? httpAnswer(200, "<CompleteMultipartUploadResult/>") : httpAnswer(204);
  }

  Mutex mutex_;
  std::map<std::string, std::string> objects_ KILN_GUARDED_BY(mutex_);
  std::map<std::string, std::map<int, std::string>> uploads_ KILN_GUARDED_BY(mutex_);
  int next_ KILN_GUARDED_BY(mutex_) = 0;
};

}  // namespace kiln::testing_support
