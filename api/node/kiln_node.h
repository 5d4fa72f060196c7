/* The node library in C: verify an artifact directory under a named trust root, load it, run it with
 * kiln_runtime.h.
 *
 *   char* message; kiln_node* node;
 *   if (kiln_node_open("dir", NULL, "root.json", "policy.json", &node, &message) != 0) { puts(message); ... }
 *   kiln_session_open(kiln_node_artifact(node), NULL, &session);
 *
 * Functions return 0, or a canonical error code (gRPC's numbers: 3 invalid argument, 5 not found, 7
 * permission denied: trust or policy, 15 data loss: bytes or a signature are wrong), and then set *message to
 * a text that kiln_node_free_message frees; `message` may be NULL. An argument that may be NULL is left out
 * so and not otherwise: "" names nothing and is refused (3), as is NULL where something is required. */
#ifndef KILN_API_NODE_KILN_NODE_H
#define KILN_API_NODE_KILN_NODE_H

#include "compiler_core/runtime/kiln_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kiln_node kiln_node;

/* `digest`: "sha256:<hex>" that the artifact must have, and be it all zeros, or NULL for whatever is there.
 * `trust_root` is required and never discovered; `policy` may be NULL: then any builder of a root that is not
 * marked development will do. */
int kiln_node_open(const char* directory, const char* digest, const char* trust_root, const char* policy,
                   kiln_node** node, char** message);
/* The same with the newest recalls.json that is known, or NULL; what it recalls is not opened. */
int kiln_node_open_with_recalls(const char* directory, const char* digest, const char* trust_root,
                                const char* policy, const char* recalls, kiln_node** node, char** message);
/* Whether a loaded artifact would still be accepted: 0, or an error whose message says what was recalled. Its
 * sessions run on; what to do is the caller's to decide. Call it whenever a newer recalls.json is there. */
int kiln_node_recheck(kiln_node* node, const char* trust_root, const char* policy, const char* recalls,
                      char** message);
/* For kiln_session_open. Lives until kiln_node_close. */
kiln_artifact* kiln_node_artifact(kiln_node* node);
/* "sha256:<hex>" of what was verified. Lives until kiln_node_close. */
const char* kiln_node_digest(const kiln_node* node);
/* NULL is allowed. */
void kiln_node_close(kiln_node* node);
void kiln_node_free_message(char* message);

#ifdef __cplusplus
}
#endif
#endif
