#!/usr/bin/env python3
"""Tries out ../rotate.md on this machine: each kind of key changes while the farm works. usage: rotate.py [--bin DIR]"""
import os
import shutil
import signal
import sys

sys.dont_write_bytecode = True
from farm import BUILDER, expect, main, run, step, wait_for


def shown_certificate(farm):
    """The serial number of the certificate that the coordinator shows."""
    said = run("openssl", "s_client", "-connect", f"127.0.0.1:{farm.port}", "-cert", farm.keys / "admin.pem", "-key", farm.keys / "admin.key",
               input="", code=None).stdout
    if "BEGIN CERTIFICATE" not in said:
        return None
    pem = said[said.index("-----BEGIN"):said.index("-----END CERTIFICATE-----") + 25] + "\n"
    return run("openssl", "x509", "-noout", "-serial", input=pem).stdout


def exercise(new):
    farm = new()
    farm.up("w1")
    first = farm.build()

    step("the coordinator's certificate: SIGHUP has it read, and connections go on")
    before = shown_certificate(farm)
    farm.coordinator_certificate()
    farm.processes["kiln-coordinator"].send_signal(signal.SIGHUP)
    wait_for(lambda: shown_certificate(farm) not in (None, before), "another certificate is shown")
    farm.kiln("jobs")

    step("a worker's key: the worker drains, and starts with the new one")
    farm.stop("kiln-worker@w1")
    farm.worker_certificate("w1")
    farm.start("kiln-worker@w1")
    wait_for(lambda: "w1" in farm.live(), "w1 has called")

    step("the artifact key: the root names the new one beside the old, then the signer gets it")
    signer, kiln, keys = farm.bin / "kiln-signer", farm.bin / "kiln", farm.keys
    run(signer, "make-key", "--out", keys / "signer-2.pem")
    (keys / "signer-2.pub").write_text(run(signer, "public-key", "--key", keys / "signer-2.pem").stdout)
    run(kiln, "trust", "rotate", keys / "root.json", "--id", BUILDER, "--public", keys / "signer-2.pub", "--out", keys / "root-next.json",
        "--key", keys / "offline/root-1.key", "--key", keys / "offline/root-2.key")
    old_root = shutil.copy(keys / "root.json", farm.home / "old-root.json")
    os.replace(keys / "root-next.json", keys / "root.json")
    os.replace(keys / "signer-2.pem", keys / "signer.pem")
    farm.install_trust()
    farm.restart("kiln-signer", "kiln-coordinator")
    second = farm.build("--no-cache", model="digits_mlp.onnx")
    for artifact in (first, second):
        expect(farm.verifies(artifact), f"{artifact} does not verify under the new root")
    expect(not farm.verifies(second, old_root), "who has the old root believes a key that it does not name")
    farm.sound()


if __name__ == "__main__":
    sys.exit(main(exercise))
