// The gateway's answer to each route.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>

#include "api/gateway/connection.h"
#include "api/gateway/gateway.h"
#include "api/gateway/image.h"
#include "api/gateway/route.h"

namespace kiln::gateway {

// Thread safe. The backend's interfaces outlive it.
class Responder {
 public:
  Responder(GatewayBackend backend, std::shared_ptr<const Clock> clock);
  // Answers one request; true if the connection may be used again. `upload` is the body of one that has such.
  bool respond(const Request& request, const Peer& peer, ApiBody* upload, ResponseWriter& writer);
  // Whether the request asks for health where that is served: such a one goes to health() instead.
  bool asksForHealth(const Request& request) const;
  // The whole answer to it.
  std::string health(const Request& request, const Status& healthy);

 private:
  struct Answer;
  class ApiAnswer;
  Status admit(const Request& request, const Peer& peer, const Route& route) const;
  bool asksApi(const Request& request) const;
  void serve(Answer& answer, const Route& route);
  Status checkRelease(const std::string& instance, const Digest& artifact) const;
  // Where several artifacts name a blob, one that may go out is enough.
  Status checkReleaseOf(const std::string& instance, const Digest& blob) const;
  void refuse(Answer& answer, unsigned status, std::string body);
  void refuse(Answer& answer, const Error& error, RouteKind route);
  void text(Answer& answer, unsigned status, std::string_view type, std::string_view body);
  // Its bytes never change, so a client that has them under this digest is told so; one that wants others is
  // refused. True if that was the answer.
  bool settled(Answer& answer, const Digest& digest);
  void document(Answer& answer, const Digest& digest, std::string_view type, std::string_view text);
  // Bytes [offset, offset + length) of what is sent, in order.
  using Parts = std::function<Status(std::uint64_t offset, std::uint64_t length, const storage::ByteSink&)>;
  // All of it, or the range that is asked for.
  void send(Answer& answer, const Digest& digest, RouteKind route, const Parts& parts);
  void referrersIndex(Answer& answer, const Route& route, const std::vector<LayoutEntry>& entries);
  void manifest(Answer& answer, const Route& route);
  void referrers(Answer& answer, const Route& route);
  void blob(Answer& answer, const Route& route);
  // Of container images (respond_image.cc). True if that was the answer; false where it is about no image.
  bool imageManifest(Answer& answer, const Route& route);
  bool imageBlob(Answer& answer, const Route& route);
  bool imageReferrers(Answer& answer, const Route& route);
  // The first image of the artifact that the route names, by the tag that follows from its digest.
  void imageOf(Answer& answer, const Route& route);
  void imageDocument(Answer& answer, const Route& route, const PublishedImage& image);
  void imageLayer(Answer& answer, const Route& route, const PublishedImage& image, std::size_t layer);
  Status addImages(std::vector<LayoutEntry>& entries, const std::string& instance, const Digest& artifact);
  void logFile(Answer& answer, const Route& route);
  void page(Answer& answer, const Route& route);

  GatewayBackend backend_;
  const std::shared_ptr<const Clock> clock_;
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Counter& bytes_;
};

}  // namespace kiln::gateway
