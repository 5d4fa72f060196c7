"""What a Git LFS server answers, well and badly, for git_http_server.py.

The objects of the repository DIRECTORY/R lie in DIRECTORY/R/lfs/objects, as git-lfs keeps them. A repository below
/hostile/NAME/ has a server that answers as NAME says, one below /private/ wants the token that its downloads bring along.
"""
import json
import pathlib

TYPE = "application/vnd.git-lfs+json"
BATCH, OBJECT = "/info/lfs/objects/batch", "/lfs-object/"
SECRET = "signed-with-s3cret"
# NAME: status and body of the answer to a batch.
WHOLE = {
    "busy": (503, b""),
    "closed": (403, b""),
    "none": (404, b""),
    "page": (200, b"<html>\x1b[31m"),
    "deep": (200, b"[" * 1000),
    "huge": (200, b'{"objects":[],"x":"' + b"x" * (5 << 20) + b'"}'),
    "empty": (200, b'{"objects":[]}'),
    "moved": (307, b""),
    "shifted": (307, b""),
    "other-question": (303, b""),
}


# NAME: where a redirect leads, from the path that was asked for; None leads nowhere.
LEADS = {
    "redirect": lambda origin, path: path,
    "moved": lambda origin, path: path,
    "other-question": lambda origin, path: path,
    "shifted": lambda origin, path: path.replace("/hostile/shifted/", "/hostile/right/"),
    "on": lambda origin, path: path.replace("/hostile/on/", "/hostile/right/"),
    "aside": lambda origin, path: origin.replace("127.0.0.1", "localhost") + path.replace("/hostile/aside/", "/hostile/landed/"),
    "internal": lambda origin, path: origin.replace("127.0.0.1", "169.254.169.254") + path,
    "to-user": lambda origin, path: origin.replace("://", "://a:s3cret@") + path,
    "to-file": lambda origin, path: "file:///etc/passwd",
    "nowhere": lambda origin, path: None,
}


def batch(name, origin, repository, request):
    """The answer to a batch at `origin` as JSON, spoilt as `name` says."""
    host = origin.partition("://")[2]
    answer = {"transfer": "basic", "objects": [], "note": "members that nobody knows"}
    for asked in request["objects"]:
        href = f"{origin}{repository}{OBJECT}{asked['oid']}?signature={SECRET}&case={name}"
        action = {"href": href, "header": {"X-Kiln-Test": "brought along"}, "expires_in": 3600}
        answer["objects"].append({**asked, "authenticated": True, "actions": {"download": action}})
    one = answer["objects"][0]
    action = one["actions"]["download"]
    port = host.rsplit(":", 1)[1]
    spoil = {
        "size": lambda: one.update(size=one["size"] + 1),
        "absent": lambda: one.update(actions={}, error={"code": 404, "message": "no such object\x1b[31m"}),
        "forbidden": lambda: one.update(actions={}, error={"code": 403, "message": "not yours"}),
        "unsaid": lambda: one.update(actions={}),
        "twice": lambda: answer["objects"].append(dict(one)),
        "tus": lambda: answer.update(transfer="tus"),
        "sha512": lambda: answer.update(hash_algo="sha512"),
        "elsewhere": lambda: action.update(href=action["href"].replace(host, f"localhost:{port}")),
        "address": lambda: action.update(href=action["href"].replace(host, f"169.254.169.254:{port}")),
        "file": lambda: action.update(href="file:///etc/passwd"),
        "user": lambda: action.update(href=action["href"].replace("http://", "http://a:b@")),
        "break": lambda: action.update(header={"X-A": "1\r\nHost: elsewhere"}),
        "host": lambda: action.update(header={"HOST": "elsewhere"}),
        "headers": lambda: action.update(header={f"X-{i}": "1" for i in range(40)}),
    }
    spoil.get(name, lambda: None)()
    return answer


def stored(directory, repository, oid):
    return (pathlib.Path(directory) / repository.lstrip("/") / "lfs/objects" / oid[:2] / oid[2:4] / oid).read_bytes()


def download(name, content):
    """Status, length that is claimed, and bytes of a download."""
    if name == "other":
        content = bytes([content[0] ^ 1]) + content[1:]
    if name == "cut":
        return 200, len(content), content[:-1]
    if name == "short":
        content = content[:-1]
    if name == "long":
        content += b"x"
    if name in LEADS and name != "shifted":
        return 302, 0, b""
    return {"gone": 404, "later": 429}.get(name, 200), len(content), content


def answer(handler, directory, token):
    """Answers a request for Git LFS; whether it was one."""
    path = handler.path.partition("?")[0]
    name, authorized = "", token is None or handler.allowed()
    repository = path
    if path.startswith("/hostile/"):
        name, _, rest = path[len("/hostile/"):].partition("/")
        repository = "/" + rest
    if repository.endswith(BATCH):
        request = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        prefix = path[:-len(BATCH)]
        if not authorized:
            return reply(handler, 401, b"{}")
        if handler.headers["Accept"] != TYPE or request["operation"] != "download" or "basic" not in request["transfers"]:
            return reply(handler, 422, b"{}")
        host = handler.headers["Host"]  # of a front within TLS, where it is not this server's
        scheme = "http" if host.endswith(f":{handler.server.server_port}") else "https"
        status, body = WHOLE.get(name) or (200, json.dumps(batch(name, f"{scheme}://{host}", prefix, request)).encode())
        return reply(handler, status, body, name=name)
    if OBJECT not in repository:
        return False
    if name == "landed":  # on another host than that which redirects: nothing comes along
        brought = handler.headers["X-Kiln-Test"] or handler.headers["Authorization"]
        authorized = True
        if brought:
            return reply(handler, 400, b"")
    elif name not in ("break", "host", "headers") and handler.headers["X-Kiln-Test"] != "brought along":
        return reply(handler, 400, b"")
    if not authorized:
        return reply(handler, 401, b"")
    repository, _, oid = repository.partition(OBJECT)
    status, length, content = download(name, stored(directory, repository, oid))
    return reply(handler, status, content, length, name)


def reply(handler, status, body, length=None, name=""):
    handler.send_response(status)
    handler.send_header("Content-Type", TYPE)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    if 300 <= status < 400:
        leads = LEADS[name](f"http://127.0.0.1:{handler.server.server_port}", handler.path)
        if leads:
            handler.send_header("Location", leads)
    handler.end_headers()
    handler.wfile.write(body)
    return True
