"""Accounts, their API keys and their one-time codes: who may call this instance.

They are data of the instance and not facts: a dump of all owners has the accounts, and no key or code. Of
keys and codes only digests are stored (:mod:`graphmem.auth.tokens`), of passwords only hashes
(:mod:`graphmem.auth.passwords`).
"""

import re
import secrets
import uuid
from collections.abc import Collection, Iterable
from typing import Final, NamedTuple, NoReturn

from graphmem.auth import ALL_SCOPES, Actor, Method, Scope, local_actor, passwords, stored_name, tokens
from graphmem.database.driver import Database
from graphmem.errors import AccountConflict, Forbidden, KeyHasChildren, NotFound
from graphmem.model import times
from graphmem.settings import Settings

NAME: Final = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}")
"""A name of an account: up to 64 lower-case letters, digits and ``._@+-``, such as an e-mail address."""
OWNERS_LIMIT: Final = 1_000  # owners without an account that a list names
CODE_SECONDS: Final = 600  # seconds for which a one-time code is valid
_CODE_LETTERS: Final = "ABCDEFGHJKMNPQRSTVWXYZ23456789"
"""The letters of a one-time code: none that looks like another."""
_CODE_GROUPS: Final = 4


class Account(NamedTuple):
    """A row of ``account/_row.cypher``. Keys have its ``scopes`` at most. ``is_erased``: deletion began."""

    id: str
    name: str
    owner: str
    scopes: list[str]
    has_password: bool
    disabled: bool
    created_at: int
    is_erased: bool = False


class ApiKey(NamedTuple):
    """A row of ``account/_key.cypher``. Times are microseconds; ``last_used_at`` is exact to the minute.

    A key ends no later than the keys that made it. ``made_by`` is the id of the key that made it. A person
    made the others: on the page of this service (``page``), with a program (the id of its OAuth grant), or at
    this machine (None).
    """

    key_id: str
    name: str
    scopes: list[str]
    created_at: int
    expires_at: int | None
    last_used_at: int | None
    revoked_at: int | None
    made_by: str | None = None

    def is_valid(self, now: int) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


def actor_of(
    account: Account, client: str, method: Method, scopes: Iterable[str] = ALL_SCOPES, credential: str = "",
    credential_name: str = "",
) -> Actor:  # fmt: skip
    """Return the actor of an account with those of ``scopes`` that it has. Raises AccountConflict: it is
    erased."""
    if account.is_erased:
        raise being_erased(account.name)
    own = {*account.scopes, *((Scope.KEYS, Scope.COPY) if Scope.WRITE in account.scopes else ())}
    return Actor(
        owner=account.owner, scopes=frozenset(map(Scope, scopes)) & frozenset(map(Scope, own)), client=client,
        account=account.id, account_name=account.name, method=method, credential=credential,
        credential_name=credential_name,
    )  # fmt: skip


class Proof(NamedTuple):
    """The account that a person proved to be, and the API key if that was the proof."""

    account: Account
    key: ApiKey | None = None


_State = tuple[Account | None, bool, bool]
"""The account of an owner, whether the owner has data, and whether that data is being erased."""


