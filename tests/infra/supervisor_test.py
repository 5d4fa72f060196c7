#!/usr/bin/env python3
"""infra/lib/supervisor.py and units.py, with programs and a database that are none."""
import errno
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from farm import ROOT, wait_for

sys.path.insert(0, str(ROOT / "infra/lib"))
sys.dont_write_bytecode = True
import supervisor  # noqa: E402
import units  # noqa: E402

POSTGRES = """#!/bin/sh
echo "$1" >>"$2/calls"
case $1 in
  start) mkdir -p "$2/data"; sleep 1000 >/dev/null 2>&1 & echo $! >"$2/data/postmaster.pid"; echo "a line"; echo "host='$2'" ;;
  stop) touch "$2/stopped"; kill "$(head -n 1 "$2/data/postmaster.pid")" ;;
esac
"""
SCRIPT = ROOT / "infra/lib/supervisor.py"


class Case(unittest.TestCase):
    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="kiln supervisor "))
        self.dir = self.home / "a farm"
        for name in ("run", "logs", "pg"):
            (self.dir / name).mkdir(parents=True)
        (self.home / "postgres").write_text(POSTGRES)
        (self.home / "postgres").chmod(0o755)
        self.addCleanup(shutil.rmtree, self.home)
        self.now = time.time()

    def list(self, **services):
        """Shell commands by name."""
        listed = {"directories": [str(self.home / "sockets")], "postgres": [str(self.home / "postgres"), str(self.dir / "pg")],
                  "services": [{"name": name, "command": ["/bin/sh", "-c", command], "environment": {"KILN_X": "y"}}
                               for name, command in services.items()]}
        (self.dir / "run/services.json").write_text(json.dumps(listed))

    def state(self):
        return {one["name"]: one for one in json.loads((self.dir / "run/state.json").read_text())["processes"]}

    def log(self, name):
        return (self.dir / "logs" / f"{name}.log").read_text()


