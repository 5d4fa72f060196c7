#!/usr/bin/env python3
"""Writes D/prometheus.yml: what a Prometheus on this machine scrapes of a farm, and which rules it applies.

usage: scrape.py D RULES NAME...
Each NAME is a process of the farm, whose port of metrics stands in D/metrics/NAME.port; one that was left running by an earlier
release has none. "worker-1" is of the job kiln-worker.
"""
import json
import pathlib
import re
import sys


def scrape_config(ports, rules):
    """As text: JSON is YAML, and quotes any path."""
    jobs = {}
    for name, port in ports.items():
        target = {"targets": [f"127.0.0.1:{port}"], "labels": {"process": name}}
        jobs.setdefault("kiln-" + re.sub(r"-[0-9]+$", "", name), []).append(target)
    return json.dumps({"global": {"scrape_interval": "15s"}, "rule_files": [rules],
                       "scrape_configs": [{"job_name": job, "static_configs": targets} for job, targets in jobs.items()]},
                      indent=2) + "\n"


def main(farm, rules, *names):
    farm = pathlib.Path(farm)
    files = {name: farm / "metrics" / f"{name}.port" for name in names}
    ports = {name: int(file.read_text()) for name, file in files.items() if file.exists()}
    fresh = farm / "prometheus.yml.new"
    fresh.write_text("# Written by infra/up, each time anew.\n" + scrape_config(ports, rules))
    fresh.replace(farm / "prometheus.yml")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
