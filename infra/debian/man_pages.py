"""Manual pages in man(7), made of what the programs' --help says. Programs of people are in section 1, a page for each command
(kiln-build(1)); services and what other programs start are in section 8, so that kiln-log(8) and kiln-log(1), a command of kiln, both stand.
"""
import datetime
import re
import textwrap

PARAGRAPH = ".PP\n"
WIDTH = 79  # of a line of the source


def escaped(text):
    """One line of text that troff takes as it stands."""
    for plain, written in (("\\", "\\e"), ("-", "\\-"), ("'", "\\(aq"), ("`", "\\(ga"), ("^", "\\(ha"), ("~", "\\(ti")):
        text = text.replace(plain, written)
    return "\\&" + text if text.startswith(".") else text


def filled(text):
    """Text whose lines the reader's terminal breaks."""
    lines = textwrap.wrap(text, WIDTH - 12, break_long_words=False, break_on_hyphens=False)
    return "\n".join(escaped(line) for line in lines)


def kept(text):
    """Lines that stay as they are; one too long for the source goes on in the next one there."""
    out = []
    for line in text.splitlines():
        indent = line[:len(line) - len(line.lstrip())]
        parts = textwrap.wrap(line.strip(), WIDTH - 16, break_long_words=False, break_on_hyphens=False) or [""]
        out.append(" \\\n".join(escaped(part) for part in [indent + parts[0], *parts[1:]]))
    return "\n".join(out)


def argument(text):
    """A word of a macro's arguments."""
    return '"' + escaped(text).replace('"', "\\(dq") + '"'


def page_name(command):
    return "-".join(command.path)


def headline(about):
    """The first clause of a description: what `apropos` lists."""
    return re.split(r"[.;] ", about.removeprefix("Kiln: ").rstrip("."))[0]


def listed(entries):
    out = []
    for one in entries:
        names = ", ".join(f"\\fB{escaped(name)}\\fR" for name in one.names)
        value = f" \\fI{escaped(one.value)}\\fR" if one.value else ""
        out.append(f".TP\n{names}{value}\n{filled(one.about) or '(no description)'}\n")
    return "".join(out)


def notes(text):
    """What stands after the lists: lines as they are printed."""
    out = []
    for paragraph in text.split("\n\n"):
        if paragraph.strip():
            out.append(PARAGRAPH if out else "")
            out.append(f".nf\n{kept(paragraph.rstrip())}\n.fi\n")
    return "".join(out)


def page(command, section, version, epoch):
    """The text of one page."""
    date = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%d")
    name = page_name(command)
    out = [f".TH {argument(name.upper())} {section} {date} {argument('Kiln ' + version)}\n",
           f".SH NAME\n{filled(f'{name} - {headline(command.about)}')}\n",
           f".SH SYNOPSIS\n.B {escaped(command.usage)}\n",
           f".SH DESCRIPTION\n{filled(command.about.rstrip('.') + '.')}\n"]
    if command.positionals:
        out.append(".SH ARGUMENTS\n" + listed(command.positionals))
    out.append(".SH OPTIONS\n" + listed(command.options))
    if command.commands:
        out.append(".SH COMMANDS\n")
        for one in command.commands:
            out.append(f".TP\n\\fB{escaped(one.name)}\\fR\n{filled(one.about)}\n")
    if command.notes:
        out.append(".SH NOTES\n" + notes(command.notes))
    others = [f"{page_name(one)} ({section})" for one in command.commands]
    if len(command.path) > 1:
        others.insert(0, f"{'-'.join(command.path[:-1])} ({section})")
    if others:
        out.append(".SH SEE ALSO\n" + ",\n".join(f".BR {escaped(one)}" for one in others).replace(",\n", " ,\n") + "\n")
    return "".join(out)


def write(command, section, folder, version, epoch):
    """The pages of a program and of all its commands."""
    for one in command.walk():
        path = folder / f"man{section}" / f"{page_name(one)}.{section}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(one, section, version, epoch))
