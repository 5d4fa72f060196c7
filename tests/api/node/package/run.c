/* Verifies an artifact, runs it on zeros and prints how many bytes came back. */
#include <kiln/kiln_node.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  char* message = NULL;
  kiln_node* node = NULL;
  if (argc != 4) return 2;
  if (kiln_node_open(argv[1], NULL, argv[2], argv[3], &node, &message) != 0) {
    printf("refused: %s\n", message);
    kiln_node_free_message(message);
    return 5;
  }
  const kiln_tensor_info* in = kiln_artifact_input(kiln_node_artifact(node), 0);
  const kiln_tensor_info* out = kiln_artifact_output(kiln_node_artifact(node), 0);
  int64_t shape[8] = {0};
  kiln_tensor input = {in->name, in->dtype, in->shape, in->rank, calloc(1, in->bytes), in->bytes};
  kiln_output output = {out->name, out->dtype, malloc(out->bytes), out->bytes, shape, out->rank, 0};
  kiln_session_options options = {.threads = 1, .run_before_ready = 1};
  kiln_session* session = NULL;
  kiln_status* status = kiln_session_open(kiln_node_artifact(node), &options, &session);
  if (status == NULL) status = kiln_session_run(session, &input, 1, &output, 1);
  printf("%s\n", status != NULL ? kiln_status_message(status) : kiln_node_digest(node));
  printf("%zu bytes\n", output.bytes);
  const int failed = status != NULL;
  kiln_status_free(status);
  kiln_session_close(session);
  kiln_node_close(node);
  free((void*)input.data);
  free(output.data);
  return failed;
}
