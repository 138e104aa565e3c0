"""Objects in a bucket of S3, or of a store that speaks its protocol. Imported when it is first used."""

import base64
import contextlib
import io
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Final

import boto3
from botocore import exceptions as faults
from botocore.config import Config

from graphmem import __version__, errors
from graphmem.objects.backend import Backend, ByteReader, Leftovers, ObjectEntry, Staged
from graphmem.objects.directory import DirectoryBackend
from graphmem.settings import Settings

CONNECTIONS = 8
RECENT_MICROSECONDS = 600 * 1_000_000
"""An object that was put so recently is not sent again. S3 cannot make an older one recent without it."""

_MISSING: Final = frozenset({"NoSuchKey", "404", "NotFound"})
_FULL: Final = frozenset({"QuotaExceeded", "InsufficientStorage", "XMinioStorageFull", "507"})
_BUSY: Final = frozenset({"SlowDown", "RequestTimeout", "RequestTimeTooSkewed", "ThrottlingException"})
_SETTINGS: Final = (
    faults.NoCredentialsError, faults.PartialCredentialsError, faults.CredentialRetrievalError,
    faults.TokenRetrievalError, faults.UnauthorizedSSOTokenError, faults.NoRegionError,
    faults.InvalidRegionError, faults.InvalidConfigError, faults.InvalidEndpointConfigurationError,
    faults.ProfileNotFound, faults.ConfigNotFound, faults.ConfigParseError, faults.ParamValidationError,
    ValueError,
)  # fmt: skip
"""Raised before anything is sent, because credentials, region, address or name of the bucket are wrong.
``ValueError``: the address of the endpoint is none.
"""