class LoopTest(Case):
    """Its turns one by one, under a clock that only we move."""

    def setUp(self):
        super().setUp()
        self.addCleanup(setattr, supervisor, "clock", supervisor.clock)
        self.addCleanup(setattr, supervisor, "STOP_TIMEOUT", supervisor.STOP_TIMEOUT)
        supervisor.clock = lambda: self.now
        supervisor.STOP_TIMEOUT = 0.5

    def begin(self, **services):
        self.list(**services)
        self.loop = supervisor.Supervisor(self.dir)
        self.loop.read()
        self.addCleanup(self.end)
        self.loop.keep()

    def end(self):
        for service in self.loop.services.values():
            service.stop()
        self.loop.database.stop()

    def turn(self, seconds=0.0):
        self.now += seconds
        self.loop.keep()
        self.loop.write()

    def gone(self, name):
        """Waits for the end of a process, as a turn would see it."""
        wait_for(lambda: self.loop.services[name].look() or self.loop.services[name].state != "running", 10, f"{name} ends")
        self.turn()

    def test_pauses_double_and_then_it_is_given_up(self):
        self.begin(bad="exit 3", good="sleep 1000")
        pauses, name = [], "bad"
        while True:
            self.gone(name)
            if self.state()[name]["state"] == "failed":
                break
            pauses.append(self.loop.services[name].next - self.now)
            self.turn(pauses[-1] - 0.01)
            self.assertEqual(self.state()[name]["state"], "waiting", "not before its time")
            self.turn(0.02)
        self.assertEqual([round(pause, 1) for pause in pauses], [0.5, 1, 2, 4, 8, 16, 30, 30, 30])
        self.assertEqual(self.state()[name]["restarts"], 9)
        self.assertEqual(self.state()[name]["ended"], "exit code 3")
        self.turn(10000)
        self.assertEqual(self.state()[name]["state"], "failed")
        self.assertEqual(self.state()["good"]["restarts"], 0)
        self.loop.read()  # what infra/up asks for
        self.turn()
        self.assertNotEqual(self.loop.services[name].state, "failed")

    def test_who_ran_for_a_minute_starts_anew(self):
        self.begin(one="sleep 1000")
        service = self.loop.services["one"]
        for _ in range(20):
            self.turn(61)
            os.kill(service.pid, signal.SIGKILL)
            self.gone("one")
            self.assertEqual(self.state()["one"]["ended"], "killed by signal 9")
            self.assertAlmostEqual(service.next - self.now, 0.5)
            self.turn(0.6)
            self.assertEqual(self.state()["one"]["state"], "running")

    def test_a_clock_that_is_put_back_delays_no_start(self):
        self.begin(one="sleep 1000")
        real = time.time
        self.addCleanup(setattr, time, "time", real)
        time.time = lambda: real() + 86400
        os.kill(self.loop.services["one"].pid, signal.SIGKILL)
        self.gone("one")
        time.time = real
        self.turn(0.6)
        self.assertEqual(self.state()["one"]["state"], "running")

    def test_a_full_disk_ends_nothing_and_loses_nobody(self):
        self.begin(one="sleep 1000")
        self.turn()
        service, roomy, errors = self.loop.services["one"], supervisor.write_whole, sys.stderr
        self.addCleanup(setattr, supervisor, "write_whole", roomy)
        self.addCleanup(setattr, sys, "stderr", errors)

        class Full:
            def write(self, *_):
                raise OSError(errno.ENOSPC, "No space left on device")
        supervisor.write_whole, sys.stderr = Full().write, Full()
        os.kill(service.pid, signal.SIGKILL)
        wait_for(service.look, 10, "it ends")
        self.turn()
        self.turn(0.6)
        self.assertEqual(service.state, "running", "it is started again all the same")
        self.turn()
        self.assertFalse((self.dir / "run/one.pid").read_text().startswith(f"{service.pid} "))
        supervisor.write_whole, sys.stderr = roomy, errors
        self.turn()
        self.assertTrue((self.dir / "run/one.pid").read_text().startswith(f"{service.pid} "), "the next supervisor finds it")
        self.assertEqual(self.state()["one"]["pid"], service.pid)

    def test_a_program_that_is_not_there(self):
        self.list(one="true")
        listed = json.loads((self.dir / "run/services.json").read_text())
        listed["services"][0]["command"] = ["/nonexistent/program"]
        (self.dir / "run/services.json").write_text(json.dumps(listed))
        self.loop = supervisor.Supervisor(self.dir)
        self.addCleanup(self.end)
        self.loop.read()
        self.turn()
        self.assertEqual(self.state()["one"]["state"], "waiting")
        self.assertIn("/nonexistent/program", self.log("one"))

    def test_a_port_is_kept_unless_somebody_else_has_it(self):
        self.begin()
        file = self.dir / "http.port"
        for odd in (None, "", "no number", "99999", "0", "-1"):
            file.unlink(missing_ok=True) if odd is None else file.write_text(odd)
            first = self.loop.filled("{http.port}")
            self.assertEqual(file.read_text(), f"{first}\n")
            self.assertEqual(self.loop.filled("127.0.0.1:{http.port}"), f"127.0.0.1:{first}")
        outgoing = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
        self.assertTrue(20000 <= int(first) < outgoing, f"{first} may be taken by a connection")
        with socket.socket() as other:
            other.bind(("127.0.0.1", int(first)))
            other.listen()
            second = self.loop.filled("{http.port}")
            self.assertNotEqual(second, first)
            self.assertEqual(file.read_text(), f"{second}\n")
        self.assertEqual(self.loop.filled("{http.port}"), second)

    def test_each_port_has_its_file(self):
        self.begin()
        (self.dir / "metrics").mkdir()
        first, second = (self.loop.filled(f"127.0.0.1:{{metrics/{name}.port}}") for name in ("signer", "worker-1"))
        self.assertEqual(first, "127.0.0.1:" + (self.dir / "metrics/signer.port").read_text().strip())
        self.assertEqual(second, "127.0.0.1:" + (self.dir / "metrics/worker-1.port").read_text().strip())
        self.assertEqual(self.loop.filled("{metrics/signer.port}"), first.removeprefix("127.0.0.1:"))

    def test_a_port_that_cannot_be_written_is_tried_again(self):
        (self.dir / "http.port.new").mkdir()
        self.begin(one="echo {http.port}; sleep 1000")
        self.turn()
        self.assertEqual(self.state()["one"]["state"], "waiting")
        self.assertIn("http.port.new", self.state()["one"]["ended"])
        (self.dir / "http.port.new").rmdir()
        self.loop.services["one"].forgive()
        self.turn()
        self.assertEqual(self.state()["one"]["state"], "running")

    def test_words_and_environment_are_filled_in(self):
        (self.dir / "http.port").write_text("8123\n")
        self.begin(one="echo \"{database} {http.port} $KILN_X\"; sleep 1000")
        wait_for(lambda: self.log("one"), 10, "it writes")
        self.assertEqual(self.log("one"), f"host='{self.dir}/pg' 8123 y\n")

    def test_variables_about_other_databases_stay_outside(self):
        self.addCleanup(os.environ.pop, "PGOPTIONS")
        os.environ["PGOPTIONS"] = "-c default_transaction_read_only=on"
        self.begin(one="echo \"$KILN_X${PGOPTIONS-}\"; sleep 1000")
        wait_for(lambda: self.log("one"), 10, "it writes")
        self.assertEqual(self.log("one"), "y\n")

    def test_the_database_is_started_again_unless_somebody_stopped_it(self):
        self.begin(one="sleep 1000")
        calls = lambda: (self.dir / "pg/calls").read_text().split()  # noqa: E731
        pid = int((self.dir / "pg/data/postmaster.pid").read_text())
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: supervisor.started_at(pid) is None, 10, "it ends")
        self.turn()
        self.assertEqual(calls(), ["start", "start"])
        subprocess.run([self.home / "postgres", "stop", self.dir / "pg"], check=True)
        wait_for(lambda: not self.loop.database.running(), 10, "it ends")
        self.turn()
        self.assertEqual(calls(), ["start", "start", "stop"])
        self.loop.read()
        self.turn()
        self.assertEqual(calls()[-1], "start")

    def test_what_is_no_longer_listed_ends_and_what_is_new_starts(self):
        self.begin(one="sleep 1000", two="sleep 1000")
        first, second = self.loop.services["one"].pid, self.loop.services["two"].pid
        self.list(one="sleep 1000", three="sleep 1000")
        self.loop.read()
        self.turn()
        self.assertEqual(self.loop.services["one"].pid, first)
        self.assertIsNone(supervisor.started_at(second))
        self.assertEqual({name: one["state"] for name, one in self.state().items()}, {"one": "running", "three": "running"})

    def test_who_does_not_end_is_killed(self):
        self.begin(deaf="trap '' TERM; echo ready; while :; do sleep 0.1; done")
        wait_for(lambda: self.log("deaf"), 10, "it writes")
        pid = self.loop.services["deaf"].pid
        self.loop.services["deaf"].stop()
        self.assertIsNone(supervisor.started_at(pid))
        self.assertFalse((self.dir / "run/deaf.pid").exists())

    def test_a_pid_that_is_somebody_elses_by_now_is_not_touched(self):
        (self.dir / "run/one.pid").write_text(f"{os.getpid()} 1\n")
        self.begin(one="sleep 1000")
        self.assertNotEqual(self.loop.services["one"].pid, os.getpid())


