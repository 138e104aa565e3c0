"""The requests to S3: address, region, encryption and checksum are as the settings say."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.awsrequest import AWSResponse

from graphmem import settings
from graphmem.objects.s3 import S3Backend
from tests.support.object_places import OWNER, sha256

CONTENT = b"one"


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials and region as AWS names them."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key-of-nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-nobody")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-north-1")


class Body:
    """The empty body of an answer."""

    def stream(self, **_: Any) -> list[bytes]:
        return []


def sent_put(folder: Path, **chosen: Any) -> Any:
    """Return the PUT request that a store with these settings sends."""
    backend = S3Backend(settings.load(env="test", data_dir=folder, disk_reserve=0, **chosen))
    requests = []

    def answer(request: Any, **_: Any) -> AWSResponse:
        requests.append(request)
        return AWSResponse(request.url, 404 if request.method == "HEAD" else 200, {}, Body())

    backend._client().meta.events.register("before-send.s3", answer)
    staged = backend.stage()
    try:
        staged.write(CONTENT)
        backend.commit(f"{OWNER}/{sha256(CONTENT)[:2]}/{sha256(CONTENT)}", staged)
    finally:
        staged.close()
        backend.close()
    assert [request.method for request in requests] == ["HEAD", "PUT"]
    return requests[-1]


def header(request: Any, name: str) -> str | None:
    """Return a header of a request."""
    value = request.headers.get(name)
    return value.decode() if isinstance(value, bytes) else value


@pytest.mark.parametrize(
    ("chosen", "host", "path"),
    [
        ({}, "files.s3.eu-north-1.amazonaws.com", ""),
        ({"objects_region": "us-west-2"}, "files.s3.us-west-2.amazonaws.com", ""),
        ({"objects_path_style": True}, "s3.eu-north-1.amazonaws.com", "/files"),
        ({"objects_endpoint": "https://store.example.org:9000"}, "store.example.org:9000", "/files"),
        (
            {"objects_endpoint": "https://store.example.org", "objects_path_style": False},
            "files.store.example.org",
            "",
        ),
        ({"objects_prefix": "a/b"}, "files.s3.eu-north-1.amazonaws.com", "/a/b"),
    ],
)
def test_the_address_is_that_of_the_settings(
    tmp_path: Path, chosen: dict[str, Any], host: str, path: str
) -> None:
    address = urlsplit(sent_put(tmp_path, objects_bucket="files", **chosen).url)
    digest = sha256(CONTENT)
    assert (address.scheme, address.netloc) == ("https", host)
    assert address.path == f"{path}/{OWNER}/{digest[:2]}/{digest}"


def test_the_server_gets_the_hash_to_compare(tmp_path: Path) -> None:
    request = sent_put(tmp_path, objects_bucket="files")
    expected = base64.b64encode(hashlib.sha256(CONTENT).digest())
    assert header(request, "x-amz-checksum-sha256") == expected.decode()
    assert header(request, "Content-Length") == "3"
    assert "graphmem/" in (header(request, "User-Agent") or "")
    assert header(request, "x-amz-server-side-encryption") is None


@pytest.mark.parametrize(
    ("chosen", "encryption", "key"),
    [
        ({"objects_encryption": "AES256"}, "AES256", None),
        ({"objects_encryption": "aws:kms"}, "aws:kms", None),
        ({"objects_encryption": "aws:kms", "objects_kms_key": "alias/files"}, "aws:kms", "alias/files"),
    ],
)
def test_the_server_is_asked_to_encrypt(
    tmp_path: Path, chosen: dict[str, Any], encryption: str, key: str | None
) -> None:
    request = sent_put(tmp_path, objects_bucket="files", **chosen)
    assert header(request, "x-amz-server-side-encryption") == encryption
    assert header(request, "x-amz-server-side-encryption-aws-kms-key-id") == key
