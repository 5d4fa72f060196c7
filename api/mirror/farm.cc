#include "api/mirror/farm.h"

#include "api/client/artifact_ref.h"
#include "api/client/audit_client.h"
#include "storage/tree/digest_proto.h"

namespace kiln::mirror {
namespace {

constexpr int kPageSize = 100;
constexpr char kStatements[] = "statements";  // the table of what is said of artifacts

class ClientFarm final : public Farm {
 public:
  ClientFarm(client::Client& client, std::unique_ptr<signing::LogSource> log)
      : client_(client), audit_(client), log_(std::move(log)) {}

  Result<ArtifactPage> artifacts(const std::string& pageToken) override {
    v1::ListIndexRequest request;
    request.set_page_size(kPageSize);
    request.set_page_token(pageToken);
    KILN_ASSIGN(const auto answer, audit_.indexedArtifacts(request));
    ArtifactPage out{{}, answer.next_page_token()};
    for (const v1::IndexedArtifact& artifact : answer.artifacts()) {
      KILN_ASSIGN(const Digest digest, read(artifact.manifest()));
      out.artifacts.push_back(digest);
    }
    return out;
  }

  Result<LoggedPage> logged(std::uint64_t from) override {
    v1::ListLoggedRequest request;
    request.set_from(from);
    request.set_page_size(kPageSize);
    KILN_ASSIGN(const auto answer, audit_.logged(request));
    LoggedPage out{{}, from, answer.last() || answer.entries_size() == 0, !answer.origin().empty()};
    for (const v1::LoggedEntry& entry : answer.entries()) {
      if (entry.place() < out.next)
        return fail(client_.unreadable({Code::kDataLoss, "what it has logged comes out of order", {}}));
      out.next = entry.place() + 1;
      if (entry.foreign()) continue;
      if (entry.table().empty()) {
        out.statements.push_back({{}, entry.statement()});
      } else if (entry.table() == kStatements) {
        KILN_ASSIGN(const Digest bundle, read(entry.bundle()));
        out.statements.push_back({bundle, {}});
      }
    }
    return out;
  }

  Result<node::ArtifactRef> find(const Digest& artifact) override {
    KILN_ASSIGN(const auto entry, client::indexEntry(client_, artifact.text()));
    return client::partsOf(client_, entry);
  }
  Result<std::string> recalls() override { return client_.recalls(); }
  storage::BlobStore& blobs() override { return client_.blobs(); }
  signing::LogSource* log() override { return log_.get(); }

 private:
  Result<Digest> read(const reapi::Digest& digest) const {
    auto out = fromProto(digest);
    return out ? out : fail(client_.unreadable(out.error()));
  }

  client::Client& client_;
  client::AuditClient audit_;
  const std::unique_ptr<signing::LogSource> log_;
};

}  // namespace

std::unique_ptr<Farm> farmOf(client::Client& client, std::unique_ptr<signing::LogSource> log) {
  return std::make_unique<ClientFarm>(client, std::move(log));
}

}  // namespace kiln::mirror
