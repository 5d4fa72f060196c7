#include "storage/source/git_reference.h"

#include <gtest/gtest.h>

#include <random>

#include "storage/source/git_url.h"
#include "storage/source/host_policy.h"

namespace kiln::source {
namespace {

const std::string kCommit(40, 'a');

TEST(GitReference, Parses) {
  auto reference =
      parseGitReference("git+https://git.example.org/team/models.git@" + kCommit + "#cv/resnet.onnx");
  ASSERT_TRUE(reference) << reference.error().message;
  EXPECT_EQ(reference->url, "https://git.example.org/team/models.git");
  EXPECT_EQ(reference->commit, kCommit);
  EXPECT_EQ(reference->path, "cv/resnet.onnx");
  auto ssh = parseGitReference("git+ssh://git@git.example.org:2222/models@v1.0/rc#a b.onnx");
  ASSERT_TRUE(ssh) << ssh.error().message;
  EXPECT_EQ(ssh->url, "ssh://git@git.example.org:2222/models");
  EXPECT_EQ(ssh->commit, "v1.0/rc");
  EXPECT_EQ(ssh->path, "a b.onnx");
  EXPECT_EQ(parseGitReference("git+file:///srv/my@repo@" + kCommit + "#m")->url, "file:///srv/my@repo");
  EXPECT_EQ(parseGitReference("git+https://h/r@c#.")->path, ".");
  EXPECT_TRUE(isGitReference("git+x"));
  EXPECT_FALSE(isGitReference("model.onnx"));
}

TEST(GitReference, RefusesBadForms) {
  for (std::string bad :
       {"git+", "git+https://h/r", "git+https://h/r#p", "git+https://h/r@#p", "git+ssh://git@h/r#p",
        "git+https://h/r@c#", "git+https://h/r@c#/etc/passwd", "git+https://h/r@c#../x",
        "git+https://h/r@c#a/./b", "git+https://h/r@c#..", "git+https://h/r@c#./a", "git+https://h/r@c#a//b",
        "git+ftp://h/r@c#p", "git+h/r@c#p", "git+https://h/r@c\n#p", "git+https://user:secret@h/r@c#p",
        "git+https://token@h/r@c#p"})
    EXPECT_EQ(parseGitReference(bad).error().code, Code::kInvalidArgument) << bad;
}

// What is wrong is the URL, not the commit behind it.
TEST(GitReference, RelativeRepositoriesAreToldHowToBeNamed) {
  const auto why = [](const std::string& url) {
    return parseGitReference("git+" + url + "@" + kCommit + "#m.onnx").error().message;
  };
  for (const char* url : {"../models", "models", "./a/b", "/srv/models", "file:models", "host:models.git"})
    EXPECT_NE(why(url).find(std::string("\"") + url + "@"), std::string::npos) << why(url);
  EXPECT_NE(why("models").find("git+file:///absolute/path@COMMIT#path"), std::string::npos);
  for (const char* url : {"file://models", "file://a/models", "file://../models"})
    EXPECT_NE(why(url).find("file:// takes an absolute path"), std::string::npos) << why(url);
  EXPECT_NE(why("https://host").find("no path to a repository"), std::string::npos);
  for (const char* url : {"../models", "file://models", "https://host"})
    EXPECT_EQ(why(url).find("no '@COMMIT'"), std::string::npos);
  EXPECT_NE(parseGitReference("git+https://host/models#m").error().message.find("no '@COMMIT'"),
            std::string::npos);
}

// A path of this machine as the shell gives it; the commit and the path in the commit stay as they are.
TEST(GitReference, UrlsOfThisMachineAreEscapedAndNothingElse) {
  const std::string rest = "@" + kCommit + "#mod\u00e8le ext.onnx";
  const std::string raw = "git+file:///srv/my r\u00fc/d%20e";
  const auto local = parseGitReference(escapeLocalUrl(raw + rest));
  ASSERT_TRUE(local) << local.error().message;
  EXPECT_EQ(local->url, "file:///srv/my%20r%C3%BC/d%20e");
  EXPECT_EQ(parseGitUrl(local->url)->path, "/srv/my r\u00fc/d e");
  EXPECT_EQ(local->path, "mod\u00e8le ext.onnx");
  EXPECT_EQ(escapeLocalUrl("git+file:///r@zweig-\u00fc#m"), "git+file:///r@zweig-\u00fc#m");
  EXPECT_EQ(escapeLocalUrl("git+file:///r\u00fc"), "git+file:///r%C3%BC");
  for (const std::string other : {"git+https://h/r\u00fc@c#m", "net \u00fc.onnx", ""})
    EXPECT_EQ(escapeLocalUrl(other), other);
  EXPECT_NE(parseGitReference("git+https://h/r\u00fc" + rest).error().message.find("%C3%BC"),
            std::string::npos);
}

TEST(GitReference, OnlyFullCommitsAreFull) {
  EXPECT_TRUE(isFullCommit(kCommit));
  for (const std::string& bad :
       {std::string(), kCommit.substr(1), kCommit + "a", std::string(40, 'A'), std::string(40, 'g')})
    EXPECT_FALSE(isFullCommit(bad)) << bad;
}

TEST(GitReference, MutatedTextNeverCrashes) {
  std::mt19937 random(3);
  std::string text = "git+ssh://git@[2001:db8::1]:2222/models@" + kCommit + "#a/b.onnx";
  for (int i = 0; i < 20'000; ++i) {
    std::string mutant = text.substr(0, random() % (text.size() + 1));
    for (unsigned k = 0; k < random() % 4 && !mutant.empty(); ++k)
      mutant[random() % mutant.size()] = static_cast<char>(random());
    (void)parseGitReference(mutant);
  }
}

TEST(GitUrl, Splits) {
  GitUrl url = parseGitUrl("ssh://git@Git.Example.ORG.:2222/a/b").value();
  EXPECT_EQ(url.user, "git");
  EXPECT_EQ(url.host, "git.example.org");
  EXPECT_EQ(url.port, "2222");
  EXPECT_EQ(url.path, "/a/b");
  EXPECT_EQ(parseGitUrl("https://[2001:DB8::1]:8443/r")->host, "2001:db8::1");
  for (std::string bad :
       {"https://", "https:///r", "https://h", "https://h/", "https://h:x/r", "https://h:/r",
        "https://h/r?x=1", "https://h/r#f", "https://h r/x", "https://[::1/r", "file://h/r",
        "https://-oProxyCommand=x/r", "https://h%2f/r", "ssh://u:p@h/r"})
    EXPECT_EQ(parseGitUrl(bad).error().code, Code::kInvalidArgument) << bad;
}

TEST(HostPolicy, Case26InternalAddressesAreNotPublic) {
  for (const char* address : {"8.8.8.8", "1.1.1.1", "2606:4700::1111", "2a00:1450::1"})
    EXPECT_TRUE(isPublicAddress(address)) << address;
  for (const char* address : {"127.0.0.1",
                              "127.8.8.8",
                              "10.1.2.3",
                              "172.16.0.1",
                              "172.31.255.255",
                              "192.168.1.1",
                              "169.254.169.254",
                              "100.64.0.1",
                              "0.0.0.0",
                              "224.0.0.1",
                              "255.255.255.255",
                              "::1",
                              "::",
                              "fe80::1",
                              "fd00::1",
                              "::ffff:10.0.0.1",
                              "64:ff9b::a00:1",
                              "2001:db8::1",
                              "2002:a00:1::",
                              "not an address",
                              "fe80::1%eth0"})
    EXPECT_FALSE(isPublicAddress(address)) << address;
}

TEST(HostPolicy, OnlyNamedHosts) {
  auto code = [](const std::string& url, const std::vector<std::string>& allowed) {
    Status status = checkHost(parseGitUrl(url).value(), allowed);
    return status ? Code{} : status.error().code;
  };
  EXPECT_EQ(code("https://git.example.org/r", {"git.example.org"}), Code{});
  EXPECT_EQ(code("https://git.example.org:8443/r", {"git.example.org"}), Code::kPermissionDenied);
  EXPECT_EQ(code("https://git.example.org:8443/r", {"git.example.org:8443"}), Code{});
  EXPECT_EQ(code("https://evil.example.org/r", {"git.example.org"}), Code::kPermissionDenied);
  EXPECT_EQ(code("https://git.example.org.evil.net/r", {"git.example.org"}), Code::kPermissionDenied);
  EXPECT_EQ(code("https://git.example.org/r", {}), Code::kPermissionDenied);
  EXPECT_EQ(code("https://127.0.0.1/r", {"*"}), Code::kPermissionDenied);
  EXPECT_EQ(code("https://localhost/r", {"*"}), Code::kPermissionDenied);
  EXPECT_EQ(code("https://[::1]/r", {"*"}), Code::kPermissionDenied);
  EXPECT_EQ(code("https://2130706433/r", {"*"}), Code::kPermissionDenied);  // 127.0.0.1 as one number
  EXPECT_EQ(code("https://127.0.0.1/r", {"*", "127.0.0.1"}), Code{});
}

}  // namespace
}  // namespace kiln::source
