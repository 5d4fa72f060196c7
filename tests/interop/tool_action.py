"""An action for clients of the Remote Execution API: a program that it brings along makes o.txt of hello.txt, in capitals."""
import subprocess

INPUTS = "tool,hello.txt"
COMMAND = ("./tool", "hello.txt", "o.txt")
# Static, so that the action brings all that it runs.
TOOL = """#include <ctype.h>
#include <stdio.h>
int main(int count, char** words) {
  FILE *from = count > 2 ? fopen(words[1], "r") : 0, *to = from ? fopen(words[2], "w") : 0;
  if (!to) return 3;
  for (int c; (c = getc(from)) != EOF;) putc(toupper(c), to);
  puts("done");
  return fclose(to);
}
"""


def make(home):
    """The input root, below a folder as remotetool's -action_root takes it."""
    inputs = home / "act/input"
    inputs.mkdir(parents=True)
    (inputs / "hello.txt").write_text("hello\n")
    source = home / "tool.c"
    source.write_text(TOOL)
    subprocess.run(["cc", "-static", "-O1", source, "-o", inputs / "tool"], check=True)
    (inputs.parent / "ac.textproto").write_text("do_not_cache: true\n")
    words = "".join(f'arguments: "{word}"\n' for word in COMMAND)
    (inputs.parent / "cmd.textproto").write_text(words + 'output_files: "o.txt"\n')
    return inputs
