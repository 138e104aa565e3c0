"""What visitors of a public sandbox report, and the queue in which it waits for a decision.

Reports outlast a wipe until they are decided. They belong to whoever runs the sandbox, and no caller over the
network can list them.
"""

import hashlib
import hmac
import re
import secrets
from typing import Final, Literal, NamedTuple

import phonenumbers

from graphmem.auth import tokens
from graphmem.database.driver import Database
from graphmem.database.queries import Queries
from graphmem.errors import NotFound, ServiceBusy
from graphmem.model import times
from graphmem.text.secret_texts import without_secrets

_RULES: Final = (
    ("e-mail", re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")),
    ("IBAN", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b")),
    (
        "address",
        re.compile(
            r"\b(?:\d{1,3}\.){3}\d{1,3}\b"
            r"|(?<![\w:])(?=[0-9a-fA-F:]{0,39}::|(?:[0-9a-fA-F]{1,4}:){3})[0-9a-fA-F:]{3,45}(?![\w:])"
        ),
    ),
    ("number", re.compile(r"\b\d(?:[ -]?\d){12,18}\b")),
)
_BACKSTOP: Final = re.compile(r"\S{0,64}@\S{0,64}|\d(?:[ ()/.-]{0,2}\d){6,}")
"""What may be personal data although no rule found it: an @, or 7 digits and more."""


class Redaction(NamedTuple):
    """A text without personal data: how much a rule replaced, and how much was only suspicious."""

    text: str
    replaced: int
    suspicious: int


def redacted(text: str) -> Redaction:
    """Replace personal data in a text by its kind in brackets, such as ``[e-mail]``."""
    replaced = 0
    for kind, pattern in _RULES:
        text, count = pattern.subn(f"[{kind}]", text)
        replaced += count
    text, secret_texts = without_secrets(text, "[secret]")
    matches = list(phonenumbers.PhoneNumberMatcher(text, None, phonenumbers.Leniency.POSSIBLE))
    for match in reversed(matches):
        text = f"{text[: match.start]}[phone]{text[match.end :]}"
    text, suspicious = _BACKSTOP.subn("[removed]", text)
    return Redaction(text, replaced + secret_texts + len(matches), suspicious)


Status = Literal["received", "resolved", "rejected"]
WAITING_LIMIT: Final = 5_000  # reports that wait for a decision; more are refused
SENDER_LIMIT: Final = 100
"""Reports of one network address that wait; more are refused, so that nobody fills the queue alone."""
KEPT_DAYS: Final = 30  # days for which a decided report is kept after it was sent
UNDECIDED_DAYS: Final = 180  # days for which a report waits for a decision at most
DROPPED_AT_ONCE: Final = 1_000
_TOKEN_PREFIX: Final = "gmr_"
_SECRET_NAME: Final = "sandbox_reports"


class Report(NamedTuple):
    """A row of ``sandbox/_report.cypher``. Times are microseconds; ``address`` is a keyed hash."""

    id: str
    status: Status
    reason: str
    description: str
    entity_id: str | None
    url: str | None
    contact: str | None
    address: str | None
    submitted_at: int
    decided_at: int | None
    notes: str | None


class Reports:
    def __init__(self, database: Database) -> None:
        self._reads = database.reads(None)
        self._writes: Queries = database.writes(None)

    async def add(
        self, reason: str, description: Redaction, *, entity_id: str | None, url: str | None,
        contact: str | None, address: str, now: int,
    ) -> tuple[str, str]:  # fmt: skip
        """File a report; return its id and the token by which its sender asks what became of it. Of the
        network ``address`` only a keyed hash is stored. Raises ServiceBusy: too many reports wait."""
        token = tokens.make(_TOKEN_PREFIX)
        report_id = await self._writes.one(
            "sandbox.add_report", str, id=f"rep_{secrets.token_hex(12)}",
            token_digest=tokens.digest(token), reason=reason, description=description.text,
            entity_id=entity_id, url=url, contact=contact, address=await keyed_hash(self._writes, address),
            now=now, limit=WAITING_LIMIT, sender_limit=SENDER_LIMIT,
        )  # fmt: skip
        if report_id is None:
            raise ServiceBusy("too many reports wait to be decided, of all or of yours: try again in a day")
        return report_id, token

    async def of_token(self, token: str) -> Report:
        """Return the report of an access token; raises NotFound: there is none, or it was dropped."""
        report = await self._reads.one("sandbox.report_of_token", Report, token_digest=tokens.digest(token))
        if report is None:
            raise NotFound("there is no report of this access_token: the answer to the report has it")
        return report

    async def all(self, status: Status, limit: int) -> list[Report]:
        return await self._reads.all("sandbox.reports", Report, status=status, limit=limit)

    async def get(self, report_id: str) -> Report:
        """Return a report; raises NotFound: there is none of this id."""
        report = await self._reads.one("sandbox.report_by_id", Report, id=report_id)
        if report is None:
            raise NotFound(
                f"there is no report {report_id}: `graphmem sandbox reports list` lists them", id=report_id
            )
        return report

    async def decide(self, report_id: str, status: Status, notes: str | None) -> Report:
        """Decide a report. How to reach its sender is forgotten, the hash of the address too."""
        await self.get(report_id)
        return await self._writes.only(
            "sandbox.decide_report", Report, id=report_id, status=status, notes=notes, now=times.now()
        )

    async def drop_old(self, now: int) -> None:
        ages: dict[Status, int] = {
            "received": UNDECIDED_DAYS, "resolved": KEPT_DAYS, "rejected": KEPT_DAYS,
        }  # fmt: skip
        for status, days in ages.items():
            dropped = DROPPED_AT_ONCE
            while dropped == DROPPED_AT_ONCE:
                dropped = await self._writes.only(
                    "sandbox.drop_reports", int, status=status, before=now - days * times.DAY,
                    limit=DROPPED_AT_ONCE,
                )  # fmt: skip


async def keyed_hash(queries: Queries, text: str) -> str:
    """Return a keyed hash of a text: equal texts have the same one, and nobody else can work it out."""
    secret = await queries.only(
        "secret.make", str, name=_SECRET_NAME, proposed=secrets.token_hex(32), created_at=times.now()
    )
    return hmac.new(bytes.fromhex(secret), text.encode(), hashlib.sha256).hexdigest()[:24]
