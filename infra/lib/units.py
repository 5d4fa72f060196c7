#!/usr/bin/env python3
"""A farm's supervisor as a unit of systemd's user manager: it outlives the login, and with `boot` a reboot.

usage: units.py boot|no-boot D
"""
import hashlib
import os
import pathlib
import pwd
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


def user():
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def reason(command, given=""):
    """Runs it with `given` to read: None, or why it failed."""
    try:
        done = subprocess.run(command, input=given, text=True, capture_output=True)
    except OSError as error:
        return f"{command[0]}: {error.strerror}"
    said = (done.stderr or done.stdout).strip().replace("\n", "; ")
    return None if done.returncode == 0 else said or f"{command[0]} ended with {done.returncode}"


def systemctl(*arguments):
    return reason(["systemctl", "--user", *arguments])


def available():
    """Whether there is a user manager to ask."""
    return systemctl("show-environment") is None


def write(farm):
    """Why the manager does not know the unit; None if it does."""
    path = unit_file(farm)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(unit_text(farm))
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return systemctl("daemon-reload")


def forget(farm):
    if unit_file(farm).exists():
        unit_file(farm).unlink()
        systemctl("daemon-reload")


def start(farm):
    why = write(farm) or systemctl("start", name_of(farm))
    if why:
        sys.exit(f"up: systemd's user manager does not start the farm: {why}; `systemctl --user status {name_of(farm)}` says more")


def owns(farm):
    return available() and systemctl("is-active", "--quiet", name_of(farm)) is None


def stop(farm):
    why = systemctl("stop", name_of(farm))
    if why:
        sys.exit(f"up: systemd's user manager does not stop the farm: {why}; `systemctl --user status {name_of(farm)}` says more")
    if systemctl("is-enabled", "--quiet", name_of(farm)) is not None:
        forget(farm)


def again(farm, boot="--boot"):
    return f'infra/up --dir "{farm}" {boot} tries again'


def boot(farm):
    if available():
        enable(farm)
        linger(farm)
    elif shutil.which("crontab"):
        cron(farm, keep=True)
    else:
        sys.exit("up: --boot needs systemd's user manager or cron, and neither is here; start infra/up from what starts this "
                 "machine's other services")


def enable(farm):
    had = unit_file(farm).exists()
    why = write(farm) or systemctl("enable", name_of(farm))
    if why and not had:
        forget(farm)
    if why:
        sys.exit(f"up: the farm runs, but will not after the next start of this machine: systemd's user manager does not enable its "
                 f"unit: {why}; {again(farm)}")


def linger(farm):
    """What runs without a login is logind's to allow; an administrator may have done so before."""
    why = reason(["loginctl", "enable-linger"])
    if why and not (shutil.which("loginctl") and lingers()):
        sys.exit(f"up: the farm runs, and its unit {name_of(farm)} is enabled, but starts only when {user()} logs in and ends when "
                 f"{user()} logs out: logind does not let it run without a login: {why}; run: sudo loginctl enable-linger {user()}")


def lingers():
    shown = subprocess.run(["loginctl", "show-user", user(), "--property=Linger"], text=True, capture_output=True, stdin=subprocess.DEVNULL)
    return shown.stdout.strip() == "Linger=yes"


def no_boot(farm):
    if available() and unit_file(farm).exists():
        why = systemctl("disable", name_of(farm))
        if why:
            sys.exit(f"up: the farm still runs after each start of this machine: systemd's user manager does not disable its unit: {why}; "
                     f"{again(farm, '--no-boot')}")
    elif shutil.which("crontab"):
        cron(farm, keep=False)


def cron(farm, keep):
    """A line of this user's crontab, marked with the unit's name."""
    mark = f"# {name_of(farm)}"
    listed = subprocess.run(["crontab", "-l"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    # What cannot be read is not replaced; who has none is told so by every cron.
    why = listed.stderr.strip() if listed.returncode != 0 and "no crontab" not in listed.stderr else None
    lines = [line for line in listed.stdout.splitlines() if not line.endswith(mark)]
    if keep:
        words = [sys.executable, str(pathlib.Path(__file__).absolute().with_name("supervisor.py")), "start", str(farm)]
        command = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words).replace("%", "\\%")
        lines.append(f"@reboot {command} {mark}")
    if why is None and lines != listed.stdout.splitlines():
        why = reason(["crontab", "-"], "".join(line + "\n" for line in lines))
    if why is not None:
        sys.exit(f"up: the farm {'will not run' if keep else 'may still run'} after the next start of this machine: cron does not "
                 f"change {user()}'s crontab: {why}; start infra/up from what starts this machine's other services, or ask its "
                 f"administrator for a crontab")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("boot", "no-boot"):
        sys.exit(__doc__)
    try:
        {"boot": boot, "no-boot": no_boot}[sys.argv[1]](pathlib.Path(sys.argv[2]).absolute())
    except OSError as refused:
        sys.exit(f"up: {refused}")
