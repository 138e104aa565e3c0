"""The small words of a question for a kind: what joins a type, a state, a time and a name."""

from __future__ import annotations

from typing import Final

from graphmem.text.words import word_set

BEFORE: Final = word_set("all any every the my our your these those of still currently current")
"""Words between a state or a time and its type, or before them."""
LINKS: Final = word_set(
    """that which who are is were was be been being have has had currently still yet all with whose status
    state stage due scheduled happening starting taking place coming up in on for from of during within the im
    am en dated there expire expires expiring renew renews renewing start starts starting end ends ending
    assigned owned belonging related linked issued sind ist die der das son que qui sont"""
)
"""Words between a type and a state or a time."""
VERBS_OF_BEING: Final = word_set("are is were was be been sind ist son sont status state stage")
BEFORE_MONTHS: Final = word_set("in during im en until till since before after this next last")
"""Words after which the name of a month is one."""
CLAUSES: Final = word_set("that which who whose")
NOT: Final = word_set("not never arent isnt havent hasnt werent wasnt nicht")
NAMING: Final = word_set("of from for by with to at von bei de du des della mit an")
"""Words before the name of what a kind is related to."""
ASKING: Final = word_set(
    """list show display find give get count number many much which what how are there is do does any all
    every
    tell see view fetch need want search please me us only alle zeige welche liste lista muestra montre"""
)
"""Words of a question that asks for all of a kind."""
NO_NOUN_FOLLOWS: Final = word_set(
    "i you we they he she it who to can could did does do must should will would cannot dont"
)
"""Words after which a word for a state is a verb: "who paid invoices"."""
THINGS: Final = word_set("anything everything nothing something stuff thing things whats")
"""Words for what a question without a type asks for."""
NAME_WORDS: Final = 4
"""Most words between a type and a state behind a name: "tasks of Tom Ek that are open"."""
