"""Taking a page of facts of another copy: the union, as a restore makes it, of what is missing here.

What is derived follows at once for the things that the page is about, never for all of an owner.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from graphmem.checking.audit import Audit
from graphmem.checking.rederiving import Rederiving
from graphmem.database.driver import Database
from graphmem.database.relationship_vocabulary import Vocabulary
from graphmem.dump.batches import BatchPart
from graphmem.dump.container import FORMAT, Header, Manifest
from graphmem.dump.pages import ReadPage
from graphmem.dump.restoring import Restorer, RestoreResult
from graphmem.dump.settling import lose_expectations
from graphmem.dump.verifying import VerifyResult
from graphmem.errors import ClockAhead
from graphmem.model import facts, times
from graphmem.model.fact_records import Dismissal, Split, Withdrawal
from graphmem.objects import ObjectStore
from graphmem.writing import Writers
from graphmem.writing.rule_evidence import EvidenceReader

CLOCK_LIMIT: Final = 24 * 3600 * times.SECOND  # microseconds that the clock of a writer may be ahead
MOVED_RELATIONSHIPS_LIMIT: Final = 10_000  # above so many, all of the owner is derived again


async def unite(
    database: Database, vocabulary: Vocabulary, writers: Writers, objects: ObjectStore, owner: str,
    page: ReadPage, by_copy: str, *, joins: bool = False,
) -> RestoreResult:  # fmt: skip
    """Write the facts of a page that are missing here. It may be sent again, and nothing is written twice.

    This copy learns of them now; one that ``joins`` takes along when the other copy learned of them.

    Raises:
        ClockAhead: a fact was recorded more than a day ahead; nothing was written.
        Unavailable: the database failed; what was written stays, and the page may be sent again.
    """
    every = [part for batch in page.batches for part in batch.parts]
    times_of = ((part.transaction.recorded_at, joins and part.transaction.learned_at) for part in every)
    latest = max((each or 0 for both in times_of for each in both), default=0)
    if latest > times.now() + CLOCK_LIMIT:
        raise ClockAhead(recorded_at=times.render(latest))
    result = RestoreResult(VerifyResult(Header(FORMAT, "", 0), Manifest(), 0))
    restorer = Restorer(database, vocabulary, writers, objects, result, lambda stage, done, total: None)
    restorer.more, restorer.learns = {"copy": by_copy}, not joins
    for portion in (page.start, *page.batches):
        await restorer.restore(portion)
    for batch in page.batches if restorer.waiting else ():
        await restorer.restore_waiting(batch)
    for batch in page.batches if result.known_transactions else ():
        await restorer.restore_late(batch)
    await restorer.settle(owner)
    await _settle(database, owner, writers, every, restorer.unsettled)
    return result


async def _settle(
    database: Database, owner: str, writers: Writers, parts: Sequence[BatchPart], unsettled: set[str]
) -> None:
    """Derive again what merges, splits, dismissals and withdrawals of both sides are about."""
    entity_ids, moving, withdrawn = set(unsettled), set[str](), set[str]()
    for part in parts:
        withdrawn.update(each.subject for each in part.of(Withdrawal))
        for observation in part.observations:
            entity_ids.add(observation.subject_id)
            if observation.kind in facts.MERGE_KINDS:
                fields = dict(zip(observation.fields, observation.values, strict=True))
                target = facts.target(observation.kind, fields)
                moving.update(filter(None, (observation.subject_id, target, *facts.separated(fields))))
        named = {each for fact in (*part.of(Split), *part.of(Dismissal)) for each in fact.named}
        moving.update(_entities(named))
        unsettled |= named
    if parts:
        since = min(part.transaction.recorded_at for part in parts)
        await lose_expectations(database, owner, _entities(entity_ids | moving), since)
    work = Rederiving(database, owner, writers)
    reads = database.reads(owner)
    while True:
        entities, relationships = await reads.only(
            "copy.merged", tuple[list[str], list[str]], entity_ids=_entities(entity_ids | moving),
            moving=sorted(moving), subjects=sorted(withdrawn), limit=MOVED_RELATIONSHIPS_LIMIT,
        )  # fmt: skip
        if len(relationships) >= MOVED_RELATIONSHIPS_LIMIT:
            types = await reads.only("audit.types", tuple[list[str], list[str], int])
            await Audit(database, owner, writers, fix=True).run(*types[:2])
            return
        subjects = {*entities, *relationships, *unsettled}
        if not subjects and not withdrawn:
            return
        # What a rule ever merged with them, or would have merged, and of which other observations count.
        reader = EvidenceReader(reads, owner, writers.rules_off)
        further = await work.settle_stamps(sorted(subjects)) | (await reader.membership(entities)).entity_ids
        if further <= subjects:
            await work.rederive(subjects)
            return
        unsettled |= further
        moving.update(_entities(further))


def _entities(subject_ids: Iterable[str]) -> list[str]:
    return sorted(each for each in subject_ids if ":" not in each)
