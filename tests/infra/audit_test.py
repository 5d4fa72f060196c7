#!/usr/bin/env python3
"""An auditor at a real farm: what touched what, drawn provenance, and an index that was tampered with."""
import glob
import subprocess
import unittest
import xml.etree.ElementTree

from farm import ROOT, FarmCase, json_of


class AuditTest(FarmCase):
    def affected(self, *conditions):
        return json_of(self.kiln("affected", *conditions, "--json"))["affected"]

    def sql(self, text):
        psql = sorted(glob.glob("/usr/lib/postgresql/*/bin/psql"))[-1]
        conninfo = subprocess.run([ROOT / "infra/postgres", "status", self.farm.dir / "pg"], check=True, capture_output=True,
                                  text=True).stdout.splitlines()[-1]
        subprocess.run([psql, "-q", "-v", "ON_ERROR_STOP=1", "-d", conninfo, "-c", text], check=True, capture_output=True)

    def test_every_part_of_the_toolchain_leads_to_the_artifact(self):
        shown = json_of(self.kiln("provenance", self.artifact, "--json"))
        self.assertEqual(shown["submissions"][0]["submitter"], "local")
        self.assertGreater(len(shown["components"]), 3)
        for part in shown["components"]:
            found = self.affected("--component", part["digest"])
            self.assertEqual([entry["artifact"] for entry in found], [self.artifact], part)
            self.assertEqual(found[0]["statement"]["payload"], shown["statements"][0])
        named = shown["components"][0]
        found = self.affected("--component", f"{named['name']}@{named['version']}", "--worker", "worker-1", "--since", "2020-01-01")
        self.assertEqual(len(found), 1)
        self.kiln("affected", "--worker", "worker-9", code=6)
        self.kiln("affected", code=2)

    def test_provenance_is_drawn(self):
        svg = xml.etree.ElementTree.fromstring(self.kiln("provenance", self.artifact, "--format", "svg").stdout)
        text = " ".join("".join(node.itertext()) for node in svg)
        self.assertIn("worker worker-1", text)
        self.assertTrue(self.kiln("provenance", self.artifact, "--format", "dot").stdout.startswith("digraph"))

    def test_case_24_a_tampered_row_is_found_and_changes_no_verdict(self):
        self.assertEqual(json_of(self.kiln("audit", "--json"))["findings"], [])
        self.sql("UPDATE builders SET operator = operator || ' the innocent'")
        try:
            findings = json_of(self.kiln("audit", "--json", code=5))["findings"]
            self.assertEqual({(each["kind"], each["table"]) for each in findings}, {("tampered-row", "builders")})
            out = self.farm.home / "fetched"
            self.kiln("fetch", self.artifact, "--out", out)
            self.assertNotIn("innocent", self.kiln("provenance", out).stdout)
        finally:
            self.sql("UPDATE builders SET operator = replace(operator, ' the innocent', '')")
        self.kiln("audit")


if __name__ == "__main__":
    unittest.main()
