// Which RPC a request over HTTP is: read from the annotations of the protos (google.api.http), and from
// nothing else.
#pragma once

#include <google/protobuf/descriptor.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/transcoding/path_template.h"
#include "manifest/base/result.h"

namespace kiln::transcoding {

enum class Verb { kGet, kPost };
std::string_view verbName(Verb verb);  // "GET", "POST"

// An RPC as it is called over HTTP.
struct Route {
  const google::protobuf::MethodDescriptor* method = nullptr;
  Verb verb = Verb::kGet;
  PathTemplate path;
  bool body = false;  // the request's body is the message; else there is none
};

struct RouteMatch {
  const Route* route = nullptr;
  std::vector<std::string_view> fields;  // of Route::path, percent-encoded; of the path that was looked up
};

// Thread safe. The descriptors' pool must outlive it.
class RouteTable {
 public:
  // Of those methods that are annotated; the others are not served. kInvalidArgument, naming the method, for
  // an annotation that asks for more than is served, names a field that is not there or is no scalar, or has
  // the path of another; kUnimplemented for a method that takes a stream.
  static Result<RouteTable> of(std::span<const google::protobuf::MethodDescriptor* const> methods);

  // By a path without its query. kNotFound for a path of no RPC; kUnimplemented, with the verbs that it has
  // in the error's details, for one that is called by other verbs.
  Result<RouteMatch> find(std::string_view verb, std::string_view path) const;

  const std::vector<Route>& routes() const { return routes_; }  // as the methods were given

 private:
  std::vector<Route> routes_;
};

}  // namespace kiln::transcoding
