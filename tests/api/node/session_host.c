/* A program as users write it: loads an artifact through the node library, runs it, and looks at the recalls
 * again whenever a line comes in.
 *
 * usage: session_host DIR ROOT POLICY RECALLS
 * Prints "ready", then for each line of standard input "CODE MESSAGE" of kiln_node_recheck ("0" if the artifact
 * is still accepted) and "runs" if the session does. */
#include <stdio.h>

#include "api/node/kiln_node.h"

static int runs(kiln_session* session) {
  kiln_status* failed = kiln_session_warmup(session);
  if (failed) fprintf(stderr, "%s\n", kiln_status_message(failed));
  kiln_status_free(failed);
  return failed == NULL;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  kiln_node* node = NULL;
  kiln_session* session = NULL;
  char* message = NULL;
  if (kiln_node_open(argv[1], NULL, argv[2], argv[3], &node, &message) != 0) {
    fprintf(stderr, "%s\n", message);
    kiln_node_free_message(message);
    return 1;
  }
  kiln_status* failed = kiln_session_open(kiln_node_artifact(node), NULL, &session);
  if (failed) {
    fprintf(stderr, "%s\n", kiln_status_message(failed));
    kiln_status_free(failed);
    kiln_node_close(node);
    return 1;
  }
  int good = runs(session);
  if (good) printf("ready\n");
  fflush(stdout);
  while (good && getchar() != EOF) {
    message = NULL;
    const int code = kiln_node_recheck(node, argv[2], argv[3], argv[4], &message);
    good = runs(session);
    printf("%d %s%s\n", code, message ? message : "", good ? " runs" : "");
    fflush(stdout);
    kiln_node_free_message(message);
  }
  kiln_session_close(session);
  kiln_node_close(node);
  return good ? 0 : 1;
}
