#include "storage/source/git_fetch.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "manifest/base/digest.h"
#include "storage/source/git_answer.h"
#include "storage/source/git_state.h"
#include "storage/source/git_url.h"
#include "storage/source/host_policy.h"

namespace kiln::source {

// One fetch: the callbacks' payload. Errors of our own end a transfer with GIT_EUSER and wait in `error_`.
class GitFetcher {
 public:
  static constexpr int kMaxOffers = 6;

  GitFetcher(const GitReference& reference, const GitUrl& url, const GitFetchOptions& options)
      : reference_(reference),
        url_(url),
        options_(options),
        deadline_(std::chrono::steady_clock::now() + options.timeLimit) {}

  Result<CommitTree> run() {
    auto state = std::make_unique<CommitTree::State>();
    configure();
    KILN_TRY(makeRepository(*state));
    git_remote* raw = nullptr;
    if (int code = git_remote_create_anonymous(&raw, state->repository.get(), reference_.url.c_str());
        code < 0)
      return fail(failure(code));
    RemoteHandle remote(raw);
    if (!isFullCommit(reference_.commit)) return fail(explainRemoteName(remote.get()));
    KILN_TRY(fetch(remote.get()));
    remote.reset();
    CommitTree tree(std::move(state));
    if (Status found = tree.select(reference_.commit); !found) return fail(found.error().in(reference_.url));
    return tree;
  }

 private:
  void configure() {
    if (url_.scheme == "https" && ::access(options_.caFile.c_str(), R_OK) == 0)
      git_libgit2_opts(GIT_OPT_SET_SSL_CERT_LOCATIONS, options_.caFile.c_str(), nullptr);
    git_remote_init_callbacks(&callbacks_, GIT_REMOTE_CALLBACKS_VERSION);
    callbacks_.payload = this;
    callbacks_.credentials = [](git_credential** out, const char*, const char* user, unsigned types,
                                void* self) {
      return static_cast<GitFetcher*>(self)->credential(out, user, types);
    };
    callbacks_.certificate_check = [](git_cert* certificate, int valid, const char*, void* self) {
      return static_cast<GitFetcher*>(self)->checkCertificate(certificate, valid != 0);
    };
    callbacks_.transfer_progress = [](const git_indexer_progress* progress, void* self) {
      return static_cast<GitFetcher*>(self)->checkLimits(progress->received_bytes);
    };
    callbacks_.sideband_progress = [](const char*, int, void* self) {
      return static_cast<GitFetcher*>(self)->checkLimits(0);
    };
    git_proxy_options_init(&proxy_, GIT_PROXY_OPTIONS_VERSION);
    proxy_.type = options_.proxy.empty() ? GIT_PROXY_NONE : GIT_PROXY_SPECIFIED;
    if (!options_.proxy.empty()) proxy_.url = options_.proxy.c_str();
  }

  Status makeRepository(CommitTree::State& state) {
    std::error_code error;
    std::filesystem::path parent = options_.temporaryDirectory;
    if (parent.empty()) parent = std::filesystem::temp_directory_path(error);
    std::string directory = (parent / "kiln-git-XXXXXX").string();
    if (!::mkdtemp(directory.data())) return fail(errnoError(errno, directory));
    state.temporaryDirectory = directory;
    git_repository* repository = nullptr;
    if (int code = git_repository_init(&repository, directory.c_str(), 1); code < 0)
      return fail(gitError(code, "temporary repository"));
    state.repository.reset(repository);
    return {};
  }

  int stop(Error error) {
    error_ = std::move(error);
    git_error_set_str(GIT_ERROR_CALLBACK, error_->message.c_str());
    return GIT_EUSER;
  }

  int credential(git_credential** out, const char* user, unsigned types) {
    const GitCredentials& known = options_.credentials;
    if (types & GIT_CREDENTIAL_USERNAME) return git_credential_username_new(out, user ? user : "git");
    // Each new connection asks again; a question more than that means that the answer is refused.
    if (offers_ < kMaxOffers && (types & GIT_CREDENTIAL_USERPASS_PLAINTEXT) && !known.token.empty()) {
      ++offers_;
      return git_credential_userpass_plaintext_new(out, known.user.c_str(), known.token.c_str());
    }
    if (offers_ < kMaxOffers && (types & GIT_CREDENTIAL_SSH_KEY) && !known.sshKey.empty()) {
      ++offers_;
      const char* phrase = known.sshPassphrase.empty() ? nullptr : known.sshPassphrase.c_str();
      return git_credential_ssh_key_new(out, user ? user : "git", nullptr, known.sshKey.c_str(), phrase);
    }
    return stop({Code::kUnauthenticated, fmt::format("{} asks for credentials{}", url_.host,
                                                     offers_ > 0 ? " and refused those of the fetcher"
                                                                 : "; the fetcher has none for it")});
  }

  int checkCertificate(git_cert* certificate, bool valid) {
    if (certificate->cert_type != GIT_CERT_HOSTKEY_LIBSSH2) {
      if (valid) return 0;
      return stop({Code::kPermissionDenied,
                   url_.host + " has a TLS certificate that is not trusted here; nothing was fetched"});
    }
    const auto* key = reinterpret_cast<const git_cert_hostkey*>(certificate);
    const auto& accepted = options_.credentials.sshHostKeys;
    std::string print = "of an unknown kind";
    if (key->type & GIT_CERT_SSH_SHA256) {
      print = "SHA256:" + toBase64({key->hash_sha256, sizeof key->hash_sha256});
      while (print.ends_with('=')) print.pop_back();
    }
    if (!accepted.empty()) valid = std::find(accepted.begin(), accepted.end(), print) != accepted.end();
    if (valid) return 0;
    return stop({Code::kPermissionDenied,
                 fmt::format("{} has the ssh host key {}, which is not among those "
                             "accepted here; nothing was fetched. If the "
                             "key is right, add it to the fetcher's credentials as ssh-host-key",
                             url_.host, print)});
  }

