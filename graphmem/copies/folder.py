"""The exchange through a folder that copies share: a synchronised one, or one on a USB stick.

A page ``COPY.NODE-START-END-TAG`` covers places of its writer's database. It is taken by who has read up to
START or beyond, and what its facts may need of other copies; so lost places may be written in other pages.
"""

import asyncio
import os
import re
import secrets
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from graphmem import errors
from graphmem.context import Services
from graphmem.copies.remote_copy import RemoteCopy
from graphmem.dump.pages import Page
from graphmem.model import canonical
from graphmem.objects import ObjectStore
from graphmem.objects.backend import CHUNK_BYTES, disk_errors
from graphmem.objects.directory import INCOMING, LOCK, DirectoryBackend
from graphmem.objects.sealed import SealedReader, SealedStaged
from graphmem.sealing.instance_keys import KEY_ID_BYTES, InstanceKeys, OwnerKey
from graphmem.sealing.root_key import KEY_BYTES, derived
from graphmem.sealing.sealed_files import HEAD_BYTES

SCHEME: Final = "file:"
_FACTS, _FILES, _ABOUT = "facts", "files", "facts/about"
_NAMES: Final = (INCOMING, LOCK, _FACTS, _FILES)  # what a folder has
_PAGE: Final = re.compile(r"(copy_[0-9a-f]{24}\.[0-9a-f]{8})-([0-9]{12})-([0-9]{12})-[0-9a-f]{8}", re.ASCII)


class _FolderKeys(InstanceKeys):
    """The one key of a folder. Raises InvalidInput: the text holds none."""

    def __init__(self, text: str) -> None:
        if not re.fullmatch(r"gm_fk_[0-9a-f]{64}", text):
            raise errors.InvalidInput.at("$.key", "give the key that `copies add` printed: gm_fk_…")
        secret = bytes.fromhex(text[6:])
        self.key = OwnerKey(derived(secret, "folder", length=KEY_ID_BYTES).hex(), _FILES, secret)
        self.of = self.first_of = self.find = lambda *names, **named: self.key


