"""Completion for bash, zsh and fish, made of what a program's --help says: commands, options, the values that an option takes. What is
no word of the program is completed as a file.
"""


def quoted(text):
    """A word for any of the three shells, within single quotes."""
    return "'" + text.replace("'", "'\\''") + "'"


def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def short(about):
    """The first sentence of a description; a list of candidates has one line for each."""
    return about.split("; ")[0].split(". ")[0].rstrip(".")


def with_commands(root):
    return [command for command in root.walk() if command.commands]


def function_of(root):
    return "_" + root.name.replace("-", "_")


# Each script finds out which command the words before the cursor call: words that name one, in their order.


def bash(root):
    name, function = root.name, function_of(root)
    out = [f"# Completion of {name} for bash, made of its --help.\n", f"{function}() {{\n",
           "  local cur prev words cword path word values\n  _init_completion || return\n",
           f"  path={quoted(name)}\n"]
    known = [quoted(" ".join(one.path)) for one in root.walk() if len(one.path) > 1]
    if known:
        out.append('  for word in "${words[@]:1:cword-1}"; do\n    case "$path $word" in\n'
                   f'      {" | ".join(known)}) path="$path $word" ;;\n    esac\n  done\n')
    choices, takers = [], []
    for command in root.walk():
        for option in command.options:
            for spelled in option.names:
                key = quoted(f"{' '.join(command.path)} {spelled}")
                if option.choices:
                    choices.append(f"    {key}) values={quoted(' '.join(option.choices))} ;;\n")
                elif option.value:
                    takers.append(key)
    out.append('  case "$path $prev" in\n')
    out += choices
    if takers:
        out.append(f"    {' | '.join(takers)}) _filedir; return ;;\n")
    out.append("  esac\n")
    out.append('  if [ -z "$values" ]; then\n    case "$path $cur" in\n')
    for command in root.walk():
        options = " ".join(spelled for option in command.options for spelled in option.names)
        out.append(f"      {quoted(' '.join(command.path) + ' -')}*) values={quoted(options)} ;;\n")
    for command in with_commands(root):
        out.append(f"      {quoted(' '.join(command.path) + ' ')}*) values={quoted(' '.join(one.name for one in command.commands))} ;;\n")
    out.append("    esac\n  fi\n")
    out.append('  if [ -n "$values" ]; then\n    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$cur")\n'
               f"  else\n    _filedir\n  fi\n}}\ncomplete -F {function} {name}\n")
    return "".join(out)


def zsh_text(text):
    for special in "\\[]:":
        text = text.replace(special, "\\" + special)
    return text


def zsh_option(option):
    about = f"[{zsh_text(short(option.about))}]"
    action = f":value:({' '.join(option.choices)})" if option.choices else ":value:_files" if option.value else ""
    star = "*" if option.is_repeated else ""
    return [quoted(f"{star}{spelled}{about}{action}") for spelled in option.names]


def zsh(root):
    out = [f"#compdef {root.name}\n# Completion of {root.name} for zsh, made of its --help.\n"]
    for command in root.walk():
        function = "_" + "_".join(command.path).replace("-", "_")
        out.append(f"{function}() {{\n")
        words = [word for option in command.options for word in zsh_option(option)]
        if not command.commands:
            rest = [quoted("*:file:_files")] if command.positionals else []
            out.append("  _arguments \\\n    " + " \\\n    ".join(words + rest) + "\n}\n")
            continue
        out.append("  local state line\n  local -a commands\n  _arguments -C \\\n    " + " \\\n    ".join(words) +
                   " \\\n    '1:command:->command' '*::argument:->arguments'\n")
        out.append("  case $state in\n    command)\n      commands=(\n")
        out += [f"        {quoted(zsh_text(one.name) + ':' + zsh_text(short(one.about)))}\n" for one in command.commands]
        out.append("      )\n      _describe command commands ;;\n    arguments)\n      case $line[1] in\n")
        for one in command.commands:
            out.append(f"        {one.name}) {'_' + '_'.join(one.path).replace('-', '_')} ;;\n")
        out.append("      esac ;;\n  esac\n}\n")
    out.append(f'{function_of(root)} "$@"\n')
    return "".join(out)


def fish(root):
    name, at = root.name, "__" + root.name.replace("-", "_") + "_at"
    out = [f"# Completion of {name} for fish, made of its --help.\n"]
    known = " ".join(fish_quoted(" ".join(one.path)) for one in root.walk() if len(one.path) > 1)
    out.append(f"function {at}\n    set -l path {name}\n    for word in (commandline -opc)[2..-1]\n"
               f'        if contains -- "$path $word" {known}\n            set path "$path $word"\n        end\n    end\n'
               '    test "$path" = "$argv"\nend\n')
    for command in root.walk():
        when = f"-n {fish_quoted(at + ' ' + ' '.join(command.path))}"
        if command.commands:
            out.append(f"complete -c {name} {when} -f\n")
        for one in command.commands:
            out.append(f"complete -c {name} {when} -a {one.name} -d {fish_quoted(short(one.about))}\n")
        for option in command.options:
            names = " ".join(f"-l {one[2:]}" if one.startswith("--") else f"-s {one[1:]}" for one in option.names)
            takes = f" -x -a {fish_quoted(' '.join(option.choices))}" if option.choices else " -r -F" if option.value else ""
            out.append(f"complete -c {name} {when} {names}{takes} -d {fish_quoted(short(option.about))}\n")
    return "".join(out)


# Shell -> the folder below /usr/share that it looks into, and the file's name there.
PLACES = {
    "bash": (bash, "bash-completion/completions", "{}"),
    "zsh": (zsh, "zsh/vendor-completions", "_{}"),
    "fish": (fish, "fish/vendor_completions.d", "{}.fish"),
}


def write(root, folder):
    """The three files of a program, below `folder`, which becomes /usr/share."""
    for make, place, name in PLACES.values():
        path = folder / place / name.format(root.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(make(root))