class Accounts:
    """The accounts of the instance.

    Methods that take the name or the id of an account or a key raise:
        Raises NotFound: there is none.
        Raises AccountConflict: it is being deleted with its data, and would be changed.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self._reads = database.reads(None)
        self._writes = database.writes(None)

    async def create(
        self, name: str, scopes: Collection[str], password: str | None, owner: str | None = None
    ) -> Account:
        """Create an account with an owner of its own, or with one whose data no account reaches.

        Such data is that of an account that was deleted, or came by a restore.

        Raises:
            AccountConflict: the name is taken, or an account has that owner.
            NotFound: nothing is stored for that owner.
        """
        if owner is not None:
            state = await self._reads.one("account.by_owner", _State, owner_id=owner)
            account, has_data, _ = state or (None, False, False)
            if account is not None:
                raise AccountConflict(f"the account {account.name} has the owner {owner}", owner=owner)
            if not has_data:
                raise NotFound(f"nothing is stored here for the owner {owner}", owner=owner)
        account = await self._writes.one(
            "account.create", Account, id=owner or str(uuid.uuid4()), name=name, scopes=sorted(scopes),
            password=password and await passwords.hashed(password), created_at=times.now(),
        )  # fmt: skip
        if account is None:
            raise AccountConflict(f"there is an account {name!r} already: choose another name", name=name)
        return account

    async def is_owner_disabled(self, owner: str) -> bool:
        """Return whether the account of an owner is disabled, or the owner's data is being erased."""
        state = await self._reads.one("account.by_owner", _State, owner_id=owner)
        account, _, is_erased = state or (None, False, False)
        return is_erased or (account is not None and account.disabled)

    async def all(self) -> list[Account]:
        return await self._reads.all("account.all", Account)

    async def owners_without(self) -> list[str]:
        """Return up to :data:`OWNERS_LIMIT` owners who have data and no account, by id."""
        return await self._reads.only("account.owners_without", list[str], limit=OWNERS_LIMIT)

    async def by_name(self, name: str) -> Account:
        account, _ = await self._with_password(name)
        if account is None:
            raise NotFound(f"there is no account {name!r}: `graphmem account list` lists them", name=name)
        return account

    async def _with_password(self, name: str) -> tuple[Account | None, str | None]:
        """Return an account and the hash of its password; None for what there is not."""
        return await self._reads.one("account.by_name", tuple[Account, str | None], name=name) or (None, None)

    async def actor(self, name: str | None, client: str, method: Method) -> Actor:
        """Return the actor of a person at this machine: of a named account, of the local one for None."""
        if name is None:
            return local_actor(client, method)
        return actor_of(await self.by_name(name), client, method)

    async def set_password(self, name: str, password: str | None) -> Account:
        stored = password and await passwords.hashed(password)
        account = await self._writes.one("account.set_password", Account, name=name, password=stored)
        return account or await self._refuse(name)

    async def set_disabled(self, name: str, disabled: bool) -> Account:
        """Disable an account, or enable it again. A disabled one keeps its keys, and none of them works."""
        account = await self._writes.one("account.set_disabled", Account, name=name, disabled=disabled)
        return account or await self._refuse(name)

    async def delete(self, name: str) -> tuple[int, int]:
        """Delete an account; its owner's data stays. Return how many keys and grants went with it."""
        counts = await self._writes.one("account.delete", tuple[int, int], name=name)
        return counts or await self._refuse(name)

    async def close(self, name: str) -> tuple[int, int]:
        """Disable an account for good, and erase its credentials; return how many keys and grants."""
        row = await self._writes.one(
            "account.close", tuple[Account, int, int], name=name, erased_at=times.now()
        )
        return row[1:] if row else await self._refuse(name)

    async def _refuse(self, name: str) -> NoReturn:
        """Say why an account cannot be changed: there is none, or it is being deleted with its data."""
        await self.by_name(name)
        raise being_erased(name)

    async def are_guarded(self) -> bool:
        """Return whether an account has a password or a key: then callers over TCP need a credential."""
        return await self._reads.only("account.guarded", bool)

    async def is_open(self, settings: Settings) -> bool:
        """Return whether callers need no credential. So it is in a sandbox, and on loopback in development
        while nothing guards it."""
        return settings.sandbox or (settings.may_be_open and not await self.are_guarded())

    async def create_key(
        self, account_id: str, owner: str, name: str, scopes: Collection[str], expires_at: int | None,
        maker_id: str | None = None,
    ) -> tuple[str, ApiKey]:  # fmt: skip
        """Create an API key; return the key itself, which is not stored, and its record.

        Args:
            owner: the owner of the account, whose key seals its name.
            maker_id: the id of the key that makes it, or of the OAuth grant.

        Raises:
            Forbidden: the maker is the last of eight keys of which each made the next one.
        """
        secret = tokens.make(tokens.KEY_PREFIX)
        keys = await self.database.writes(owner).all(
            "account.create_key", ApiKey, account_id=account_id, maker_id=maker_id,
            id=f"key_{secrets.token_hex(8)}",
            digest=tokens.digest(secret), name=name, scopes=sorted(scopes), created_at=times.now(),
            expires_at=expires_at,
        )  # fmt: skip
        if not keys:
            raise NotFound("the caller has no account on this instance", account_id=account_id)
        if keys[0] is None:
            raise Forbidden("each of eight keys made the next one: make this key with an earlier one of them")
        return secret, keys[0]

    async def rotate_key(self, account_id: str, key_id: str) -> tuple[str, ApiKey]:
        """Put a new key in the place of one that is not revoked; return it and its record."""
        secret = tokens.make(tokens.KEY_PREFIX)
        key = await self._writes.one(
            "account.rotate_key", ApiKey, account_id=account_id, id=key_id,
            new_id=f"key_{secrets.token_hex(8)}",
            digest=tokens.digest(secret), created_at=times.now(),
        )  # fmt: skip
        if key is None:
            raise _no_key(key_id)
        return secret, key

    async def keys(self, account_id: str) -> list[ApiKey]:
        """Return the API keys of an account, newest first, revoked ones included."""
        return await self._reads.all("account.keys", ApiKey, account_id=account_id)

    async def revoke_key(
        self, account_id: str, key_id: str, children: str = "", *, spares_admin: bool = False
    ) -> ApiKey:
        """Revoke an API key of an account. To revoke it again changes nothing.

        Args:
            children: what becomes of the keys and connections that it made: ``end`` or ``keep``.
            spares_admin: refuse it if no other key has the scope admin, and the account has no password.

        Raises:
            KeyHasChildren: it made some that are in force, and ``children`` is empty.
            AccountConflict: the last key of an administrator would end.
        """
        row = await self._writes.one(
            "account.revoke_key", tuple[ApiKey, str], account_id=account_id, id=key_id,
            revoked_at=times.now(), children=children, spares_admin=spares_admin,
        )  # fmt: skip
        if row is None:
            raise _no_key(key_id)
        key, outcome = row
        if outcome == "children":
            now = times.now()
            made = [each for each in await self.keys(account_id) if each.made_by == key_id]
            named = [{"key_id": each.key_id, "name": each.name} for each in made if each.is_valid(now)]
            raise KeyHasChildren(key_id=key_id, keys=named)
        if outcome == "last":
            raise AccountConflict(
                f"{key_id} is the last credential of an administrator: make another key with the scope admin "
                "first",
                key_id=key_id,
            )
        return key

    async def of_key(self, digest: str) -> tuple[Account, ApiKey] | None:
        """Return the API key of a digest with its account, valid or not."""
        return await self._reads.one("account.of_key", tuple[Account, ApiKey], digest=digest)

    async def create_code(self, account_id: str) -> tuple[str, int]:
        """Return a new one-time code of an account and the time when it expires; earlier codes end."""
        letters = ["".join(secrets.choice(_CODE_LETTERS) for _ in range(4)) for _ in range(_CODE_GROUPS)]
        code, expires_at = "-".join(letters), times.now() + CODE_SECONDS * times.SECOND
        rows = await self._writes.rows(
            "account.create_code", account_id=account_id, digest=tokens.digest(code), expires_at=expires_at
        )
        if not rows:
            raise NotFound("the caller has no account on this instance", account_id=account_id)
        return code, expires_at

    async def prove(self, name: str, secret: str) -> Proof | None:
        """Return which account a person proves to be by a password, an API key or a one-time code.

        ``name`` is needed for a password alone. A wrong secret and an unknown name answer the same and take
        equally long.
        """
        proof = await self._of_secret(secret.strip())
        if proof is None:
            account, password = await self._with_password(stored_name(name))
            if not await passwords.matches(secret, password) or account is None:
                return None
            proof = Proof(account)
        return None if proof.account.disabled else proof

    async def _of_secret(self, secret: str) -> Proof | None:
        now = times.now()
        if secret.startswith(tokens.KEY_PREFIX):
            row = await self.of_key(tokens.digest(secret))
            return Proof(*row) if row is not None and row[1].is_valid(now) else None
        code = secret.upper()
        if len(code) != 5 * _CODE_GROUPS - 1:
            return None
        account = await self._writes.one("account.redeem_code", Account, digest=tokens.digest(code), now=now)
        return Proof(account) if account is not None else None


def being_erased(name: str) -> AccountConflict:
    """Return the refusal of everything but the end of the deletion, for an account that is being erased."""
    return AccountConflict(
        f"the account {name} is being deleted with its data, and can do nothing else: "
        f"`graphmem account delete {name} --with-data` finishes the deletion",
        name=name,
    )


def _no_key(key_id: str) -> NotFound:
    return NotFound(f"there is no key {key_id}: the list of keys has the ids", key_id=key_id)
