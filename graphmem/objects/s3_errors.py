"""From the errors of boto3 to those of the object store."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConfigNotFound,
    ConfigParseError,
    CredentialRetrievalError,
    InvalidConfigError,
    InvalidEndpointConfigurationError,
    InvalidRegionError,
    NoCredentialsError,
    NoRegionError,
    ParamValidationError,
    PartialCredentialsError,
    ProfileNotFound,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)

from graphmem.errors import (
    GraphmemError,
    ObjectDamaged,
    ObjectMissing,
    ObjectStoreFull,
    ObjectStoreRefused,
    ObjectStoreUnavailable,
)

_MISSING: Final = frozenset({"NoSuchKey", "404", "NotFound"})
_FULL: Final = frozenset({"QuotaExceeded", "InsufficientStorage", "XMinioStorageFull", "507"})
_BUSY: Final = frozenset({"SlowDown", "RequestTimeout", "RequestTimeTooSkewed", "ThrottlingException"})
_SETTINGS: Final = (
    NoCredentialsError, PartialCredentialsError, CredentialRetrievalError, TokenRetrievalError,
    UnauthorizedSSOTokenError, NoRegionError, InvalidRegionError, InvalidConfigError,
    InvalidEndpointConfigurationError, ProfileNotFound, ConfigNotFound, ConfigParseError,
    ParamValidationError, ValueError,
)  # fmt: skip
"""Raised before anything is sent, because credentials, region, address or name of the bucket are wrong.
``ValueError``: the address of the endpoint is none.
"""


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
    except ClientError as exc:
        raise _of_answer(exc.response, sha256) from exc
    except _SETTINGS as exc:
        raise ObjectStoreRefused(reason=_reason(exc)) from exc
    except (BotoCoreError, OSError) as exc:
        raise ObjectStoreUnavailable(reason=_reason(exc)) from exc


def _of_answer(answer: Mapping[str, Any], sha256: str) -> GraphmemError:
    """Return the error that the answer of the store stands for."""
    code = str(answer.get("Error", {}).get("Code", ""))
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code in _MISSING:
        return ObjectMissing(sha256=sha256)
    if code == "InvalidRange":
        return ObjectDamaged(sha256=sha256)
    if code in _FULL or status == 507:
        return ObjectStoreFull(reason=code)
    if code in _BUSY or status >= 500 or status == 429:
        return ObjectStoreUnavailable(reason=code)
    return ObjectStoreRefused(reason=code)


def _reason(error: Exception) -> str:
    # The texts of boto3 hold addresses, and at times the answer of a metadata service.
    return type(error).__name__