class ProcessTest(Case):
    def test_what_is_listed_may_have_any_name(self):
        words = [b"one", b"/bin/no utf-8: \xff", b"--listen", b"unix:/two\nlines/s", b""]
        subprocess.run([sys.executable, SCRIPT, "list", self.dir], input=b"".join(word + b"\0" for word in words), check=True,
                       env=os.environ | {"PYTHONIOENCODING": "utf-8:strict"})
        listed = json.loads((self.dir / "run/services.json").read_text())
        self.assertEqual([os.fsencode(word) for word in listed["services"][0]["command"]], words[1:-1])
        self.assertEqual(listed["directories"], ["/two\nlines"])

    """The program itself."""

    def supervisor(self, command, code=0, **options):
        done = subprocess.run([sys.executable, SCRIPT, command, self.dir], capture_output=True, text=True, timeout=60, **options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def setUp(self):
        super().setUp()
        # No user manager, whatever this machine has.
        bin = self.home / "bin"
        bin.mkdir()
        (bin / "systemctl").write_text("#!/bin/sh\nexit 1\n")
        (bin / "systemctl").chmod(0o755)
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{bin}:{path}"
        self.addCleanup(os.environ.__setitem__, "PATH", path)

    def pid(self, name):
        return int((self.dir / "run" / f"{name}.pid").read_text().split()[0])

    def test_from_start_to_stop(self):
        order = self.home / "order"
        say = "trap 'echo {0} >>\"" + str(order) + "\"; exit' TERM; echo up; while :; do sleep 0.05; done"
        self.list(first=say.format("first"), second=say.format("second"))
        self.supervisor("status", 3)
        self.supervisor("reload")
        self.assertTrue((self.home / "sockets").is_dir())
        self.assertIn("already", subprocess.run([sys.executable, SCRIPT, "run", self.dir], capture_output=True, text=True).stderr)
        wait_for(lambda: self.log("first") and self.log("second"), 10, "both run")
        killed = self.pid("first")
        os.kill(killed, signal.SIGKILL)
        wait_for(lambda: self.state()["first"]["state"] == "running" and self.state()["first"]["restarts"] == 1, 10, "it is back")
        self.assertNotEqual(self.pid("first"), killed)
        wait_for(lambda: self.log("first").count("up") == 2, 10, "it listens to signals")
        self.assertIn("first\trunning", self.supervisor("status"))
        # Another one takes over what a killed one left, and infra/up's word makes it start at once what is gone.
        pids = [self.pid(name) for name in ("first", "second")]
        boss = self.pid("supervisor")
        os.kill(boss, signal.SIGKILL)
        wait_for(lambda: supervisor.started_at(boss) is None, 10, "it ends")
        self.supervisor("status", 3)
        self.supervisor("reload")
        self.assertEqual([self.pid(name) for name in ("first", "second")], pids)
        os.kill(pids[1], signal.SIGKILL)
        wait_for(lambda: supervisor.started_at(pids[1]) is None, 10, "it ends")
        self.supervisor("reload")
        self.assertNotEqual(self.pid("second"), pids[1])
        self.assertEqual(self.state()["second"]["state"], "running")
        wait_for(lambda: self.log("second").count("up") == 2, 10, "it listens to signals")
        self.supervisor("stop")
        self.assertEqual(order.read_text().split(), ["second", "first"])
        self.assertEqual(list((self.dir / "run").glob("*st.pid")), [])
        self.assertEqual((self.dir / "pg/calls").read_text().split()[-1], "stop")
        self.supervisor("stop")  # again

    def test_what_a_killed_one_left_is_stopped_without_it(self):
        self.list(one="sleep 1000")
        self.supervisor("start")
        pid, boss = self.pid("one"), self.pid("supervisor")
        os.kill(boss, signal.SIGKILL)
        wait_for(lambda: supervisor.started_at(boss) is None, 10, "it ends")
        self.assertIsNotNone(supervisor.started_at(pid))
        self.supervisor("stop")
        self.assertIsNone(supervisor.started_at(pid))

    def test_one_of_an_earlier_release_is_replaced(self):
        self.list(one="sleep 1000")
        self.supervisor("start")
        boss, state = self.pid("supervisor"), self.dir / "run/state.json"
        told = json.loads(state.read_text())
        del told["supervisor"]["edition"]
        state.write_text(json.dumps(told))
        self.supervisor("reload")
        self.assertNotEqual(self.pid("supervisor"), boss)
        self.assertIsNone(supervisor.started_at(boss))
        self.assertEqual(self.state()["one"]["state"], "running")
        self.supervisor("stop")

    def test_the_list_that_infra_up_makes(self):
        words = ["signer", "kiln-signer", "serve", "--listen", "unix:/run/kiln/signer.sock", "", "log", "kiln-log", "a word\n", ""]
        self.supervisor("list", input="".join(word + "\0" for word in words), env=os.environ | {"KILN_EMULATED_X": "1"})
        listed = json.loads((self.dir / "run/services.json").read_text())
        self.assertEqual(listed["directories"], ["/run/kiln"])
        self.assertEqual([(one["name"], one["command"][-1]) for one in listed["services"]],
                         [("signer", "unix:/run/kiln/signer.sock"), ("log", "a word\n")])
        self.assertEqual(listed["services"][0]["environment"]["KILN_EMULATED_X"], "1")


class UnitTest(Case):
    """With a systemctl and a crontab that write down what they are asked."""

    def setUp(self):
        super().setUp()
        bin, self.calls = self.home / "bin", self.home / "calls"
        bin.mkdir()
        (bin / "systemctl").write_text(f'#!/bin/sh\nshift\necho "$@" >>"{self.calls}"\n'
                                       f'[ ! -e "{self.home}/refuses $1" ] || {{ echo "Access denied" >&2; exit 1; }}\n'
                                       f'[ "$1" != is-enabled ] || [ -e "{self.home}/on" ]\n')
        (bin / "loginctl").write_text(f'#!/bin/sh\necho "loginctl $@" >>"{self.calls}"\n'
                                      f'[ "$1" != show-user ] || cat "{self.home}/shown"\n'
                                      f'[ ! -e "{self.home}/refuses $1" ] || {{ echo "Could not enable linger: Access denied" >&2; exit 1; }}\n')
        (bin / "crontab").write_text(f'#!/bin/sh\nif [ "$1" = -l ]; then cat "{self.home}/tab"; else cat >"{self.home}/tab"; fi\n')
        for path in bin.iterdir():
            path.chmod(0o755)
        for name, value in {"PATH": f"{bin}:{os.environ['PATH']}", "XDG_CONFIG_HOME": str(self.home / "config")}.items():
            before = os.environ.get(name)
            self.addCleanup(lambda name=name, before=before: os.environ.pop(name) if before is None
                            else os.environ.__setitem__(name, before))
            os.environ[name] = value
        self.bin = bin

    def test_a_unit_is_written_started_and_taken_away(self):
        units.start(self.dir)
        text = units.unit_file(self.dir).read_text()
        self.assertIn(f'"run" "{self.dir}"', text)
        self.assertEqual(self.calls.read_text().split("\n")[:2], ["daemon-reload", f"start {units.name_of(self.dir)}"])
        self.assertTrue(units.owns(self.dir))
        units.boot(self.dir)
        self.assertIn(f"enable {units.name_of(self.dir)}\nloginctl enable-linger\n", self.calls.read_text())
        (self.home / "on").touch()
        units.stop(self.dir)
        self.assertTrue(units.unit_file(self.dir).exists(), "it is to run again after a reboot")
        (self.home / "on").unlink()
        units.stop(self.dir)
        self.assertFalse(units.unit_file(self.dir).exists())

    def refused(self, what, *parts, by="boot"):
        """A run of units.py, in which systemd refuses `what`, ends in one line with these parts."""
        mark = self.home / f"refuses {what}"
        mark.touch()
        done = subprocess.run([sys.executable, SCRIPT.with_name("units.py"), by, self.dir], capture_output=True, text=True)
        mark.unlink()
        self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (1, "", 1), done.stderr)
        for part in ("up: the farm ", *parts):
            self.assertIn(part, done.stderr)

    def test_what_systemd_refuses_is_told_with_what_holds_and_what_to_do(self):
        again = f'infra/up --dir "{self.dir}" --boot tries again'
        for what in ("daemon-reload", "enable"):
            self.refused(what, "runs, but will not after the next start", "Access denied", again)
            self.assertFalse(units.unit_file(self.dir).exists(), "as it was before")
        self.refused("enable-linger", f"its unit {units.name_of(self.dir)} is enabled", "linger: Access denied",
                     f"sudo loginctl enable-linger {units.user()}")
        self.assertTrue(units.unit_file(self.dir).exists())
        self.refused("enable", "will not after the next start")
        self.assertTrue(units.unit_file(self.dir).exists(), "by which it runs")
        self.refused("disable", "still runs after each start", again.replace("--boot", "--no-boot"), by="no-boot")
        (self.bin / "loginctl").unlink()
        os.environ["PATH"] = str(self.bin)
        self.refused("", f"sudo loginctl enable-linger {units.user()}")

    def test_an_administrator_may_have_allowed_it_before(self):
        (self.home / "refuses enable-linger").touch()
        (self.home / "shown").write_text("Linger=yes\n")
        units.boot(self.dir)

    def test_a_folder_for_units_that_cannot_be_written_is_named(self):
        (self.home / "config").write_text("a file")
        self.refused("", "will not after the next start", str(self.home / "config"), "tries again")

    def test_a_unit_that_does_not_start_or_stop_is_told(self):
        for what, ask in (("start", units.start), ("daemon-reload", units.start), ("stop", units.stop)):
            (self.home / f"refuses {what}").touch()
            with self.assertRaisesRegex(SystemExit, f"does not {what[:3]}.*: Access denied; `systemctl --user status {units.name_of(self.dir)}`"
                                        if what != "daemon-reload" else "does not start .*: Access denied"):
                ask(self.dir)
            (self.home / f"refuses {what}").unlink()

    def test_systemd_reads_the_unit_as_it_is_meant(self):
        analyze = shutil.which("systemd-analyze")
        if not analyze:
            self.skipTest("systemd-analyze is not installed")
        for farm in ("/srv/a farm", '/srv/100% "of it"', "/srv/$HOME", "/srv/back\\slash"):
            file = self.home / units.name_of(farm)
            file.write_text(units.unit_text(pathlib.Path(farm)))
            done = subprocess.run([analyze, "verify", "--man=no", file], capture_output=True, text=True)
            said = [line for line in done.stderr.splitlines() if file.name in line]
            self.assertEqual((done.returncode, said), (0, []), done.stderr)

    def test_cron_where_there_is_no_user_manager(self):
        (self.bin / "systemctl").write_text("#!/bin/sh\nexit 1\n")
        other = "5 4 * * * something else # mine\n"
        (self.home / "tab").write_text(other)
        for _ in range(2):
            units.boot(self.dir)
            lines = (self.home / "tab").read_text().splitlines()
            self.assertEqual(len(lines), 2)
            self.assertEqual(lines[0] + "\n", other)
            self.assertTrue(lines[1].startswith("@reboot ") and lines[1].endswith(units.name_of(self.dir)))
            self.assertIn(f"'start' '{self.dir}'", lines[1])
        units.no_boot(self.dir)
        self.assertEqual((self.home / "tab").read_text(), other)

    def test_a_crontab_that_cannot_be_read_or_written_is_told_and_left_alone(self):
        (self.bin / "systemctl").write_text("#!/bin/sh\nexit 1\n")
        mine = "5 4 * * * mine\n"
        (self.home / "tab").write_text(mine)
        for which in ('"$1" = -l', '"$1" = -'):
            (self.bin / "crontab").write_text(f'#!/bin/sh\n[ ! {which} ] || {{ echo "you are not allowed to use this program" >&2; exit 1; }}\n'
                                              f'if [ "$1" = -l ]; then cat "{self.home}/tab"; else cat >"{self.home}/tab"; fi\n')
            self.refused("", "will not run after the next start", "not allowed to use this program", units.user())
            self.assertEqual((self.home / "tab").read_text(), mine)

    def test_who_has_no_crontab_gets_one(self):
        (self.bin / "systemctl").write_text("#!/bin/sh\nexit 1\n")
        (self.bin / "crontab").write_text(f'#!/bin/sh\n[ "$1" != -l ] || {{ echo "no crontab for me" >&2; exit 1; }}\ncat >"{self.home}/tab"\n')
        units.boot(self.dir)
        self.assertTrue((self.home / "tab").read_text().startswith("@reboot "))


if __name__ == "__main__":
    unittest.main()
