"""Downloads against a local server: resumed, retried, limited, checked."""

import hashlib
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pairsift.data.datasets import DATASETS, DatasetError, fetch, load_dataset
from pairsift.data.datasets.download import download

CONTENT = bytes(range(256)) * 4000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves `files`; `script` holds what to do with the coming requests: a status, or bytes after which to hang up."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.script, self.requests, self.etag, self.ranges = {"/file": CONTENT}, [], [], '"v1"', True
        self.announce = True

    def handle_error(self, request, client_address):
        """Say nothing when the client hangs up, which the size limit makes it do."""

    def url(self, path="/file"):
        return f"http://127.0.0.1:{self.server_port}{path}"


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_GET(self):
        server = self.server
        server.requests.append(dict(self.headers))
        step = server.script.pop(0) if server.script else ("all",)
        content = server.files.get(self.path)
        if step[0] == "status" or content is None:
            self.send_error(step[1] if content is not None else 404)
            return
        start, status = 0, 200
        asked = self.headers.get("Range")
        if asked and server.ranges and self.headers.get("If-Range") == server.etag:
            start, status = int(asked.removeprefix("bytes=").rstrip("-")), 206
            if start >= len(content):
                self.send_error(416)
                return
        self.send_response(status)
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if server.announce:
            self.send_header("Content-Length", str(len(content) - start))
        if server.etag:
            self.send_header("ETag", server.etag)
        self.end_headers()
        self.wfile.write(content[start : start + step[1]] if step[0] == "cut" else content[start:])


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def waits():
    return []


@pytest.fixture
def get(server, waits, tmp_path):
    def call(**options):
        return download(server.url(), tmp_path / "sub" / "file", sleep=waits.append, timeout=5, **options)

    return call


def leftovers(tmp_path):
    return sorted(path.name for path in (tmp_path / "sub").iterdir())


def test_plain_download_reports_progress(get, tmp_path):
    seen = []
    assert get(sha256=SHA256, progress=lambda *p: seen.append(p)).read_bytes() == CONTENT
    assert seen[-1] == ("file", len(CONTENT), len(CONTENT))
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert leftovers(tmp_path) == ["file"]


def test_a_file_with_the_right_checksum_is_kept(get, server):
    get(sha256=SHA256)
    get(sha256=SHA256)
    assert len(server.requests) == 1


def test_interrupted_download_is_resumed(get, server, waits, tmp_path):
    server.script = [("cut", 300_000), ("cut", 200_000)]
    assert get(sha256=SHA256).read_bytes() == CONTENT
    assert [request.get("Range") for request in server.requests] == [None, "bytes=300000-", "bytes=500000-"]
    assert waits == [1, 2]
    assert leftovers(tmp_path) == ["file"]


def test_a_later_call_goes_on(get, server, tmp_path):
    server.script = [("cut", 300_000)]
    with pytest.raises(DatasetError, match=r"could not be fetched in 1 tries .*run the same again later to continue"):
        get(tries=1)
    assert leftovers(tmp_path) == ["file.part", "file.part.tag"]
    assert get().read_bytes() == CONTENT
    assert server.requests[-1]["Range"] == "bytes=300000-"


@pytest.mark.parametrize("change", ["etag", "no ranges", "no etag"])
def test_starts_over_when_it_cannot_resume(get, server, change):
    if change == "no etag":
        server.etag = None
    server.script = [("cut", 300_000)]
    with pytest.raises(DatasetError):
        get(tries=1)
    server.files["/file"] = CONTENT[::-1]
    if change == "etag":
        server.etag = '"v2"'
    server.ranges = change != "no ranges"
    assert get().read_bytes() == CONTENT[::-1]


def test_a_partial_file_that_does_not_fit_is_dropped(get, server):
    server.script = [("cut", 300_000)]
    with pytest.raises(DatasetError):
        get(tries=1)
    server.files["/file"] = CONTENT[:1000]
    assert get().read_bytes() == CONTENT[:1000]


def test_wrong_checksum_is_not_kept(get, tmp_path):
    with pytest.raises(DatasetError, match=r"wrong checksum .*not kept"):
        get(sha256="0" * 64)
    assert leftovers(tmp_path) == []


def test_passing_failures_are_retried(get, server, waits):
    server.script = [("status", 503), ("status", 429), ("cut", 0)]
    assert get(sha256=SHA256).read_bytes() == CONTENT
    assert waits == [1, 2, 4]


def test_tries_are_limited(get, server, waits):
    server.script = [("status", 500)] * 9
    with pytest.raises(DatasetError, match=r"in 3 tries .*500"):
        get(tries=3)
    assert len(server.requests) == 3


def test_missing_file_is_not_retried(get, server, waits):
    server.files.clear()
    with pytest.raises(DatasetError, match=r"cannot be fetched: .*404"):
        get()
    assert waits == []


@pytest.mark.parametrize("announce", [True, False])
def test_size_limit(get, server, tmp_path, announce):
    server.announce = announce
    with pytest.raises(DatasetError, match=r"larger than the limit of 500000 bytes"):
        get(max_bytes=500_000)
    assert leftovers(tmp_path) == []
    assert len(server.requests) == 1


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://host/x", "/etc/passwd"])
def test_other_schemes_are_refused(url, tmp_path):
    with pytest.raises(DatasetError, match=r"Only https"):
        download(url, tmp_path / "x")


def test_no_server(tmp_path, waits, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with pytest.raises(DatasetError, match=r"could not be fetched in 2 tries"):
        download("http://127.0.0.1:9/x", tmp_path / "x", tries=2, sleep=waits.append)


def test_a_folder_that_cannot_be_written_is_not_retried(server, tmp_path, waits):
    (tmp_path / "x.part").mkdir()
    with pytest.raises(IsADirectoryError):
        download(server.url(), tmp_path / "x", sleep=waits.append)
    assert waits == []


def test_fetch_downloads_prepares_and_cleans_up(server, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PAIRSIFT_DATA", raising=False)
    text = b"1 1:0.5\n2 16:1\n3 2:1\n"
    server.files["/letter.scale"] = text
    file = replace(
        DATASETS["letter"].files[0], url=server.url("/letter.scale"), sha256=hashlib.sha256(text).hexdigest()
    )
    dataset = replace(DATASETS["letter"], files=(file,), points=3, positives=1, negatives=2)
    server.script = [("cut", 9)]
    result = fetch(dataset, sleep=lambda seconds: None)
    assert result.status == "equal"
    X, y = load_dataset("letter")
    assert X.shape == (3, 16)
    assert y.tolist() == [1, -1, -1]
    assert not (tmp_path / "pairsift" / "datasets" / "letter" / "raw").exists()
    n = len(server.requests)
    assert fetch(dataset).status == "equal"
    assert len(server.requests) == n
    fetch(dataset, force=True)
    assert len(server.requests) == n + 1


def test_fetch_refuses_files_without_a_known_checksum(server, tmp_path, monkeypatch):
    """They were downloaded and used with no more than a limit on their size."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PAIRSIFT_DATA", raising=False)
    server.files["/letter.scale"] = b"1 1:0.5\n2 16:1\n3 2:1\n"
    file = replace(DATASETS["letter"].files[0], url=server.url("/letter.scale"), sha256=None)
    dataset = replace(DATASETS["letter"], files=(file,), points=3, positives=1, negatives=2)
    with pytest.raises(DatasetError, match=r"no checksum of letter\.scale.*--unverified"):
        fetch(dataset)
    assert server.requests == []
    assert fetch(dataset, unverified=True).status == "equal"
