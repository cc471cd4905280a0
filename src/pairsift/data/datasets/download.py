"""Download one file: resumed where it was cut off, limited in size, checked before it gets its name."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pairsift.data.datasets.registry import DatasetError

Progress = Callable[[str, int, int | None], None]  # file name, bytes so far, bytes in all if known

CHUNK_BYTES = 2**18
_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")
PASSING_STATUSES = {408, 425, 429, 500, 502, 503, 504}
LOCAL_ERRORS = {errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EISDIR, errno.ENOTDIR}  # trying again does not help


def download(
    url: str,
    target: Path,
    *,
    sha256: str | None = None,
    max_bytes: int = 2**30,
    tries: int = 5,
    first_wait: float = 1.0,
    timeout: float = 60.0,
    progress: Progress | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Path:
    """Download `url` to `target` and return it; a file that is there already with the right checksum is kept.

    What arrives is written to ``<target>.part``, and renamed when it is whole and its checksum (if known) is right. A
    partial file is continued by a Range request if the server still has the same file (its ETag or date is kept in
    ``<target>.part.tag``). Failures that may pass are tried again after 1, 2, 4, ... seconds.
    """
    check_address(url)
    if target.is_file() and sha256 is not None and file_sha256(target) == sha256:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    transfer = _Transfer(url, target, max_bytes, timeout, progress)
    for attempt in range(tries):
        try:
            transfer.run()
            break
        except (OSError, http.client.HTTPException) as error:
            if error_number(error) in LOCAL_ERRORS:
                raise
            if isinstance(error, urllib.error.HTTPError) and error.code not in PASSING_STATUSES:
                raise DatasetError(f"{url} cannot be fetched: {error}.") from error
            if attempt + 1 == tries:
                raise DatasetError(
                    f"{url} could not be fetched in {tries} tries ({error}); run the same again later to continue."
                ) from error
            sleep(first_wait * 2**attempt)
    transfer.finish(sha256)
    return target


def check_address(url: str) -> None:
    """Refuse what others on the way could change: only https is fetched, and http from this machine itself."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _THIS_MACHINE):
        raise DatasetError(f"Only https addresses are fetched; got {url}.")


class _CheckedRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        check_address(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def error_number(error: Exception) -> int | None:
    """Return the number of a system error, or None."""
    return error.errno if isinstance(error, OSError) else None


def file_sha256(path: Path) -> str:
    """Return the checksum of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Transfer:
    def __init__(self, url: str, target: Path, max_bytes: int, timeout: float, progress: Progress | None) -> None:
        self.url, self.target, self.max_bytes, self.timeout, self.progress = url, target, max_bytes, timeout, progress
        self.partial = target.with_name(target.name + ".part")
        self.tag_file = target.with_name(target.name + ".part.tag")

    def run(self) -> None:
        """Transfer what is missing; raise an OSError if the connection ended too early."""
        done = self.partial.stat().st_size if self.partial.is_file() else 0
        tag = self.tag_file.read_text(encoding="latin-1") if self.tag_file.is_file() else ""
        headers = {"User-Agent": "pairsift", "Accept-Encoding": "identity"}
        if done and tag:
            headers |= {"Range": f"bytes={done}-", "If-Range": tag}
        request = urllib.request.Request(self.url, headers=headers)
        try:
            response = urllib.request.build_opener(_CheckedRedirects).open(request, timeout=self.timeout)
        except urllib.error.HTTPError as error:
            if error.code == 416:  # the partial file does not fit what the server has now
                self.forget()
                raise ConnectionError("the server refused to continue the partial file") from error
            raise
        with response:
            self._receive(response, done)

    def _receive(self, response: Any, done: int) -> None:
        continued = response.status == 206 and str(response.headers.get("Content-Range", "")).startswith(
            f"bytes {done}-"
        )
        if response.status == 206 and not continued:
            self.forget()
            raise ConnectionError("the server sent another range than was asked for")
        done = done if continued else 0
        length = response.headers.get("Content-Length")
        total = done + int(length) if length and length.isdigit() else None
        self._limit(total or 0)
        self.tag_file.write_text(_tag(response.headers), encoding="latin-1")
        with self.partial.open("ab" if continued else "wb") as file:
            while chunk := response.read(CHUNK_BYTES):
                done += len(chunk)
                self._limit(done)
                file.write(chunk)
                if self.progress:
                    self.progress(self.target.name, done, total)
        if total is not None and done < total:
            raise ConnectionError(f"the connection ended after {done} of {total} bytes")

    def _limit(self, size: int) -> None:
        if size > self.max_bytes:
            self.forget()
            raise DatasetError(f"{self.url} is larger than the limit of {self.max_bytes} bytes for it.")

    def finish(self, sha256: str | None) -> None:
        """Check the whole file and give it its name."""
        if sha256 is not None and (got := file_sha256(self.partial)) != sha256:
            self.forget()
            raise DatasetError(
                f"{self.url} has the wrong checksum (sha256 {got}, expected {sha256}); it was not kept. "
                "It may have changed where it is published."
            )
        os.replace(self.partial, self.target)
        self.tag_file.unlink(missing_ok=True)

    def forget(self) -> None:
        """Drop the partial file."""
        for path in (self.partial, self.tag_file):
            with contextlib.suppress(OSError):
                path.unlink()


def _tag(headers: Any) -> str:
    """Return what names this very version of the file, for If-Range: a strong ETag, or the date."""
    etag = headers.get("ETag", "")
    return str(etag if etag and not etag.startswith("W/") else headers.get("Last-Modified", ""))
