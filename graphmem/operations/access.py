"""Who the caller is, and the API keys of the caller's account."""

from typing import Annotated, Final, Literal, NotRequired

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from graphmem.arguments import Arguments, NoBool, NotBlank, Nothing
from graphmem.auth import ALL_SCOPES, FIRST_CREDENTIAL, Actor, Method
from graphmem.auth.accounts import Accounts, ApiKey
from graphmem.context import Context
from graphmem.errors import Forbidden
from graphmem.model import times
from graphmem.model.attribution import described, is_writer_id
from graphmem.reading import answers
from graphmem.reading.pages import Paged, PageEnvelope, page_of
from graphmem.registry import Scope, operation

DAYS_LIMIT: Final = 3650
KEY_NAME_LIMIT: Final = 100
_SECRET_HINT: Final = "store the secret now: no later answer has it. Send it as `Authorization: Bearer …`"


class Storage(TypedDict):
    """Where this machine's instance keeps its data."""

    storage_backend: str
    data_dir: str


class NextWrite(TypedDict):
    """What the next write of the caller carries: who wrote, as provenance names it and as a person reads it.

    ``tier`` is how far the writer is verified: operator_attested (an issuer that the service knows vouches
    for the agent), software (an agent signed), unverified_client (the program gave a name) or anonymous.
    ``why`` says what the attribution rests on.
    """

    provenance: answers.Writer
    written_by: str
    tier: str
    why: str


_WHY: Final = {
    Method.NONE: "nothing guards the service, so nothing says who calls",
    Method.TOKEN: "the caller has the static token of the service",
    Method.KEY: "the caller has this API key",
    Method.OAUTH: "the account allowed this client by OAuth",
    Method.SOCKET: "the caller is a program of this machine's user",
    Method.PROCESS: "the command works on the database itself",
    Method.SANDBOX: "the service is a public sandbox, and everybody is its shared account",
}


def next_write(actor: Actor) -> NextWrite:
    proof = "no agent signed the request" if actor.signer is None else "an agent signed the request"
    return {
        "provenance": answers.writer(actor.agent, actor.client, actor.by),
        "written_by": described(actor.by, actor.client),
        "tier": actor.tier,
        "why": f"{_WHY[actor.method]}; {proof}",
    }


class Me(TypedDict):
    """The caller: ``user_id`` is the id of the account, ``owner`` that of the data it works on.

    ``authentication`` says how the caller authenticated: none, token (SERVICE_BEARER_TOKEN), key, oauth,
    socket (the Unix socket of this machine), process (a command that works on the database itself) or sandbox
    (nobody does: every caller of a public sandbox is one account).
    ``credential`` is the id of the API key or of the OAuth connection. Callers by the socket or in process
    have ``storage``. ``next_write`` is what the next write of the caller would carry.
    """

    user_id: str
    account: str
    owner: str
    scopes: list[str]
    authentication: str
    credential: NotRequired[str]
    client: str
    sandbox_mode: bool
    next_write: NextWrite
    storage: NotRequired[Storage]


@operation("auth.whoami", Scope.READ)
async def who_am_i(context: Context, arguments: Nothing) -> Me:
    """Return the account that the caller acts for, its scopes, and how it authenticated."""
    actor = context.actor
    answer: Me = {
        "user_id": actor.account,
        "account": actor.account_name,
        "owner": actor.owner,
        "scopes": sorted(actor.scopes),
        "authentication": actor.method,
        "client": actor.client,
        "sandbox_mode": context.services.settings.sandbox,
        "next_write": next_write(actor),
    }
    if actor.method in (Method.SOCKET, Method.PROCESS):
        answer["storage"] = {"storage_backend": "neo4j", "data_dir": str(context.services.settings.data_path)}
    if actor.credential:
        answer["credential"] = actor.credential
    return answer


@operation("auth.session", Scope.READ)
async def session_identity(context: Context, arguments: Nothing) -> NextWrite:
    """Return who the next write of this session will be attributed to, how far that is verified, and why."""
    return next_write(context.actor)


class Key(TypedDict):
    """An API key without its secret. ``last_used_at`` is exact to the minute.

    ``made_by`` is the id of the key that made it: it ends no later than that key, which ``expires_at`` and
    ``state`` say. Keys that a person made end by themselves: ``page`` (on the page of this service), the id
    of a connection (with a program that may make keys), or null (on this machine, or unknown).
    """

    key_id: str
    name: str
    state: Literal["active", "expired", "revoked"]
    scopes: list[str]
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None
    made_by: str | None


class Warning(TypedDict):
    """What the caller should know: ``code`` is for programs, ``message`` for people."""

    code: str
    message: str


def _no_id(name: str) -> str:
    if is_writer_id(name):
        raise ValueError("it has the form of an id: name what uses the key")
    return name