  int checkLimits(std::uint64_t received) {
    if (received > options_.maxTransferBytes)
      return stop({Code::kResourceExhausted, fmt::format("the repository is too large: more than {} bytes",
                                                         options_.maxTransferBytes)});
    if (std::chrono::steady_clock::now() > deadline_)
      return stop(
          {Code::kDeadlineExceeded, fmt::format("not fetched within {} s", options_.timeLimit.count())});
    return 0;
  }

  Error failure(int code) {
    if (error_) return error_->in(reference_.url);
    Error error = gitError(code, reference_.url);
    const git_error* last = git_error_last();
    // A refused connection, a name that does not resolve.
    if (last && last->klass == GIT_ERROR_OS) error.code = Code::kUnavailable;
    if (last && last->message && error.code == Code::kUnavailable)
      error.code = answerCode(last->message).value_or(error.code);
    if (error.message.find("redirect") != std::string::npos)
      error.message += " (redirects to another host are not followed: use the address it redirects to)";
    return error;
  }

  // By id, which most servers allow; else everything that branches and tags reach.
  Status fetch(git_remote* remote) {
    git_fetch_options fetch;
    git_fetch_options_init(&fetch, GIT_FETCH_OPTIONS_VERSION);
    fetch.callbacks = callbacks_;
    fetch.proxy_opts = proxy_;
    fetch.download_tags = GIT_REMOTE_DOWNLOAD_TAGS_NONE;
    fetch.update_fetchhead = 0;
    fetch.follow_redirects = GIT_REMOTE_REDIRECT_NONE;
    std::string one = reference_.commit + ":refs/kiln/commit";
    int code = fetchRefspecs(remote, fetch, {one.data()});
    if (code == 0) return {};
    Error first = failure(code);
    if (error_ || first.code == Code::kUnavailable || first.code == Code::kUnauthenticated ||
        first.code == Code::kPermissionDenied || first.code == Code::kResourceExhausted)
      return fail(first);
    char heads[] = "+refs/heads/*:refs/kiln/heads/*", tags[] = "+refs/tags/*:refs/kiln/tags/*";
    if (int again = fetchRefspecs(remote, fetch, {heads, tags}); again < 0) return fail(failure(again));
    return {};
  }

  static int fetchRefspecs(git_remote* remote, const git_fetch_options& options,
                           std::vector<char*> refspecs) {
    git_strarray list{refspecs.data(), refspecs.size()};
    return git_remote_fetch(remote, &list, &options, nullptr);
  }

  // What the server's branches and tags say about a name.
  Error explainRemoteName(git_remote* remote) {
    git_remote_connect_options connect;
    git_remote_connect_options_init(&connect, GIT_REMOTE_CONNECT_OPTIONS_VERSION);
    connect.callbacks = callbacks_;
    connect.proxy_opts = proxy_;
    connect.follow_redirects = GIT_REMOTE_REDIRECT_NONE;
    if (int code = git_remote_connect_ext(remote, GIT_DIRECTION_FETCH, &connect); code < 0)
      return failure(code);
    const git_remote_head** heads = nullptr;
    std::size_t count = 0;
    if (int code = git_remote_ls(&heads, &count, remote); code < 0) return failure(code);
    const std::string& name = reference_.commit;
    std::string kind = "a name", resolved;
    for (std::size_t i = 0; i < count; ++i) {
      std::string_view head = heads[i]->name;
      char id[GIT_OID_HEXSZ + 1];
      git_oid_tostr(id, sizeof id, &heads[i]->oid);
      bool branch = head == "refs/heads/" + name || head == name;
      // An annotated tag is listed twice: the peeled line, which comes second, names the commit.
      bool tag = head == "refs/tags/" + name || head == "refs/tags/" + name + "^{}";
      if (!branch && !tag) continue;
      kind = tag ? "a tag" : "a branch";
      resolved = id;
    }
    return notAFullCommit(name, kind, resolved);
  }

  const GitReference& reference_;
  const GitUrl& url_;
  const GitFetchOptions& options_;
  const std::chrono::steady_clock::time_point deadline_;
  git_remote_callbacks callbacks_{};
  git_proxy_options proxy_{};
  int offers_ = 0;
  std::optional<Error> error_;
};

Result<CommitTree> fetchCommit(const GitReference& reference, const GitFetchOptions& options) {
  KILN_ASSIGN(GitUrl url, parseGitUrl(reference.url));
  if (url.scheme == "file")
    return fail(Code::kInvalidArgument,
                "git+file:// is read by the command line on your machine, not by the farm");
  if (url.scheme == "http" && !options.allowHttp)
    return fail(Code::kPermissionDenied, "git sources are fetched over https or ssh, not over plain http");
  KILN_TRY(checkHost(url, options.allowedHosts));
  return GitFetcher(reference, url, options).run();
}

void ignoreGitConfiguration() {
  GitLibrary library;
  for (int level :
       {GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_XDG, GIT_CONFIG_LEVEL_GLOBAL, GIT_CONFIG_LEVEL_PROGRAMDATA})
    git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, level, "");
}

}  // namespace kiln::source