class S3Backend(Backend):
    """A bucket. boto3 looks for credentials, and for the region unless the settings name it.

    Every object is sent by one request with its SHA-256, which the server compares with what arrives: the key
    appears when all bytes are there, and a request that breaks leaves no parts that cost money.
    """

    def __init__(self, settings: Settings) -> None:
        assert settings.objects_bucket is not None
        self._bucket = settings.objects_bucket
        self._prefix = settings.objects_prefix
        self._encryption = _encryption(settings)
        self._settings = settings
        # Bytes wait on the disk: their hash, which is their key, is known only at their end.
        self._waiting = DirectoryBackend(settings)
        self._opening = threading.Lock()
        self._opened: Any = None

    def stage(self) -> Staged:
        return self._waiting.stage()

    def commit(self, key: str, staged: Staged) -> None:
        """Send the temporary file, unless the server says that it got these bytes lately."""
        digest = base64.b64encode(bytes.fromhex(staged.stored().sha256)).decode()
        answer = self._head(key, ChecksumMode="ENABLED")
        if (
            answer is not None
            and (answer["ContentLength"], answer.get("ChecksumSHA256")) == (staged.size, digest)
            and abs(time.time_ns() // 1_000 - _microseconds(answer["LastModified"])) < RECENT_MICROSECONDS
        ):
            return
        staged.file.seek(0)
        with s3_errors():
            self._client().put_object(
                Bucket=self._bucket, Key=self._prefix + key, Body=staged.file, ContentLength=staged.size,
                ContentType="application/octet-stream", ChecksumSHA256=digest, **self._encryption,
            )  # fmt: skip

    def open(self, key: str, start: int = 0, end: int | None = None) -> ByteReader:
        sha256 = key.rpartition("/")[2]
        if end == start:
            entry = self.find(key)
            if entry is None:
                raise errors.ObjectMissing(sha256=sha256)
            return ByteReader(io.BytesIO(), entry.size, s3_errors)
        byte_range = (
            {} if (start, end) == (0, None) else {"Range": f"bytes={start}-{'' if end is None else end - 1}"}
        )
        with s3_errors(sha256):
            answer = self._client().get_object(Bucket=self._bucket, Key=self._prefix + key, **byte_range)
        total = answer.get("ContentRange", "").rpartition("/")[2]
        size = int(total) if total.isdecimal() else answer["ContentLength"]
        return ByteReader(answer["Body"], size, partial(s3_errors, sha256))

    def find(self, key: str) -> ObjectEntry | None:
        answer = self._head(key)
        if answer is None:
            # The answer about a key does not tell whether the bucket is missing.
            try:
                with s3_errors():
                    self._client().head_bucket(Bucket=self._bucket)
            except errors.ObjectMissing as exc:
                raise errors.ObjectStoreRefused(reason="NoSuchBucket") from exc
            return None
        return ObjectEntry(key, answer["ContentLength"], _microseconds(answer["LastModified"]))

    def delete(self, key: str, modified_before: int | None = None) -> bool:
        entry = self.find(key)
        if entry is None or (modified_before is not None and entry.modified_at >= modified_before):
            return False
        with s3_errors():
            self._client().delete_object(Bucket=self._bucket, Key=self._prefix + key)
        return True

    def pages(self, segment: str | None = None) -> Iterator[list[ObjectEntry]]:
        below = self._prefix + (f"{segment}/" if segment else "")
        with s3_errors():
            listing = self._client().get_paginator("list_objects_v2")
            for page in listing.paginate(Bucket=self._bucket, Prefix=below):
                yield [
                    ObjectEntry(
                        item["Key"][len(self._prefix) :], item["Size"], _microseconds(item["LastModified"])
                    )
                    for item in page.get("Contents", ())
                ]

    def leftovers(self, modified_before: int, *, remove: bool) -> Leftovers:
        return self._waiting.leftovers(modified_before, remove=remove)

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()

    def _head(self, key: str, **more: str) -> Mapping[str, Any] | None:
        """Return what the server says of an object, ``None`` if there is none, or no bucket."""
        try:
            with s3_errors():
                return self._client().head_object(Bucket=self._bucket, Key=self._prefix + key, **more)
        except errors.ObjectMissing:
            return None

    def _client(self) -> Any:
        with self._opening:
            if self._opened is None:
                self._opened = _new_client(self._settings)
            return self._opened


def _new_client(settings: Settings) -> Any:
    addressing = "virtual"
    if settings.objects_path_style is None:
        # Few stores but AWS have a host name for each bucket. At AWS, boto3 chooses by its name.
        addressing = "path" if settings.objects_endpoint else "auto"
    elif settings.objects_path_style:
        addressing = "path"
    config = Config(
        connect_timeout=settings.objects_connect_timeout,
        read_timeout=settings.objects_read_timeout,
        retries={"mode": "standard", "total_max_attempts": settings.objects_attempts},
        max_pool_connections=CONNECTIONS,
        s3={"addressing_style": addressing},
        # Other stores refuse the checksums that boto3 adds by itself. Ours are the SHA-256 of put and read.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        user_agent_extra=f"graphmem/{__version__}",
    )
    with s3_errors():
        return boto3.Session().client(
            "s3", endpoint_url=settings.objects_endpoint, region_name=settings.objects_region, config=config
        )


def _encryption(settings: Settings) -> dict[str, str]:
    """Return the parameters of a put that say how the server encrypts the object."""
    if settings.objects_encryption is None:
        return {}
    chosen = {"ServerSideEncryption": settings.objects_encryption}
    return chosen | ({"SSEKMSKeyId": settings.objects_kms_key} if settings.objects_kms_key else {})


def _microseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000)


@contextlib.contextmanager
def s3_errors(sha256: str = "") -> Iterator[None]:
    """Raise errors of boto3 as errors of the object store.

    Args:
        sha256: the hash of the object that is requested.

    Raises:
        ObjectMissing: there is no such object.
        ObjectDamaged: the object ends before the range that is requested.
        ObjectStoreRefused: access is denied, there is no such bucket, or credentials or settings are wrong.
        ObjectStoreFull: a quota is used up.
        ObjectStoreUnavailable: the store does not answer, or fails.
    """
    try:
        yield
    except faults.ClientError as exc:
        raise _of_answer(exc.response, sha256) from exc
    except _SETTINGS as exc:
        raise errors.ObjectStoreRefused(reason=_reason(exc)) from exc
    except (faults.BotoCoreError, OSError) as exc:
        raise errors.ObjectStoreUnavailable(reason=_reason(exc)) from exc


def _of_answer(answer: Mapping[str, Any], sha256: str) -> errors.GraphmemError:
    code = str(answer.get("Error", {}).get("Code", ""))
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code in _MISSING:
        return errors.ObjectMissing(sha256=sha256)
    if code == "InvalidRange":
        return errors.ObjectDamaged(sha256=sha256)
    if code in _FULL or status == 507:
        return errors.ObjectStoreFull(reason=code)
    if code in _BUSY or status >= 500 or status == 429:
        return errors.ObjectStoreUnavailable(reason=code)
    return errors.ObjectStoreRefused(reason=code)


def _reason(error: Exception) -> str:
    # The texts of boto3 hold addresses, and at times the answer of a metadata service.
    return type(error).__name__
