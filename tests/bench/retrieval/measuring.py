"""Store each set through the product's own operations, ask its questions, and compare with plain BM25."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

from graphmem.context import Services
from tests.bench.retrieval import census, changes, dialogues, life, people, topics, twins, workshop
from tests.bench.retrieval.bm25 import BM25
from tests.bench.retrieval.figures import Figures
from tests.bench.retrieval.metrics import (
    any_at,
    false_merges,
    joined,
    newest_before_older,
    pair_scores,
    reciprocal_rank,
)
from tests.bench.retrieval.people import Record
from tests.bench.retrieval.sets import Collection, Half, Question
from tests.support.database import URI_VARIABLE
from tests.support.event_loop import Loop
from tests.support.faces import Call, by_runner

BATCH = 200
"""Items of one store."""
RANKED = 50
"""Texts of one ranking."""
CONTEXT_BUDGET = 2_000
CHARACTERS_PER_TOKEN = 4
"""Of English text, about: what plain BM25 puts into the same budget."""
NEWEST_FIRST: dict[str, Any] = {"newest_first": True}
"""Arguments of a search that asks for the newest statements first."""
PROPOSED = (0.8, 0.85, 0.9)
"""Scores from which proposals of duplicates are taken as merges."""
CENSUS_SEEDS: dict[Half, str] = {"tuning": "census tuning", "reporting": "census"}
STRANGER_SHARES = (0.0, 0.01, 0.05)


def new_owner(name: str) -> str:
    """Return the id of an owner who has nothing yet.

    Equal scores are in the order of ids, which depend on the owner. So the id is the same in every run that
    starts its own database.
    """
    return str(uuid.uuid4() if URI_VARIABLE in os.environ else uuid.uuid5(uuid.NAMESPACE_OID, name))


class Owner:
    """A new owner with a collection stored, and its texts in an index of BM25."""

    def __init__(self, loop: Loop, services: Services, collection: Collection) -> None:
        self.id = new_owner(collection.name)
        self.run = by_runner(loop, services, self.id)
        self._names: dict[str, str] = {}
        self._items = {text.id: text for text in collection.texts}
        for text, entity_id in zip(
            collection.texts, stored(self.run, [t.item for t in collection.texts]), strict=True
        ):
            self._names[entity_id] = text.id
        if len(self._names) != len(collection.texts):
            raise SystemExit(f"{collection.name}: texts of different ids became one entity")
        self.baseline = BM25({text.id: text.words for text in collection.texts})

    def ranking(self, question: str, **arguments: Any) -> list[str]:
        """Return the ids of the texts that a search finds, best first."""
        page = self.run("entities.query", search=question, limit=RANKED, include_snapshots=False, **arguments)
        return [self._names[entity["entity_id"]] for entity in page["entities"]]

    def relate(self, links: Iterable[tuple[str, str, str, bool]]) -> None:
        """Relate texts, each (type, id of the source, id of the target, whether it has ended)."""
        ids = {name: entity_id for entity_id, name in self._names.items()}
        for kind, source, target, is_ended in links:
            self.run(
                "relationships.create",
                relationship_type=kind,
                source_entity_id=ids[source],
                target_entity_id=ids[target],
                metadata={"until": "2020-12-31"} if is_ended else {},
            )

    def looked_up(self, question: str) -> list[str]:
        """Return the ids of the texts that a look-up answers."""
        return [
            self._names[each["entity_id"]]
            for each in self.run("entities.find", identifier=question)["entities"]
        ]

    def is_in_context(self, question: Question) -> bool:
        """Return whether the context of a question has a text that answers it, whole."""
        page = self.run("context.retrieve", question=question.text, budget=CONTEXT_BUDGET)
        text_of_page = "\n".join(_strings(page))
        return any(self._items[text_id].item["text"] in text_of_page for text_id in question.answers)

    def is_in_baseline_context(self, question: Question) -> bool:
        """Return whether an answering text is among the first of plain BM25 that fill the same budget."""
        left = CONTEXT_BUDGET * CHARACTERS_PER_TOKEN
        for text_id in self.baseline.ranking(question.text, RANKED):
            left -= len(self._items[text_id].words)
            if left < 0:
                return False
            if text_id in question.answers:
                return True
        return False


def stored(run: Call, items: list[dict[str, Any]]) -> list[str]:
    """Store items; return the id of the entity of each."""
    entity_ids: list[str] = []
    for start in range(0, len(items), BATCH):
        receipt = run("store", entities=items[start : start + BATCH], find_duplicates=False)
        # Where a rule has merged an entity already, its own id is `home_entity_id`.
        entity_ids += [entity.get("home_entity_id", entity["entity_id"]) for entity in receipt["entities"]]
    return entity_ids


def measure_twins(loop: Loop, services: Services, size: int, figures: Figures) -> None:
    """Measure an owner of 5 %."""
    own, *others = twins.make(size)
    owner = Owner(loop, services, own)
    for other in others:
        Owner(loop, services, other)
    for question in own.questions:
        ranking, baseline = owner.ranking(question.text), owner.baseline.ranking(question.text, RANKED)
        figures.add("near-twins, owner of 5 %", "named one first", question.half,
                    any_at(1, ranking, question.answers), any_at(1, baseline, question.answers))  # fmt: skip


def measure_dialogues(loop: Loop, services: Services, size: int, figures: Figures) -> None:
    """Measure turns, sessions and context of dialogues."""
    for turns, sessions in dialogues.make(size):
        by_turn, by_session = Owner(loop, services, turns), Owner(loop, services, sessions)
        for number, question in enumerate(turns.questions):
            ranking = by_turn.ranking(question.text)
            baseline = by_turn.baseline.ranking(question.text, RANKED)
            hit, hit_by_words = any_at(10, ranking, question.answers), any_at(10, baseline, question.answers)
            figures.add("dialogues", "turn in the first 10", question.half, hit, hit_by_words,
                        kind=question.kind)  # fmt: skip
            # The halves take turns; a context costs as much as several searches.
            if number % 4 < 2:
                in_context = float(by_turn.is_in_context(question))
                name = f"turn in a context of {CONTEXT_BUDGET:,} tokens"
                by_words = float(by_turn.is_in_baseline_context(question))
                figures.add("dialogues", name, question.half, in_context, by_words)
            ranking = by_session.ranking(question.text)
            baseline = by_session.baseline.ranking(question.text, RANKED)
            figures.add("dialogues", "session in the first 5", question.half,
                        any_at(5, ranking, question.sessions),
                        any_at(5, baseline, question.sessions))  # fmt: skip
            figures.add("dialogues", "session, mean reciprocal rank", question.half,
                        reciprocal_rank(ranking, question.sessions),
                        reciprocal_rank(baseline, question.sessions))  # fmt: skip


def measure_topics(loop: Loop, services: Services, size: int, figures: Figures) -> None:
    """Measure questions over many topics."""
    for collection in topics.make(size):
        owner = Owner(loop, services, collection)
        for question in collection.questions:
            hit = any_at(10, owner.ranking(question.text), question.answers)
            hit_by_words = any_at(10, owner.baseline.ranking(question.text, RANKED), question.answers)
            figures.add("many topics", "text in the first 10", question.half, hit, hit_by_words,
                        kind=f"in other words: {question.kind}")  # fmt: skip


def measure_changes(loop: Loop, services: Services, size: int, figures: Figures) -> None:
    """Measure whether the newest statement comes first."""
    for collection in changes.make(size):
        owner = Owner(loop, services, collection)
        for question in collection.questions:
            ranking = owner.ranking(question.text, **NEWEST_FIRST)
            plain = owner.ranking(question.text)
            baseline = owner.baseline.ranking(question.text, RANKED)
            (newest,) = question.answers
            figures.add("facts that change", "newest before all older ones", question.half,
                        newest_before_older(ranking, newest, question.decoys),
                        newest_before_older(baseline, newest, question.decoys))  # fmt: skip
            figures.add("facts that change", "the same, not asked for", question.half,
                        newest_before_older(plain, newest, question.decoys))  # fmt: skip
            figures.add("facts that change", "newest first of all", question.half,
                        any_at(1, ranking, [newest]), any_at(1, baseline, [newest]))  # fmt: skip
            figures.add("facts that change", "newest in the first 10", question.half,
                        any_at(10, ranking, [newest]), any_at(10, baseline, [newest]))  # fmt: skip


def measure_people(loop: Loop, services: Services, size: int, figures: Figures) -> None:
    """Measure identity by rule, and with proposals; and what the rules merge wrongly."""
    for share in STRANGER_SHARES:
        records = people.make(size, share)
        run = by_runner(loop, services, new_owner(f"people {share}"))
        groups = _groups(run, records)
        if not share:
            _measure_pairs(run, "people", records, groups, people.by_simple_keys(records), figures)
        wrong, merges = false_merges(groups, _persons(records))
        figures.add("people", f"false merges by rule, {share:.0%} strangers, n = {merges:,}", "reporting",
                    wrong / max(merges, 1))  # fmt: skip


def measure_census(loop: Loop, services: Services, size: int, figures: Figures) -> None:
    """Measure identity by rule, and with proposals, of records as a register has them."""
    for half, seed in CENSUS_SEEDS.items():
        records = census.make(size, seed)
        run = by_runner(loop, services, new_owner(seed))
        keys = census.by_simple_keys(records)
        _measure_pairs(run, "people of a register", records, _groups(run, records), keys, figures, half)


def measure_life(loop: Loop, services: Services, size: int, figures: Figures) -> None:
    """Measure the questions of a household by context and by search."""
    _measure_life(by_runner(loop, services, new_owner(f"life {size}")), "a household", life, figures)


def measure_workshop(loop: Loop, services: Services, size: int, figures: Figures) -> None:
    """Measure the questions of a workshop by context and by search."""
    _measure_life(by_runner(loop, services, new_owner(f"workshop {size}")), "a workshop", workshop, figures)


def _measure_life(run: Call, name: str, asked_life: ModuleType, figures: Figures) -> None:
    """Store a life, and ask its questions; every miss is printed to stderr."""
    for refused in asked_life.store(run):
        print(f"refused: {refused}", file=sys.stderr)
    for asked in asked_life.QUESTIONS:
        for how, (names, line, resembles) in asked_life.answered(run, asked.question).items():
            # A search answers entities; what is said of them is for the context to tell.
            says = line if how == "context" else asked.says
            is_met = asked.is_met(names, says, resembles=resembles)
            is_wrong = asked.is_wrong(names, resembles=resembles)
            figures.add(name, f"right first, by {how}", "reporting", float(is_met), kind=asked.kind)
            figures.add(name, f"wrong without a mark, by {how}", "reporting", float(is_wrong))
            if not is_met or is_wrong:
                mark = "  marked" if resembles else ""
                print(f"{how}: {asked.question} -> {names[:3]}{mark} {line[:160]}", file=sys.stderr)


def _measure_pairs(
    run: Call,
    name: str,
    records: list[Record],
    groups: dict[str, str],
    keys: list[tuple[str, str]],
    figures: Figures,
    half: Half = "reporting",
) -> None:
    """Measure the pairs that are joined by rule, and with proposals, beside those with equal keys."""
    persons, proposals = _persons(records), list(_proposals(run))
    baseline = pair_scores(joined(persons, keys), persons)
    for threshold in (None, *PROPOSED):
        by_score = groups if threshold is None else _with_proposals(records, groups, proposals, threshold)
        how = "by rule" if threshold is None else f"with proposals from {threshold}"
        scores = pair_scores(by_score, persons)
        for part in scores._fields:
            figures.add(name, f"{how}: {part}", half, getattr(scores, part), getattr(baseline, part))


def _groups(run: Call, records: list[Record]) -> dict[str, str]:
    """Store records; return the entity of each, as it is shown once all are stored."""
    items = [record.item for record in records]
    stored(run, items)
    # A later record may have merged the entity of an earlier one by a rule, ended such a merge, or parted the
    # people of one address: to store a record again says whom it is about now.
    entity_ids = stored(run, items)
    shown = {each: run("entities.get", entity_id=each)["entity_id"] for each in sorted(set(entity_ids))}
    return {record.id: shown[entity_id] for record, entity_id in zip(records, entity_ids, strict=True)}


def _persons(records: list[Record]) -> dict[str, str]:
    return {record.id: record.person for record in records}


MEASURES: dict[str, Callable[[Loop, Services, int, Figures], None]] = {
    "twins": measure_twins,
    "dialogues": measure_dialogues,
    "topics": measure_topics,
    "changes": measure_changes,
    "people": measure_people,
    "census": measure_census,
    "life": measure_life,
    "workshop": measure_workshop,
}
"""The measures in their order."""


def _with_proposals(
    records: list[Record], groups: dict[str, str], proposals: list[tuple[str, str, float]], threshold: float
) -> dict[str, str]:
    """Return the groups of records once all proposals from a score are merged."""
    entities = [(first, second) for first, second, score in proposals if score >= threshold]
    merged = joined(groups.values(), entities)
    return {record.id: merged[groups[record.id]] for record in records}


def _proposals(run: Call) -> Iterator[tuple[str, str, float]]:
    """Yield the pairs of likely duplicates and their scores."""
    arguments: dict[str, Any] = {"entity_type": "person", "threshold": min(PROPOSED), "limit": 200}
    while True:
        page = run("entities.duplicates", **arguments)
        for pair in page["candidates"]:
            yield pair["entity_a"], pair["entity_b"], pair["score"]
        if "next_offset" in page:
            arguments["offset"] = page["next_offset"]
        elif "next_cursor" in page:
            arguments = {**arguments, "cursor": page["next_cursor"], "offset": 0}
        else:
            return


def _strings(value: Any) -> Iterator[str]:
    """Yield all texts of an answer."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for element in value.values() if isinstance(value, dict) else value:
            yield from _strings(element)
