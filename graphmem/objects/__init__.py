"""The object store: files by owner and SHA-256, in a local directory or in S3. It knows nothing of Neo4j."""

from importlib.util import find_spec

from graphmem.errors import ConfigurationInvalid
from graphmem.objects.backend import Backend, Leftovers, StoredObject
from graphmem.objects.object_store import ListedObject, ObjectStore, Source
from graphmem.sealing import InstanceKeys
from graphmem.settings import Settings

__all__ = ["Leftovers", "ListedObject", "ObjectStore", "Source", "StoredObject", "new_object_store"]


def new_object_store(settings: Settings, keys: InstanceKeys | None = None) -> ObjectStore:
    """Return the object store of the settings. Nothing is opened or written before it is used. ``keys``:
    those of the instance, None where it is not sealed. Raises ConfigurationInvalid: it needs boto3."""
    if settings.objects_bucket is None:
        return ObjectStore("directory", str(settings.objects_path), lambda: _backend(settings), keys)
    if find_spec("boto3") is None:
        raise ConfigurationInvalid("files in a bucket need one more package: pip install 'graphmem[s3]'")
    where = f" at {settings.objects_endpoint}" if settings.objects_endpoint else ""
    place = f"s3://{settings.objects_bucket}/{settings.objects_prefix}{where}"
    return ObjectStore("s3", place, lambda: _backend(settings), keys)


def _backend(settings: Settings) -> Backend:
    if settings.objects_bucket is None:
        from graphmem.objects.directory import DirectoryBackend

        return DirectoryBackend(settings)
    from graphmem.objects.s3 import S3Backend

    return S3Backend(settings)