class Folder(RemoteCopy):
    """A folder in place of another service. ``url`` is ``file:`` and an absolute path; without a ``key``, a
    new one is made. ``own_id`` is this copy. Raises InvalidInput: url or key are none. Methods raise
    FolderUnreachable, ObjectStoreUnavailable, and CopyRefused: a link is in the folder."""

    def __init__(
        self, url: str, key: str, services: Services, owner: str, own_id: str = "", files: str = "now"
    ) -> None:
        root = Path(os.path.normpath(os.path.expanduser(url.removeprefix(SCHEME))))
        if not root.is_absolute() or not str(root).isprintable():
            raise errors.InvalidInput.at("$.url", "give an absolute path, as in file:/home/ada/Sync/memory")
        self.key = key or f"gm_fk_{secrets.token_hex(KEY_BYTES)}"
        self._keys, self._backend = _FolderKeys(self.key), DirectoryBackend(services.settings, root)
        super().__init__(f"{SCHEME}{root}", None, f"folder_{self._keys.key.id}")
        self._store = ObjectStore("directory", url, lambda: self._backend, self._keys)
        self._root, self._objects, self._owner = root, services.objects, owner
        self._own, self._files = own_id, files
        self._read: dict[str, int] = {}  # by writer: the place up to which its pages are read, or written
        self._stream, self._begin, self._needs = "", 0, dict[str, int]()

    async def about(self, new: Mapping[str, Any] | None = None) -> Any:
        """Return what the copy that made the folder said of itself; an empty folder gets a ``new``."""
        try:
            return await asyncio.to_thread(self._open, _ABOUT, new)
        except (errors.ObjectMissing, errors.ObjectDamaged):
            raise errors.FolderUnreachable(folder=str(self._root)) from None

    async def ask(self, method: str, path: str, **arguments: Any) -> Any:
        """Return the next page that can be taken, without facts if there is none."""
        if "content_hash" in arguments:
            raise errors.ObjectMissing(sha256=arguments["content_hash"])
        about = await self.about()
        self._read = canonical.decode(arguments["after"] or "{}")
        page = await self._next() or {"transactions": 0, "set_id": about["set_id"]}
        return {**page, "cursor": canonical.encode(self._read), "more": page["transactions"] > 0}

    async def _next(self) -> dict[str, Any] | None:
        problems: list[str] = []
        for stream, begin, end, name in await asyncio.to_thread(self._pages, problems):
            at = self._read.get(stream, 0)
            if end <= at or stream.startswith(self._own):
                continue
            try:
                if begin > at:
                    raise errors.ObjectMissing(sha256=f"{stream}-{at:012d}-…")
                page = await asyncio.to_thread(self._open, f"{_FACTS}/{name}")
                for needed, place in page["needs"].items():
                    if self._read.get(needed, 0) < place and not needed.startswith(self._own):
                        raise errors.ObjectMissing(sha256=f"{needed}-…-{place:012d}")
                for sha256, size in page["files"].items() if self._files == "now" else ():
                    if not await self._objects.exists(self._owner, sha256):
                        if await self._store.size(_FILES, sha256) != size:
                            raise errors.ObjectMissing(sha256=f"the file {sha256}")
                        await self._objects.put(self._owner, self._store.read(_FILES, sha256))
                        self.files += 1
            except (errors.ObjectMissing, errors.DecryptionFailed) as exc:
                problems.append(f"{name} waits for {exc.details.get('sha256', 'its files')}")
            except (errors.ObjectDamaged, ValueError, KeyError, TypeError) as exc:
                foreign = getattr(exc, "details", {}).get("object", name)  # the page, or a file that it names
                problems.append(f"{foreign} is not from these copies, and is left")
            else:
                self._read[stream] = end
                return page
        self.problem = "; ".join(problems)[:400]
        return None

    async def resume(self, pushed: int, node_key: str) -> tuple[int, str]:
        """Go on after the place ``pushed``. Where pages of this copy are lost, go on there, with all facts:
        pages of others may need what is lost, so what is given for it must not need those."""
        self._stream, end = f"{self._own}.{node_key[:8]}", 0
        for stream, begin, until, _ in await asyncio.to_thread(self._pages, []):
            end = max(end, until) if stream == self._stream and begin <= end else end
        at = self._read.get(self._stream, 0)
        self._begin, self._needs = min(end, at), {} if end < at else {**self._read}
        return (end, "") if end < at else (pushed, self.id)

    async def give(self, own_id: str, set_id: str, page: Page) -> dict[str, Any]:
        """Write a page, after the bytes of its files that are here."""
        files: dict[str, int] = {}
        for sha256 in page.files:
            if await self._objects.exists(self._owner, sha256):
                if not await self._store.exists(_FILES, sha256):
                    await self._store.put(_FILES, self._objects.read(self._owner, sha256))
                files[sha256] = await self._objects.size(self._owner, sha256)
        name = f"{_FACTS}/{self._stream}-{self._begin:012d}-{page.last:012d}-{secrets.token_hex(4)}"
        more = {"set_id": set_id, "files": files, "needs": self._needs}
        await asyncio.to_thread(self._write, name, page._asdict() | more)
        self._read[self._stream] = max(page.last, self._read.get(self._stream, 0))
        self.noted["cursor"] = canonical.encode(self._read)
        return {"missing_files": [], "refused": []}

    def _pages(self, problems: list[str]) -> list[tuple[str, int, int, str]]:
        """Return writer, start, end and name of the pages, sorted; note what is none."""
        pages: list[tuple[str, int, int, str]] = []
        with disk_errors(), os.scandir(self._root / _FACTS) as entries:
            for each in (*map(self._root.joinpath, _NAMES), *self._root.glob(f"{_FILES}/*")):
                if each.is_symlink():
                    raise errors.CopyRefused(f"{each} is a link, which is not followed: remove it")
            for entry in entries:
                match = _PAGE.fullmatch(entry.name)
                if match and entry.is_file(follow_symlinks=False):
                    pages.append((match[1], int(match[2]), int(match[3]), entry.name))
                elif entry.name != "about" and not entry.name.startswith("."):
                    problems.append(f"{ascii(entry.name)[:100]} is not from these copies, and is left")
        return sorted(pages)

    def _open(self, key: str, new: Mapping[str, Any] | None = None) -> Any:
        """Return what a file holds. Raises ObjectMissing: it is not whole. ObjectDamaged: it is foreign."""
        if new is not None and not any(os.path.lexists(self._root / name) for name in _NAMES):
            self._write(key, new)
        if (entry := self._backend.find(key)) is None or entry.size <= HEAD_BYTES:
            raise errors.ObjectMissing(sha256="its end")
        with closing(SealedReader(self._keys, self._backend, _FILES, key, 0, None)) as reader:
            try:
                return canonical.decode(b"".join(iter(lambda: reader.read(CHUNK_BYTES), b"")))
            except errors.ObjectDamaged:
                raise errors.ObjectMissing(sha256="its end") from None

    def _write(self, key: str, content: Mapping[str, Any]) -> None:
        with closing(SealedStaged(self._keys, _FILES, self._backend.stage())) as staged:
            staged.write(canonical.encode(content).encode())
            self._backend.commit(key, staged.finish(key.rpartition("/")[2]))
