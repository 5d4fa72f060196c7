// What is asked by a name or by a digest's first digits looks at few rows, however many there are.
#include "storage/index/audit/known_names.h"

#include <functional>

#include "manifest/base/short_digest.h"
#include "storage/index/artifacts/artifact_repository.h"
#include "storage/index/toolchains/toolchain_repository.h"
#include "tests/storage/index/index_fixture.h"

namespace kiln::index {
namespace {

using namespace testing;
using postgres::Connection;

constexpr std::int64_t kFew = 16;

// Tables as a farm with many jobs has them, but for what leads from one to another.
constexpr char kFill[] = R"sql(
SET session_replication_role = replica;
INSERT INTO jobs (instance, id, idempotency_key, request_hash, state, submitted, toolchain_label, toolchain_hash, toolchain_size,
  options, delivery, model_name, submitter)
SELECT 'default', 'j' || i, 'k' || i, sha256('r'), 4, now(), 'l', sha256('t'), 1, '{}', '{}', 'm', 'user ' || i
FROM generate_series(1, 3000) i;
INSERT INTO sources (instance, job_id, ordinal, path, hash, size, git_url, git_commit, origin_url, origin_commit)
SELECT 'default', 'j' || i, 0, 'model.onnx', sha256(('m' || i)::bytea), 1, 'https://example.org/' || i, 'c' || i,
  'file:///' || i, 'o' || i FROM generate_series(1, 3000) i;
INSERT INTO materials (instance, payload_hash, artifact_hash, kind, name, uri, hash, size)
SELECT 'default', sha256(('p' || i)::bytea), sha256(('a' || i)::bytea), 'model', 'input/model.onnx', '', sha256(('d' || i)::bytea), 1
FROM generate_series(1, 3000) i;
INSERT INTO artifacts (instance, hash, size, config_hash, config_size, target, toolchain_label, toolchain_hash, published)
SELECT 'default', sha256(('a' || i)::bytea), 1, sha256('c'), 1, 'cpu:x86-64-v3', 'l', sha256('t'), now()
FROM generate_series(1, 3000) i;
INSERT INTO toolchain_parts (instance, tree_hash, kind, name, version, path, hash, size)
SELECT 'default', sha256('t'), 'component', 'n' || i, '1', 'p', sha256(('b' || i)::bytea), 1 FROM generate_series(1, 3000) i;
INSERT INTO tuning_records (instance, record_hash, record_size, target, payload_hash, bundle_hash, bundle_size, worker, operator,
  job_id, recorded)
SELECT 'default', sha256(('u' || i)::bytea), 1, 'cpu:x86-64-v3', sha256(('v' || i)::bytea), sha256('b'), 1, 'w', 'o', 'j', now()
FROM generate_series(1, 3000) i;
SET session_replication_role = origin;
ANALYZE;)sql";

class KnownNames : public ::testing::Test {
 protected:
  KnownNames() : connection_(std::move(*Connection::open(newIndex()))) {
    const Status filled = connection_.executeScript(kFill);
    EXPECT_TRUE(filled) << filled.error().message;
  }
  // Rows that were looked at since the transaction began, found fit or not.
  static std::int64_t rowsSeen(Connection& c) {
    return c
        .execute(
            "SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::bigint AS rows FROM "
            "pg_stat_xact_user_tables")
        .value()
        .first([](const postgres::Row& row) { return row.get<std::int64_t>("rows"); })
        .value()
        .value();
  }
  void expectFew(const char* what, const std::function<void(Connection&)>& ask) {
    const Status asked = connection_.transact([&](Connection& c) -> Status {
      const std::int64_t before = rowsSeen(c);
      ask(c);
      EXPECT_LE(rowsSeen(c) - before, kFew) << what;
      return {};
    });
    EXPECT_TRUE(asked) << asked.error().message;
  }
  Connection connection_;
};

TEST_F(KnownNames, AreFoundWithoutAWalkThroughATable) {
  for (const char* text : {"m7", "d7", "u7", "a7", "b7", "nothing"}) {
    const Digest digest = digestOf(std::string_view(text));
    const DigestRange range = shortDigestRange(digest.text().substr(0, 7 + 12)).value();
    expectFew(text, [&](Connection& c) {
      const auto found = findInputsIn(c, "default", range).value();
      EXPECT_EQ(found.size(), std::string_view("mdu").find(text[0]) != std::string_view::npos ? 1u : 0u);
    });
    expectFew(text, [&](Connection& c) { EXPECT_TRUE(findPartsIn(c, "default", range)); });
    expectFew(text, [&](Connection& c) { EXPECT_TRUE(findArtifactsIn(c, "default", range)); });
    expectFew(text, [&](Connection& c) {
      EXPECT_EQ(isSubmittedBlob(c, "default", digest).value(), text[0] == 'm');
    });
  }
  for (const char* name : {"https://example.org/7", "c7", "file:///7", "o7"})
    expectFew(name, [&](Connection& c) { EXPECT_TRUE(isSubmittedOrigin(c, "default", name).value()); });
  for (const char* name : {"https://nowhere", ""})
    expectFew(name, [&](Connection& c) { EXPECT_FALSE(isSubmittedOrigin(c, "default", name).value()); });
  expectFew("user 7", [](Connection& c) { EXPECT_TRUE(hasSubmitted(c, "default", "user 7").value()); });
  expectFew("nobody", [](Connection& c) { EXPECT_FALSE(hasSubmitted(c, "default", "nobody").value()); });
  const std::string longName = "user 7" + std::string(4000, 'x');
  ASSERT_TRUE(connection_.execute("UPDATE jobs SET submitter = $1 WHERE id = 'j7'", {longName}))
      << "a name of any length";
  EXPECT_TRUE(hasSubmitted(connection_, "default", longName).value());
  EXPECT_FALSE(hasSubmitted(connection_, "default", longName + "y").value());
}

}  // namespace
}  // namespace kiln::index
