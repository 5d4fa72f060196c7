#!/usr/bin/env python3
"""infra/lib/scrape.py: what is written for Prometheus is YAML that says what was meant, whatever the folders are called."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import yaml
except ImportError:
    yaml = None

SCRAPE = pathlib.Path(__file__).resolve().parents[2] / "infra/lib/scrape.py"
HOSTILE = ["a: [*b, &c !!python/object/apply:os.system ['x']]", "'\"# {{ x }} %", "line\nscrape_configs: []", "\u202e\u2028\u0085\ttab", "<<: {x: y}", "---"]


class ScrapeTest(unittest.TestCase):
    def test_names_are_text(self):
        for name in HOSTILE:
            with self.subTest(name=name), tempfile.TemporaryDirectory() as top:
                farm = pathlib.Path(top) / name
                (farm / "metrics").mkdir(parents=True)
                (farm / "metrics/worker-1.port").write_text("1234\n")
                rules = str(farm / "rules.yml")
                subprocess.run([sys.executable, SCRAPE, farm, rules, "worker-1", "gone"], check=True, timeout=60)
                text = (farm / "prometheus.yml").read_text()
                wanted = {"global": {"scrape_interval": "15s"}, "rule_files": [rules], "scrape_configs": [
                    {"job_name": "kiln-worker", "static_configs": [{"targets": ["127.0.0.1:1234"], "labels": {"process": "worker-1"}}]}]}
                self.assertEqual(json.loads(text.split("\n", 1)[1]), wanted)
                if yaml:
                    self.assertEqual(yaml.safe_load(text), wanted)


if __name__ == "__main__":
    unittest.main()