class CreateKey(Arguments):
    name: Annotated[str, Field(min_length=1, max_length=KEY_NAME_LIMIT), NotBlank, AfterValidator(_no_id)]
    scopes: list[Literal[Scope.READ, Scope.WRITE, Scope.ADMIN, Scope.COPY]] = Field(
        default=[], max_length=len(ALL_SCOPES)
    )
    expires_in_days: Annotated[int, Field(ge=1, le=DAYS_LIMIT), NoBool] | None = Field(
        default=None, description=f"Days until the key expires, 1 to {DAYS_LIMIT}. Default: it never expires."
    )


class CreatedKey(TypedDict):
    """A new API key. ``secret`` is in no later answer: only its hash is stored."""

    secret: str
    key: Key
    hint: str
    warnings: NotRequired[list[Warning]]


@operation("keys.create", Scope.KEYS)
async def create_key(context: Context, arguments: CreateKey) -> CreatedKey:
    """Make an API key of the caller's account. Its secret is in this answer only.

    A program sends the secret as `Authorization: Bearer …`. A key has at most the scopes of its maker. A key
    that another key makes ends no later than that one. A program of OAuth makes keys with the scope `keys`
    alone, which a person allows it for 5 minutes; such a key stays when the connection ends. The first key or
    password of an instance turns authentication on: callers over TCP need a credential from then
    on, in all processes within 5 seconds.
    """
    actor, accounts = context.actor, Accounts(context.services.database)
    scopes = set(arguments.scopes) or actor.scopes & {Scope.READ, Scope.WRITE}
    if lacking := sorted((scopes or {Scope.READ}) - actor.scopes):
        message = f"a key has at most the scopes of its maker, who lacks {', '.join(lacking)}"
        raise Forbidden(message, needs=lacking[0], operation="keys.create")
    days = arguments.expires_in_days
    was_open = await accounts.is_open(context.services.settings)
    secret, key = await accounts.create_key(
        actor.account, actor.owner, arguments.name, scopes,
        None if days is None else times.now() + days * times.DAY,
        actor.credential or None,
    )  # fmt: skip
    context.services.guard.forget()
    answer: CreatedKey = {"secret": secret, "key": _shown(key), "hint": _SECRET_HINT}
    if was_open:
        message = f"this instance was open: {FIRST_CREDENTIAL}"
        answer["warnings"] = [{"code": "AUTHENTICATION_ON", "message": message}]
    return answer


class Keys(PageEnvelope):
    """A page of the API keys of an account, newest first, with those that are revoked or expired."""

    keys: list[Key]


@operation("keys.list", Scope.READ)
async def list_keys(context: Context, arguments: Paged) -> Keys:
    """List the API keys of the caller's account, with their last use to the minute."""
    keys = await Accounts(context.services.database).keys(context.actor.account)
    page, envelope = page_of(context, "keys.list", arguments, keys, lambda key: key.key_id)
    return {"keys": [_shown(key) for key in page], **envelope}


class OneKey(Arguments):
    key_id: str = Field(min_length=1, max_length=100)


@operation("keys.rotate", Scope.KEYS)
async def rotate_key(context: Context, arguments: OneKey) -> CreatedKey:
    """Put a new API key in the place of an old one, which is revoked. Its secret is in this answer only.

    The new key has the name, the scopes, the expiry and the maker of the old one, and what that one made. A
    key rotates itself, and what it made.
    """
    actor, accounts = context.actor, Accounts(context.services.database)
    keys = {key.key_id: key for key in await accounts.keys(actor.account)}
    old = keys.get(arguments.key_id)
    if old is not None and (lacking := sorted(set(old.scopes) - actor.scopes)):
        message = f"who rotates a key gets its scopes, and the caller lacks {', '.join(lacking)}"
        raise Forbidden(message, needs=lacking[0], operation="keys.rotate")
    makers = [old.key_id] if old is not None else []
    while makers and (maker := keys[makers[-1]].made_by) in keys:
        makers.append(maker)
    if makers and actor.method is Method.KEY and actor.credential not in makers:
        raise Forbidden("a key rotates itself, and what it made", operation="keys.rotate")
    secret, key = await accounts.rotate_key(actor.account, arguments.key_id)
    context.services.credentials.end(arguments.key_id)
    return {"secret": secret, "key": _shown(key), "hint": _SECRET_HINT}


class RevokeKey(OneKey):
    children: Literal["end", "keep"] | None = None


class RevokedKey(TypedDict):
    """The key that was revoked."""

    key: Key


@operation("keys.revoke", Scope.WRITE)
async def revoke_key(context: Context, arguments: RevokeKey) -> RevokedKey:
    """Revoke an API key of the caller's account. No process accepts it after 5 seconds.

    Over the network, the last key of an administrator is not revoked.
    """
    actor = context.actor
    key = await Accounts(context.services.database).revoke_key(
        actor.account, arguments.key_id, arguments.children or "",
        spares_admin=actor.method in (Method.KEY, Method.OAUTH),
    )  # fmt: skip
    context.services.credentials.end(key.key_id)
    return {"key": _shown(key)}


def _shown(key: ApiKey) -> Key:
    state = "active" if key.is_valid(times.now()) else "expired"
    return {**answers.of_row(Key, key), "state": state if key.revoked_at is None else "revoked"}
