"""The measures: of rankings against the ids that answer, and of groups of records against persons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple


def any_at(limit: int, ranking: Sequence[str], answers: Collection[str]) -> float:
    """Return 1 if an answer is among the first, else 0."""
    return float(any(text_id in answers for text_id in ranking[:limit]))


def reciprocal_rank(ranking: Sequence[str], answers: Collection[str]) -> float:
    """Return 1 / the rank of the first answer, 0 if there is none."""
    return next((1 / rank for rank, text_id in enumerate(ranking, 1) if text_id in answers), 0.0)


def newest_before_older(ranking: Sequence[str], newest: str, older: Collection[str]) -> float:
    """Return 1 if the newest statement is in a ranking, and no older one before it, else 0."""
    if newest not in ranking:
        return 0.0
    return float(not any(text_id in older for text_id in ranking[: ranking.index(newest)]))


def share_of_answers(ranking: Sequence[str], answers: Collection[str]) -> float:
    """Return which share of the answers is among as many of the first as there are answers."""
    return sum(text_id in answers for text_id in ranking[: len(answers)]) / len(answers)


def mean(values: Iterable[float]) -> float:
    """Return the mean; 0 of nothing."""
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


class PairScores(NamedTuple):
    """Precision, recall and F1 of the pairs of records that stand in one group."""

    precision: float
    recall: float
    f1: float


def pair_scores(groups: Mapping[str, Hashable], persons: Mapping[str, Hashable]) -> PairScores:
    """Compare the groups of records with the persons that they are.

    Args:
        groups: the group of each record.
        persons: the person of each record.
    """
    found, true = _pairs(groups), _pairs(persons)
    both = len(found & true)
    precision = both / len(found) if found else 1.0
    recall = both / len(true) if true else 1.0
    return PairScores(
        precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    )


def _pairs(groups: Mapping[str, Hashable]) -> set[tuple[str, str]]:
    members: dict[Hashable, list[str]] = {}
    for record, group in groups.items():
        members.setdefault(group, []).append(record)
    return {pair for records in members.values() for pair in combinations(sorted(records), 2)}


def false_merges(groups: Mapping[str, Hashable], persons: Mapping[str, Hashable]) -> tuple[int, int]:
    """Return how many merges put a record to another person's ones, and how many merges there are.

    A group of n records is n - 1 merges. The records of the person who has most of a group are right in it.
    """
    members: dict[Hashable, list[Hashable]] = {}
    for record, group in groups.items():
        members.setdefault(group, []).append(persons[record])
    wrong = sum(len(group) - max(Counter(group).values()) for group in members.values())
    return wrong, len(groups) - len(members)


def joined(records: Iterable[str], pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the group of each record once the records of each pair stand in one group."""
    parents = {record: record for record in records}

    def root(record: str) -> str:
        while parents[record] != record:
            parents[record] = parents[parents[record]]
            record = parents[record]
        return record

    for first, second in pairs:
        parents[root(first)] = root(second)
    return {record: root(record) for record in parents}
