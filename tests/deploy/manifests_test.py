#!/usr/bin/env python3
"""The manifests of infra/deploy/kubernetes: strict schemas, and what Kiln asks of them. Programs come from $KILN_TEST_BIN.

Exit 77 (skipped) if kubectl, the schemas or the definitions cannot be had.
"""
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from rendered import KUBERNETES, OVERLAYS, ROOT, SCHEMAS, Skip, definitions, rendered, run, with_yaml

BIN = pathlib.Path(os.environ.get("KILN_TEST_BIN", ROOT / "build/release/bin"))
# What infra/deploy/kubernetes/make-keys and the operator put there, and what cert-manager makes of certificates.
GIVEN = {"kiln": {"kiln-signer-key", "kiln-log-key", "kiln-tls-ca", "kiln-database", "kiln-trust"},
         "kiln-workers": {"kiln-worker-ca", "kiln-worker-trust"}}
CACHE = pathlib.Path(os.environ.get("KILN_CACHE") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "kiln")
PROMTOOL = shutil.which("promtool") or shutil.which(str(CACHE / "promtool/promtool"))


def strictly(schema):
    """A definition's schema under which a member that it does not name is wrong."""
    if isinstance(schema, dict):
        out = {key: strictly(value) for key, value in schema.items()}
        if "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields") and "additionalProperties" not in schema:
            out["additionalProperties"] = False
        return out
    return [strictly(one) for one in schema] if isinstance(schema, list) else schema


class Manifests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import yaml
        cls.yaml = yaml
        cls.overlays = {name: [one for one in yaml.safe_load_all(rendered(KUBERNETES / "overlays" / name)) if one] for name in OVERLAYS}

    def each(self, *kinds):
        for overlay, documents in self.overlays.items():
            for document in documents:
                if not kinds or document["kind"] in kinds:
                    yield overlay, document

    def pods(self):
        for overlay, document in self.each("Deployment", "StatefulSet"):
            yield overlay, document, document["spec"]["template"]["spec"]

    def test_schemas_strictly(self):
        import jsonschema
        import kubernetes_validate
        kinds = {}
        for folder in definitions():
            for path in folder.glob("*.yaml"):
                for definition in self.yaml.safe_load_all(path.read_text()):
                    for version in definition["spec"]["versions"]:
                        schema = strictly(version["schema"]["openAPIV3Schema"])
                        schema["properties"]["metadata"] = {"type": "object"}
                        kinds[(f"{definition['spec']['group']}/{version['name']}", definition["spec"]["names"]["kind"])] = schema
        seen = []
        for overlay, document in self.each():
            if document in seen:
                continue
            seen.append(document)
            with self.subTest(f"{overlay}: {document['kind']} {document['metadata']['name']}"):
                schema = kinds.get((document["apiVersion"], document["kind"]))
                if schema:
                    jsonschema.validate(document, schema)
                else:
                    kubernetes_validate.validate(document, SCHEMAS, strict=True)

    def test_a_mistake_is_caught(self):
        """The schemas do judge."""
        import kubernetes_validate
        document = next(one for _, one in self.each("Deployment"))
        for change in ({"replicas": "two"}, {"replica": 2}):
            wrong = {**document, "spec": {**document["spec"], **change}}
            with self.assertRaises(kubernetes_validate.utils.ValidationError):
                kubernetes_validate.validate(wrong, SCHEMAS, strict=True)

    def test_containers_are_confined(self):
        for overlay, document, pod in self.pods():
            self.assertTrue(pod["securityContext"]["runAsNonRoot"])
            self.assertFalse(pod["automountServiceAccountToken"])
            for container in [*pod.get("initContainers", []), *pod["containers"]]:
                with self.subTest(f"{overlay}: {document['metadata']['name']}: {container['name']}"):
                    context = container["securityContext"]
                    self.assertTrue(context["readOnlyRootFilesystem"])
                    self.assertFalse(context["allowPrivilegeEscalation"])
                    self.assertEqual(context["capabilities"], {"drop": ["ALL"]})
                    self.assertIn("memory", container["resources"]["limits"])
                    volumes = {volume["name"] for volume in pod["volumes"]}
                    volumes |= {claim["metadata"]["name"] for claim in document["spec"].get("volumeClaimTemplates", [])}
                    self.assertLessEqual({mount["name"] for mount in container["volumeMounts"]}, volumes)

    def test_every_option_is_its_programs(self):
        helps = {}
        for _, _, pod in self.pods():
            for container in pod["containers"]:
                program = container["image"].split(":")[0]
                if not program.startswith("kiln-"):
                    continue
                words = ["serve"] if container["args"][0] == "serve" else []
                if program not in helps:
                    helps[program] = run([BIN / program, *words, "--help"]).stdout
                known = set(re.findall(r"--[a-z-]+", helps[program]))
                for argument in container["args"][len(words):]:
                    self.assertIn(argument.split("=")[0], known, program)
        self.assertEqual(sorted(helps), ["kiln-coordinator", "kiln-log", "kiln-signer", "kiln-worker"])

    def test_images_are_those_that_are_built(self):
        built = set(re.findall(r'^    "([a-z]+)": \(', (ROOT / "infra/deploy/images/build").read_text(), re.M))
        for _, _, pod in self.pods():
            for container in [*pod.get("initContainers", []), *pod["containers"]]:
                name = container["image"].split(":")[0]
                self.assertTrue(name == "postgres" or name.removeprefix("kiln-") in built, name)

    def test_what_pods_name_is_there(self):
        for overlay, document, pod in self.pods():
            space = document["metadata"]["namespace"]
            there = GIVEN[space] | {one["metadata"]["name"] for one in self.overlays[overlay]
                                    if one["kind"] in ("ConfigMap", "PersistentVolumeClaim") and one["metadata"]["namespace"] == space}
            there |= {one["spec"]["secretName"] for one in self.overlays[overlay]
                      if one["kind"] == "Certificate" and one["metadata"]["namespace"] == space}
            named = set(re.findall(r"'(?:secretName|claimName)': '([^']+)'", str(pod)))
            named |= set(re.findall(r"'(?:configMapRef|configMap|secret|secretKeyRef)': {[^}]*'name': '([^']+)'", str(pod)))
            self.assertLessEqual(named, there, f"{overlay}: {document['metadata']['name']}")

    def test_a_worker_drains_within_its_pods_time(self):
        for _, document, pod in self.pods():
            for container in pod["containers"]:
                drain = re.search(r"--drain-seconds=(\d+)", " ".join(container.get("args", [])))
                if drain:
                    # Two seconds for what will not end, and its reports (worker/agent/agent.cc).
                    self.assertLess(int(drain.group(1)) + 30, pod["terminationGracePeriodSeconds"])
                    self.assertIn("--slots=1", container["args"])
                    self.assertFalse(pod["hostUsers"])
                    self.assertEqual(container["securityContext"]["procMount"], "Unmasked")
                    self.assertEqual(container["securityContext"]["seccompProfile"]["localhostProfile"], "kiln-worker.json")

    def test_there_is_a_certificate_for_every_worker(self):
        for overlay, document in self.each("StatefulSet", "ScaledObject"):
            if document["metadata"]["namespace"] != "kiln-workers":
                continue
            name = document["spec"].get("scaleTargetRef", document["metadata"])["name"]
            most = document["spec"].get("maxReplicaCount", document["spec"].get("replicas", 0))
            names = {one["metadata"]["name"] for one in self.overlays[overlay] if one["kind"] == "Certificate"}
            for number in range(most):
                self.assertIn(f"{name}-{number}", names)
                self.assertIn(f"{name}-{number}/tls.key", str(self.overlays[overlay]))

    def test_every_process_has_a_budget_and_a_policy(self):
        for overlay, document, _ in self.pods():
            labels = document["spec"]["template"]["metadata"]["labels"]
            space = document["metadata"]["namespace"]
            if labels["app.kubernetes.io/name"] == "kiln-postgresql":
                continue
            chosen = [one for one in self.overlays[overlay] if one["kind"] == "PodDisruptionBudget" and one["metadata"]["namespace"] == space
                      and one["spec"]["selector"]["matchLabels"].items() <= labels.items()]
            self.assertEqual(len(chosen), 1, document["metadata"]["name"])
        for overlay, documents in self.overlays.items():
            closed = {one["metadata"]["namespace"] for one in documents if one["kind"] == "NetworkPolicy"
                      and one["spec"]["podSelector"] == {} and one["spec"]["policyTypes"] == ["Ingress", "Egress"]}
            self.assertEqual(closed, {"kiln", "kiln-workers"}, overlay)


