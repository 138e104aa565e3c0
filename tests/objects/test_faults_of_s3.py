"""The object store in S3 under faults: a server that is down, killed, slow or refuses."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore import exceptions as botocore_exceptions

from graphmem.errors import (
    ConfigurationInvalid,
    GraphmemError,
    ObjectMissing,
    ObjectStoreFull,
    ObjectStoreRefused,
    ObjectStoreUnavailable,
)
from graphmem.objects import ObjectStore, new_object_store
from graphmem.objects.s3 import RECENT_MICROSECONDS, s3_errors
from graphmem.settings import load
from tests.support.imports import imported_by
from tests.support.object_places import (
    OWNER,
    ObjectPlace,
    collected,
    directory_place,
    listing,
    parts,
    random_bytes,
    s3_place,
    sha256,
    whole,
)
from tests.support.s3_server import S3Server, Versitygw
from tests.support.service import free_port
from tests.support.tcp_proxy import Proxy
from tests.support.walks import walk_over

FAST: dict[str, Any] = {"objects_connect_timeout": 0.5, "objects_read_timeout": 1.0, "objects_attempts": 2}


def test_a_server_that_is_down_is_told_in_bounded_time(victim: Versitygw, tmp_path: Path) -> None:
    place = s3_place(victim.server, tmp_path / "data", **FAST)

    async def work(store: ObjectStore) -> None:
        await store.put(OWNER, parts(b"one"))
        victim.kill()
        calls: list[Callable[[], Any]] = [
            lambda: store.put(OWNER, parts(b"two")),
            lambda: whole(store, OWNER, sha256(b"one")),
            lambda: store.size(OWNER, sha256(b"one")),
            lambda: store.exists(OWNER, sha256(b"one")),
            lambda: store.delete(OWNER, sha256(b"one")),
            lambda: listing(store),
            store.check,
        ]
        for call in calls:
            start = time.monotonic()
            with pytest.raises(ObjectStoreUnavailable) as caught:
                await call()
            assert (caught.value.status, caught.value.retryable) == (503, True)
            assert time.monotonic() - start < 20
        await asyncio.to_thread(victim.start)
        assert await whole(store, OWNER, sha256(b"one")) == b"one"

    place.run(work)


def test_a_server_that_is_killed_in_a_put_has_no_half_object(victim: Versitygw, tmp_path: Path) -> None:
    place = s3_place(victim.server, tmp_path / "data", **FAST)
    content = random_bytes(20_000_000)

    async def work(_: ObjectStore) -> None:
        proxy = Proxy(victim.server.endpoint)
        await proxy.start()
        through = ObjectPlace(
            place.settings.model_copy(update={"objects_endpoint": proxy.uri}), victim.server
        )
        proxy.slow(0.02)
        task = asyncio.create_task(
            asyncio.to_thread(through.run, lambda store: store.put(OWNER, parts(content)))
        )
        await asyncio.sleep(2)
        assert not task.done()
        await asyncio.to_thread(victim.kill)
        with pytest.raises(ObjectStoreUnavailable):
            await task
        await proxy.close()

    place.run(work)
    victim.start()

    async def after(store: ObjectStore) -> None:
        assert not await store.exists(OWNER, sha256(content))
        assert await listing(store) == []
        await store.put(OWNER, parts(content))
        assert await whole(store, OWNER, sha256(content)) == content

    place.run(after)


def test_a_connection_that_breaks_in_a_read_never_ends_an_answer(server: S3Server, tmp_path: Path) -> None:
    place = s3_place(server, tmp_path / "data", **FAST)
    content = random_bytes(20_000_000)
    # A busy machine may take longer for the write than the reads are allowed.
    patient = s3_place(server, tmp_path / "data", objects_bucket=place.settings.objects_bucket)
    patient.run(lambda store: store.put(OWNER, parts(content)))

    async def work(_: ObjectStore) -> None:
        for fault in ("cut", "stall"):
            proxy = Proxy(server.endpoint)
            await proxy.start()
            through = place.settings.model_copy(update={"objects_endpoint": proxy.uri})

            async def read(store: ObjectStore, proxy: Proxy = proxy, fault: str = fault) -> None:
                received = bytearray()
                reading = store.read(OWNER, sha256(content))
                received += await anext(reading)
                getattr(proxy, fault)()
                with pytest.raises(ObjectStoreUnavailable):
                    await collected(reading, received)
                assert len(received) < len(content)

            store = new_object_store(through)
            try:
                await read(store)
            finally:
                await store.close()
                await proxy.close()

    place.run(work)


def test_a_bucket_that_is_not_there_is_told(server: S3Server, tmp_path: Path) -> None:
    place = s3_place(server, tmp_path / "data", **FAST)
    place.settings = place.settings.model_copy(update={"objects_bucket": "there-is-no-such-bucket"})

    async def work(store: ObjectStore) -> None:
        for call in (
            lambda: store.put(OWNER, parts(b"one")),
            lambda: whole(store, OWNER, sha256(b"one")),
            lambda: store.exists(OWNER, sha256(b"one")),
            lambda: listing(store),
        ):
            with pytest.raises(ObjectStoreRefused):
                await call()

    place.run(work)


def test_wrong_credentials_are_told_and_not_shown(
    server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = s3_place(server, tmp_path / "data", **FAST)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another-secret-of-nobody")

    async def work(store: ObjectStore) -> None:
        with pytest.raises(ObjectStoreRefused) as caught:
            await store.put(OWNER, parts(b"one"))
        assert caught.value.details["reason"]
        assert "another-secret" not in f"{caught.value} {caught.value.details}"

    place.run(work)


def test_no_credentials_are_told(server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = s3_place(server, tmp_path / "data", **FAST)
    for name in server.variables:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))

    async def work(store: ObjectStore) -> None:
        with pytest.raises(ObjectStoreRefused) as caught:
            await store.check()
        assert caught.value.details["reason"] == "NoCredentialsError"

    place.run(work)


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("SlowDown", 503, ObjectStoreUnavailable),
        ("InternalError", 500, ObjectStoreUnavailable),
        ("", 502, ObjectStoreUnavailable),
        ("ThrottlingException", 400, ObjectStoreUnavailable),
        ("AccessDenied", 403, ObjectStoreRefused),
        ("ExpiredToken", 400, ObjectStoreRefused),
        ("NoSuchBucket", 404, ObjectStoreRefused),
        ("NoSuchKey", 404, ObjectMissing),
        ("404", 404, ObjectMissing),
        ("QuotaExceeded", 403, ObjectStoreFull),
        ("InsufficientStorage", 507, ObjectStoreFull),
    ],
)
def test_each_answer_of_a_server_has_its_error(code: str, status: int, kind: type[GraphmemError]) -> None:
    answer: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    with pytest.raises(GraphmemError) as caught, s3_errors("0" * 64):
        raise botocore_exceptions.ClientError(answer, "PutObject")
    assert type(caught.value) is kind


def every_error() -> list[type[Exception]]:
    """Return every exception of botocore that says what went wrong by itself."""
    errors: list[type[Exception]] = []
    waiting: list[type[Exception]] = [botocore_exceptions.BotoCoreError]
    while waiting:
        error = waiting.pop()
        errors.append(error)
        waiting += error.__subclasses__()
    return errors


@walk_over("error", every_error())
def test_each_error_of_boto3_is_one_of_the_store(error: type[Exception]) -> None:
    with pytest.raises(ObjectStoreUnavailable) as caught, s3_errors():
        raise error.__new__(error)
    assert caught.value.details["reason"] == error.__name__


def test_an_old_object_is_sent_again_so_that_it_is_new(
    server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = s3_place(server, tmp_path / "data")

    async def work(store: ObjectStore) -> None:
        await store.put(OWNER, parts(b"one"))
        (first,) = await listing(store)
        later = time.time_ns() + (RECENT_MICROSECONDS + 5_000_000) * 1_000
        # S3 tells the time in seconds.
        await asyncio.sleep(1.1)
        monkeypatch.setattr("graphmem.objects.s3.time.time_ns", lambda: later)
        await store.put(OWNER, parts(b"one"))
        (second,) = await listing(store)
        assert second.modified_at > first.modified_at

    place.run(work)


def test_an_address_without_a_server_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x" * 20)
    place = directory_place(
        tmp_path, objects_bucket="files", objects_endpoint=f"http://127.0.0.1:{free_port()}", **FAST
    )

    async def work(store: ObjectStore) -> None:
        with pytest.raises(ObjectStoreUnavailable):
            await store.check()

    place.run(work)


def test_boto3_is_imported_by_the_first_use_of_a_bucket_only(tmp_path: Path) -> None:
    opened = (
        "import asyncio, sys\n"
        "import graphmem.runtime\n"
        "from graphmem.objects import new_object_store\n"
        "from graphmem.settings import load\n"
        "store = new_object_store(load(objects_bucket='files', data_dir=sys.argv[1]))\n"
        "asyncio.run(store.close())\n"
    )
    modules = imported_by(opened, str(tmp_path))
    assert "graphmem.objects.object_store" in modules
    assert not {name for name in modules if name.split(".")[0] in ("boto3", "botocore")}


def test_a_bucket_without_its_package_is_refused_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(ConfigurationInvalid, match=re.escape("pip install 'graphmem[s3]'")):
        new_object_store(load(objects_bucket="files", data_dir=tmp_path))
    assert new_object_store(load(data_dir=tmp_path)).kind == "directory"
