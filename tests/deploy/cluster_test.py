#!/usr/bin/env python3
"""The manifests of infra/deploy/kubernetes in the hands of a real API server: its validation, its defaults and its admission.

The first run builds kube-apiserver, which takes a quarter of an hour of two cores and more. Exit 77 (skipped) if it, etcd, kubectl or
the definitions of cert-manager and KEDA cannot be had.
"""
import os
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
from cluster import Cluster, api_server, etcd
from rendered import KUBERNETES, OVERLAYS, ROOT, Skip, definitions, rendered, run, with_yaml

BIN = pathlib.Path(os.environ.get("KILN_TEST_BIN", ROOT / "build/release/bin"))


class ApiServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.close)
        for folder in definitions():
            done = cls.cluster.kubectl("create", "-f", str(folder))
            assert done.returncode == 0, done.stderr
        done = cls.cluster.kubectl("wait", "--for=condition=Established", "--timeout=120s", "crd", "--all")
        assert done.returncode == 0, done.stderr
        done = cls.cluster.kubectl("apply", "--server-side", "-f", str(KUBERNETES / "base/namespaces.yaml"))
        assert done.returncode == 0, done.stderr
        # What a controller does that is not here.
        for space in ("kiln", "kiln-workers"):
            cls.cluster.kubectl("create", "serviceaccount", "default", "-n", space)

    def applied(self, text, *options):
        """What it says of a document; a warning is as bad as a refusal."""
        done = self.cluster.kubectl("apply", "--server-side", "--validate=strict", "-f", "-", *options, given=text)
        return "" if done.returncode == 0 and "Warning" not in done.stderr else done.stderr or "refused"

    def test_every_overlay_is_taken(self):
        for overlay in OVERLAYS:
            with self.subTest(overlay):
                self.assertEqual(self.applied(rendered(KUBERNETES / "overlays" / overlay), "--dry-run=server"), "")

    def test_pods_are_admitted(self):
        """Deployments are taken whatever their pods may do; admission judges the pods."""
        import yaml
        seen = 0
        for overlay in OVERLAYS:
            for document in yaml.safe_load_all(rendered(KUBERNETES / "overlays" / overlay)):
                if document["kind"] not in ("Deployment", "StatefulSet"):
                    continue
                template = document["spec"]["template"]
                # The class of the GPU nodes is the cluster's, the accounts come with the overlay, and claims become volumes by a controller.
                claimed = [{"name": name, "persistentVolumeClaim": {"claimName": f"{name}-0"}}
                           for name in (claim["metadata"]["name"] for claim in document["spec"].get("volumeClaimTemplates", []))]
                spec = {**template["spec"], "serviceAccountName": "default", "volumes": template["spec"].get("volumes", []) + claimed}
                spec.pop("runtimeClassName", None)
                pod = {"apiVersion": "v1", "kind": "Pod", "spec": spec,
                       "metadata": {"name": f"pod-{seen}", "namespace": document["metadata"]["namespace"], "labels": template["metadata"]["labels"]}}
                with self.subTest(f"{overlay}: {document['metadata']['name']}"):
                    self.assertEqual(self.applied(yaml.safe_dump(pod), "--dry-run=server"), "")
                    if pod["metadata"]["namespace"] == "kiln":
                        spec["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
                        self.assertIn('violates PodSecurity "restricted', self.applied(yaml.safe_dump(pod), "--dry-run=server"))
                seen += 1
        self.assertGreater(seen, 8)

    def test_keys_and_a_farm_are_stored(self):
        with tempfile.TemporaryDirectory() as folder:
            keys = pathlib.Path(folder) / "keys"
            made = run([KUBERNETES / "make-keys", "--out", keys, "--builder-id", "https://farm.example.org/kiln", "--bin", BIN])
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertEqual(self.applied(rendered(keys)), "")
        text = rendered(KUBERNETES / "overlays/scaled")
        self.assertEqual(self.applied(text), "")
        again = self.cluster.kubectl("apply", "--server-side", "-f", "-", given=text)
        self.assertEqual(again.returncode, 0, again.stderr)
        listed = self.cluster.kubectl("get", "deployment,statefulset,certificate,scaledobject,networkpolicy,pdb", "-A", "-o", "name").stdout
        for name in ("deployment.apps/kiln-coordinator", "statefulset.apps/kiln-worker", "certificate.cert-manager.io/kiln-worker-7",
                     "scaledobject.keda.sh/kiln-worker", "networkpolicy.networking.k8s.io/nothing-else", "poddisruptionbudget.policy/kiln-log"):
            self.assertIn(name, listed)
        scale = self.cluster.kubectl("get", "statefulset", "kiln-worker", "-n", "kiln-workers", "-o", "jsonpath={.spec.replicas}").stdout
        self.assertEqual(scale, "1", "KEDA's to say, and one until it does")

    def test_a_mistake_is_refused(self):
        text = rendered(KUBERNETES / "overlays/one-node")
        for right, wrong in (("replicas: 2", "replicas: two"), ("hostUsers: false", "hostUsers: true"), ("maxUnavailable:", "mostUnavailable:")):
            self.assertIn(right, text)
            self.assertNotEqual(self.applied(text.replace(right, wrong), "--dry-run=server"), "", wrong)


if __name__ == "__main__":
    try:
        with_yaml()
        definitions()
        api_server(), etcd()
    except Skip as skip:
        print(f"skipped: {skip}")
        sys.exit(77)
    unittest.main()
