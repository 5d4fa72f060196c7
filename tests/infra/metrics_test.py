#!/usr/bin/env python3
"""Metrics, their page, the alert rules and the dashboard fit each other; promtool finds the rules right and has them fire.

promtool is the one on the PATH, or that infra/setup has put by; without it those tests are skipped, and this exits with 77.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "infra/deploy"
RULES, RULE_TESTS = DEPLOY / "prometheus/kiln.rules.yml", DEPLOY / "prometheus/kiln.test.yml"
sys.path.insert(0, str(ROOT / "infra/lib"))
import scrape  # noqa: E402

NAME = re.compile(r"\b(?:kiln|process)_[a-z][a-z_]*\b")
CACHE = pathlib.Path(os.environ.get("KILN_CACHE") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "kiln")
PROMTOOL = shutil.which("promtool") or shutil.which(str(CACHE / "promtool/promtool"))
missing = False


def promtool(test):
    def run(self):
        global missing
        if PROMTOOL is None:
            missing = True
            self.skipTest("promtool is not there; infra/setup gets it")
        test(self)
    return run


def documented():
    """name -> type, of the page's tables."""
    out = {}
    for line in (ROOT / "coordinator/METRICS.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 4 and cells[2] in ("counter", "gauge", "histogram"):
            out |= {name: cells[2] for name in NAME.findall(cells[1])}
    return out


def registered():
    """Names that sources give to metrics: "kiln_x" behind Name( or before a help text."""
    out = set()
    for folder in ("api", "coordinator", "signing", "storage", "worker"):
        for path in (ROOT / folder).rglob("*.cc"):
            text = re.sub(r"\s+", " ", path.read_text())
            if "prometheus" in text or "metrics" in path.name or "gauge(" in text:
                out |= set(re.findall(r'"((?:kiln|process)_[a-z_]+)", ?"', text)) | set(re.findall(r'Name\("([a-z_]+)"\)', text))
    for path in list((ROOT / "storage").rglob("*.h")) + list((ROOT / "api").rglob("*.h")):
        out |= set(re.findall(r'Name\("([a-z_]+)"\)', path.read_text()))
    return out


def base(name):
    """The metric of a series."""
    return re.sub(r"_(bucket|sum|count)$", "", name)


def queries():
    """(where, expression) of rules and dashboard."""
    for line in RULES.read_text().splitlines():
        if re.match(r"\s+(expr:|sum by|[-/] )", line) and "alert" not in line:
            yield "kiln.rules.yml", line
    board = json.loads((DEPLOY / "grafana/kiln.json").read_text())
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]


class Names(unittest.TestCase):
    def test_the_page_has_every_metric_and_no_other(self):
        page = documented()
        self.assertGreater(len(page), 50)
        self.assertEqual(sorted(page), sorted(registered()))

    def test_names_follow_the_conventions(self):
        for name, kind in documented().items():
            with self.subTest(name=name):
                self.assertEqual(name.endswith("_total"), kind == "counter")
                self.assertNotRegex(name, r"_(ms|millis|milliseconds|kb|mb|percent)(_|$)")
                if kind == "histogram":
                    self.assertRegex(name, r"_(seconds|bytes)$")

    def test_rules_and_dashboard_ask_for_what_there_is(self):
        page, asked = documented(), set()
        for where, text in queries():
            for name in NAME.findall(re.sub(r'\{[^}]*\}|by \([^)]*\)|"[^"]*"', "", text)):
                asked.add(base(name))
                with self.subTest(where=where):
                    self.assertIn(base(name), page)
                    self.assertEqual(name != base(name), page[base(name)] == "histogram")
        self.assertGreater(len(asked), 30)


class Dashboard(unittest.TestCase):
    def test_panels_have_places_of_their_own(self):
        board = json.loads((DEPLOY / "grafana/kiln.json").read_text())
        taken = set()
        for panel in board["panels"]:
            at = panel["gridPos"]
            for x in range(at["x"], at["x"] + at["w"]):
                for y in range(at["y"], at["y"] + at["h"]):
                    self.assertLess(x, 24)
                    self.assertNotIn((x, y), taken)
                    taken.add((x, y))
        self.assertEqual(len({panel["id"] for panel in board["panels"]}), len(board["panels"]))


class Promtool(unittest.TestCase):
    def run_tool(self, *words, good=True):
        done = subprocess.run([PROMTOOL, *map(str, words)], capture_output=True, text=True, cwd=RULES.parent)
        self.assertEqual(done.returncode == 0, good, done.stdout + done.stderr)

    @promtool
    def test_rules_are_well_formed(self):
        self.run_tool("check", "rules", RULES)

    @promtool
    def test_alerts_fire_when_they_should(self):
        self.run_tool("test", "rules", RULE_TESTS)

    @promtool
    def test_every_expression_of_the_dashboard_is_one(self):
        rules = [{"record": f"panel:{number}", "expr": text.replace("$__rate_interval", "5m")}
                 for number, (where, text) in enumerate(queries()) if where != "kiln.rules.yml"]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "panels.json"
            path.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
            self.run_tool("check", "rules", path)

    @promtool
    def test_the_scrape_config_of_a_farm(self):
        with tempfile.TemporaryDirectory() as folder:
            farm = pathlib.Path(folder) / 'a "farm": of mine'
            (farm / "metrics").mkdir(parents=True)
            for number, name in enumerate(("coordinator", "worker-1", "worker-2")):
                (farm / "metrics" / f"{name}.port").write_text(f"{21000 + number}\n")
            scrape.main(str(farm), str(RULES), "coordinator", "log", "worker-1", "worker-2")
            self.run_tool("check", "config", farm / "prometheus.yml")
            config = json.loads((farm / "prometheus.yml").read_text().split("\n", 1)[1])
            self.assertEqual([(job["job_name"], [one["targets"] for one in job["static_configs"]]) for job in config["scrape_configs"]],
                             [("kiln-coordinator", [["127.0.0.1:21000"]]), ("kiln-worker", [["127.0.0.1:21001"], ["127.0.0.1:21002"]])])

    def test_every_alert_has_a_test_that_has_it_fire(self):
        alerts = re.findall(r"- alert: (\w+)", RULES.read_text())
        fired = re.findall(r"- alertname: (\w+)\n\s+eval_time: \S+\n\s+exp_alerts:\n", RULE_TESTS.read_text())
        self.assertEqual(sorted(set(fired)), sorted(alerts))


if __name__ == "__main__":
    done = unittest.main(exit=False).result
    sys.exit(1 if not done.wasSuccessful() else 77 if missing else 0)
