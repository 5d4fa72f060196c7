// Prints what an artifact takes, as C++ sees the C interface.
#include <kiln/kiln_node.h>

#include <iostream>
#include <memory>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  char* message = nullptr;
  kiln_node* opened = nullptr;
  const int code = kiln_node_open(argv[1], nullptr, argv[2], argv[3], &opened, &message);
  const std::unique_ptr<kiln_node, decltype(&kiln_node_close)> node(opened, kiln_node_close);
  const std::unique_ptr<char, decltype(&kiln_node_free_message)> text(message, kiln_node_free_message);
  if (code != 0) {
    std::cout << "refused: " << text.get() << "\n";
    return 5;
  }
  const kiln_artifact* artifact = kiln_node_artifact(node.get());
  for (size_t i = 0; i < kiln_artifact_input_count(artifact); ++i)
    std::cout << kiln_artifact_input(artifact, i)->name << " " << kiln_artifact_input(artifact, i)->dtype
              << "\n";
}
