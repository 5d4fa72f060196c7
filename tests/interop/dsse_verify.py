"""Judges DSSE envelopes with securesystemslib. stdin: [{"envelope", "pem"}...]; stdout: true or false for each, as JSON."""
import json
import sys

from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey


def accepts(envelope, pem):
    key = SSlibKey("kiln", "ecdsa", "ecdsa-sha2-nistp256", {"public": pem})
    # A signature without a key id is tried under the name that the verifier knows the key by.
    for one in envelope["signatures"]:
        one.setdefault("keyid", "kiln")
    try:
        Envelope.from_dict(envelope).verify([key], 1)
        return True
    except VerificationError:
        return False


print(json.dumps([accepts(one["envelope"], one["pem"]) for one in json.load(sys.stdin)]))
