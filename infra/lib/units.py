#!/usr/bin/env python3
"""A farm's supervisor as a unit of systemd's user manager: it outlives the login, and with `boot` a reboot.

usage: units.py boot|no-boot D
"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

TEXT = """# Written by infra/up; its --stop takes this away unless --boot was asked for, which --no-boot takes back.
[Unit]
Description=Kiln farm in {shown}

[Service]
Type=exec
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
Restart=always
RestartSec=1
# The supervisor ends its processes one by one, PostgreSQL last.
KillMode=mixed
TimeoutStopSec=180
# Workers limit what their sandboxes take through control groups of their own.
Delegate=yes

[Install]
WantedBy=default.target
"""


def name_of(farm):
    return f"kiln-{hashlib.sha256(os.fsencode(farm)).hexdigest()[:12]}.service"


def quoted(text):
    """One word of a command line in a unit (systemd.syntax(7))."""
    for special, written in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$"), ("\n", "\\n")):
        text = text.replace(special, written)
    return f'"{text}"'


def unit_text(farm, python=sys.executable):
    supervisor = pathlib.Path(__file__).absolute().with_name("supervisor.py")
    shown = str(farm).replace("%", "%%").replace("\n", " ").replace("\\", "\\\\")
    return TEXT.format(shown=shown, command=" ".join(quoted(word) for word in (python, str(supervisor), "run", str(farm))))


def unit_file(farm):
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return pathlib.Path(home) / "systemd/user" / name_of(farm)


def systemctl(*arguments, check=True):
    return subprocess.run(["systemctl", "--user", *arguments], check=check, stdin=subprocess.DEVNULL, capture_output=not check)


def available():
    """Whether there is a user manager to ask."""
    return shutil.which("systemctl") is not None and systemctl("show-environment", check=False).returncode == 0


def write(farm):
    path = unit_file(farm)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(unit_text(farm))
    systemctl("daemon-reload")


def start(farm):
    write(farm)
    systemctl("start", name_of(farm))


def owns(farm):
    return available() and systemctl("is-active", "--quiet", name_of(farm), check=False).returncode == 0


def stop(farm):
    systemctl("stop", name_of(farm))
    if systemctl("is-enabled", "--quiet", name_of(farm), check=False).returncode != 0:
        unit_file(farm).unlink(missing_ok=True)
        systemctl("daemon-reload")


def boot(farm):
    if available():
        write(farm)
        systemctl("enable", name_of(farm))
        subprocess.run(["loginctl", "enable-linger"], check=True)
    elif shutil.which("crontab"):
        cron(farm, keep=True)
    else:
        sys.exit("up: --boot needs systemd's user manager or cron, and neither is here; start infra/up from what starts this "
                 "machine's other services")


def no_boot(farm):
    if available() and unit_file(farm).exists():
        systemctl("disable", name_of(farm))
    elif shutil.which("crontab"):
        cron(farm, keep=False)


def cron(farm, keep):
    """A line of this user's crontab, marked with the unit's name."""
    mark = f"# {name_of(farm)}"
    listed = subprocess.run(["crontab", "-l"], capture_output=True, text=True).stdout.splitlines()
    lines = [line for line in listed if not line.endswith(mark)]
    if keep:
        words = [sys.executable, str(pathlib.Path(__file__).absolute().with_name("supervisor.py")), "start", str(farm)]
        command = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words).replace("%", "\\%")
        lines.append(f"@reboot {command} {mark}")
    subprocess.run(["crontab", "-"], input="".join(line + "\n" for line in lines), text=True, check=True)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("boot", "no-boot"):
        sys.exit(__doc__)
    {"boot": boot, "no-boot": no_boot}[sys.argv[1]](pathlib.Path(sys.argv[2]).absolute())
