"""Ranks: strings that compare as observations do. The winner of a field has the greatest rank.

Each merge policy has one total order, which ignores the order of arrival. A correction outranks every other
observation. At equal ranks the greater observation id wins.

=================  =======================================================================
``last_write``      observed_at
``highest_priority``  priority, rank of the observation source, observed_at
``most_specific``   specificity, priority, rank of the observation source, observed_at
=================  =======================================================================

``merge_array`` is not an order but a union: see :mod:`graphmem.model.merged_arrays`.
"""

import struct
from collections.abc import Mapping
from typing import Literal, get_args

from graphmem.model.times import EARLIEST

ObservationSource = Literal["sensor", "workflow_state", "llm_summary", "human", "import", "sync"]

_SOURCES = {name: len(get_args(ObservationSource)) - i for i, name in enumerate(get_args(ObservationSource))}


def source_rank(observation_source: str | None) -> int:
    """Return 6 for ``sensor`` down to 1 for ``sync``, 0 for none: greater wins (contract, section 2)."""
    return _SOURCES.get(observation_source or "", 0)


def time_rank(micros: int) -> str:
    """Return 18 digits that sort as times from year 1 to 9999 do."""
    return f"{micros - EARLIEST:018d}"


def time_of(rank: str) -> int:
    return int(rank) + EARLIEST


def corrected_at(rank: str) -> int | None:
    """Return the time of a correction from its rank, in microseconds; ``None`` for any other rank."""
    correction, *_, time = rank.split(".")
    return time_of(time) if correction == "1" else None


def number_rank(number: float) -> str:
    """Return 16 hexadecimal digits that sort as finite floats do. The bits of an IEEE 754 double sort so once
    the sign bit is turned over, and all bits of a negative one."""
    (bits,) = struct.unpack(">Q", struct.pack(">d", number + 0.0))
    bits = bits ^ 0xFFFF_FFFF_FFFF_FFFF if bits >> 63 else bits | 1 << 63
    return f"{bits:016x}"


def rank(
    policy: str, *, correction: bool, observed_at: int, priority: float, specificity: float,
    observation_source: str | None, sources: Mapping[str, int] | None = None,
) -> str:  # fmt: skip
    """Return the rank of an observation for a field; ``sources``: ranks of observation sources, 0 to 9."""
    parts = ["1" if correction else "0"]
    if policy == "most_specific":
        parts.append(number_rank(specificity))
    if policy != "last_write":
        parts.append(number_rank(priority))
        usual = source_rank(observation_source)
        parts.append(str(usual if sources is None else sources.get(observation_source or "", 0)))
    parts.append(time_rank(observed_at))
    return ".".join(parts)