class Keys(unittest.TestCase):
    """What make-keys puts into a cluster is what the manifests ask for."""

    def test_secrets_and_trust(self):
        import yaml
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "keys"
            made = run([KUBERNETES / "make-keys", "--out", out, "--builder-id", "https://farm.example.org/kiln", "--bin", BIN])
            self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
            for path in (out, *out.rglob("*")):
                self.assertEqual(path.stat().st_mode & 0o077, 0, path)
            documents = list(yaml.safe_load_all(rendered(out)))
            named = {space: {one["metadata"]["name"] for one in documents if one["metadata"]["namespace"] == space} for space in GIVEN}
            named["kiln"].add("kiln-database")  # the operator's
            self.assertEqual(named, GIVEN)
            for name in ("root-1.key", "recall-1.key"):
                self.assertTrue((out / "offline" / name).exists())
                self.assertNotIn((out / "offline" / name).read_text(), rendered(out))
            shown = run([BIN / "kiln", "trust", "show", out / "root.json"])
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertIn("speaks for  https://farm.example.org/kiln", shown.stdout)
            self.assertIn("log         log.farm.example.org", shown.stdout)

    def test_it_writes_over_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            refused = run([KUBERNETES / "make-keys", "--out", folder, "--builder-id", "https://farm.example.org/kiln", "--bin", BIN])
            self.assertEqual(refused.returncode, 2)
            self.assertIn("name a new folder", refused.stderr)


class Scaling(unittest.TestCase):
    def test_it_counts_what_is_measured(self):
        page = (ROOT / "coordinator/METRICS.md").read_text()
        rules = (ROOT / "infra/deploy/prometheus/kiln.scaling.yml").read_text()
        for name in ("kiln_runs", "kiln_lease_seconds"):
            self.assertIn(f"`{name}`", page)
            self.assertIn(name, rules)
        self.assertIn("record: kiln:expected_seconds", rules)
        self.assertIn("query: sum(kiln:expected_seconds)", (KUBERNETES / "overlays/scaled/scaling.yaml").read_text())

    @unittest.skipUnless(PROMTOOL, "promtool is not there; infra/setup gets it")
    def test_rules_do_what_they_say(self):
        done = run([PROMTOOL, "test", "rules", "kiln.scaling.test.yml"], cwd=ROOT / "infra/deploy/prometheus")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    try:
        with_yaml()
        rendered(KUBERNETES / "base")
        definitions()
    except Skip as skip:
        print(f"skipped: {skip}")
        sys.exit(77)
    unittest.main()
