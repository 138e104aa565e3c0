"""Usual short forms of given names in English: each group has the forms of one name."""

from typing import Final

_GROUPS: Final = (
    "william bill billy will willy", "robert bob bobby rob robbie bert", "richard rich rick ricky dick",
    "james jim jimmy jamie", "john jack johnny jon", "jonathan jon jonny", "michael mike mick mickey",
    "joseph joe joey", "thomas tom tommy", "charles charlie chuck chas", "christopher chris kit",
    "christine chris chrissie christina tina", "daniel dan danny", "matthew matt", "anthony tony",
    "steven steve stephen", "andrew andy drew", "kenneth ken kenny", "edward ed eddie ted teddy ned",
    "edwin ed eddie", "ronald ron ronnie", "timothy tim", "jeffrey jeff geoffrey geoff", "nicholas nick",
    "samuel sam", "samantha sam", "benjamin ben benny", "gregory greg", "patrick pat paddy",
    "patricia pat patty trish", "alexander alex sandy", "alexandra alex sandra", "alan al",
    "albert al bert", "alfred alf fred", "frederick fred freddie", "frank francis", "frances fran",
    "lawrence larry", "gerald gerry jerry", "raymond ray", "douglas doug", "peter pete", "philip phil",
    "phillip phil", "david dave", "donald don donny", "henry harry hank", "harold harry hal",
    "walter walt wally", "arthur art", "leonard len lenny", "vincent vince", "zachary zach", "joshua josh",
    "jacob jake", "nathan nate nathaniel", "theodore ted theo", "martin marty", "stanley stan",
    "elizabeth liz lizzie beth betty eliza lisa", "margaret maggie meg peggy marge greta",
    "katherine kate kathy katie kay kathryn catherine", "catherine cathy kate katie", "kathleen kathy",
    "susan sue susie", "deborah debbie deb debra", "barbara barb", "jennifer jen jenny", "jessica jess",
    "rebecca becky becca", "victoria vicky tori", "jacqueline jackie", "pamela pam", "cynthia cindy",
    "judith judy", "dorothy dot dottie", "virginia ginny", "rachel rae", "stephanie steph", "amanda mandy",
    "melissa missy", "kimberly kim", "angela angie", "theresa terry tess", "sandra sandy", "carolyn carol",
    "josephine jo josie", "florence flo", "eleanor ellie nell", "helen nell", "emily em", "abigail abby",
    "charlotte lottie", "caroline carrie", "veronica ronnie", "gwendolyn gwen",
)  # fmt: skip
"""The first of each group is the full name."""

FULL_NAMES: Final[dict[str, frozenset[str]]] = {
    word: frozenset(group.split()[0] for group in _GROUPS if word in group.split())
    for word in sorted({word for group in _GROUPS for word in group.split()})
}
"""The full names that a given name may stand for, itself among them where it is one."""


def are_forms_of_one_name(word: str, other: str) -> bool:
    """Return whether two given names may be the same name: Bill and William, Chris and Christina."""
    full = FULL_NAMES.get(word)
    return full is not None and not full.isdisjoint(FULL_NAMES.get(other, ()))
