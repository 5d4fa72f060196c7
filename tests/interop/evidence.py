"""What stock verifiers are to judge: an artifact, bundles about it, the log that holds them, and copies of all of it that
must be refused."""
import base64
import copy
import hashlib
import json

# Keys that nobody signed with: the base points of both curves, as SubjectPublicKeyInfo.
OTHER_P256 = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d03010703420004"
                           "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
                           "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5")
OTHER_ED25519 = bytes.fromhex("302a300506032b6570032100" "58" + "66" * 31)


def b64(data):
    return base64.b64encode(data).decode()


def pem(spki):
    return f"-----BEGIN PUBLIC KEY-----\n{base64.encodebytes(spki).decode()}-----END PUBLIC KEY-----\n"


def flipped(text, at=-1):
    """Base64 of the bytes with one bit changed."""
    data = bytearray(base64.b64decode(text))
    data[at] ^= 1
    return b64(bytes(data))


def log_key(origin, spki):
    """The line by which C2SP's tools know a log, and the log's id."""
    typed = b"\x01" + spki[-32:]
    key_id = hashlib.sha256(origin.encode() + b"\n" + typed).digest()
    return f"{origin}+{key_id[:4].hex()}+{b64(typed)}", key_id


class Evidence:
    def __init__(self, artifact, bundle, root, trusted_root=None, tiles=None):
        self.artifact, self.tiles = artifact, tiles
        self.bundle = json.loads(bundle.read_text())
        self.root = json.loads(root.read_text())
        self.trusted_root = json.loads(trusted_root.read_text()) if trusted_root else None
        keys = {key["keyid"]: key["spki"] for key in self.root["keys"]}
        self.spki = base64.b64decode(keys[self.bundle["verificationMaterial"]["publicKey"]["hint"]])
        self.statement = json.loads(base64.b64decode(self.bundle["dsseEnvelope"]["payload"]))

    @property
    def digest(self):
        return hashlib.sha256(self.artifact.read_bytes()).hexdigest()

    def logged(self):
        """Whether the bundle has a log entry and the log's key is known."""
        return bool(self.trusted_root and self.bundle["verificationMaterial"].get("tlogEntries"))

    def other_logs(self):
        """Trusted roots that do not know the log: another log's, another key under its id, none."""
        origin = self.trusted_root["tlogs"][0]["baseUrl"].removeprefix("https://")
        for what, change in {
            "another log of its name": lambda log: (log["publicKey"].update(rawBytes=b64(OTHER_ED25519)),
                                                    log["logId"].update(keyId=b64(log_key(origin, OTHER_ED25519)[1]))),
            "another key of its log": lambda log: log["publicKey"].update(rawBytes=b64(OTHER_ED25519)),
        }.items():
            root = copy.deepcopy(self.trusted_root)
            change(root["tlogs"][0])
            yield what, root
        yield "no log", {**self.trusted_root, "tlogs": []}

    def damaged(self):
        """Copies of the bundle, by what was done to them; those of the log entry where it is judged."""
        def payload(bundle):
            statement = copy.deepcopy(self.statement)
            statement["subject"][0]["name"] = "another"
            bundle["dsseEnvelope"]["payload"] = b64(json.dumps(statement).encode())

        def signature(bundle):
            one = bundle["dsseEnvelope"]["signatures"][0]
            one["sig"] = flipped(one["sig"])

        def payload_type(bundle):
            bundle["dsseEnvelope"]["payloadType"] = "application/x"

        changes = {"payload": payload, "signature": signature, "payload type": payload_type}
        if self.logged():
            proof = lambda bundle: bundle["verificationMaterial"]["tlogEntries"][0]["inclusionProof"]

            def path(bundle):
                hashes = proof(bundle)["hashes"]
                hashes[0:1] = [flipped(hashes[0])] if hashes else [b64(bytes(32))]

            def place(bundle):
                entry = bundle["verificationMaterial"]["tlogEntries"][0]
                entry["logIndex"] = proof(bundle)["logIndex"] = str(int(entry["logIndex"]) ^ 1)

            def checkpoint(bundle):
                text, signatures = proof(bundle)["checkpoint"]["envelope"].split("\n\n", 1)
                origin, size, root = text.split("\n")
                proof(bundle)["checkpoint"]["envelope"] = f"{origin}\n{size}\n{flipped(root)}\n\n{signatures}"

            def leaf(bundle):  # of the same signature, but said to be of another payload
                entry = bundle["verificationMaterial"]["tlogEntries"][0]
                body = json.loads(base64.b64decode(entry["canonicalizedBody"]))
                data = body["spec"]["hashedRekordV002"]["data"]
                data["digest"] = flipped(data["digest"])
                entry["canonicalizedBody"] = b64(json.dumps(body, sort_keys=True, separators=(",", ":")).encode())

            def unlogged(bundle):
                bundle["verificationMaterial"]["tlogEntries"] = []

            changes |= {"inclusion path": path, "place in the log": place, "checkpoint": checkpoint, "leaf": leaf,
                        "missing log entry": unlogged}
        for what, change in changes.items():
            bundle = copy.deepcopy(self.bundle)
            change(bundle)
            yield what, bundle
