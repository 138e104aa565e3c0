"""Runs of the tests over a sealed instance: what is stored, and what is read, must be the same."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pytest
from filelock import FileLock
from pydantic import SecretStr

from graphmem.context import Services
from graphmem.sealing import InstanceKeys, RootKey, keys_of
from graphmem.settings import Settings

SEALED_VARIABLE: Final = "GRAPHMEM_TEST_SEALED"
"""The folder of the keys of a run over a sealed instance; all processes of the run name the same."""


def sealed(settings: Settings) -> Settings:
    """Return settings of a sealed instance, if the run is one, else these."""
    if SEALED_VARIABLE not in os.environ:
        return settings
    folder = Path(os.environ[SEALED_VARIABLE])
    folder.mkdir(parents=True, exist_ok=True)
    words, keys = folder / "words", folder / "keys.json"
    with FileLock(folder / "lock"):
        if not keys.exists():
            root = RootKey.new()
            words.write_text(root.words)
            InstanceKeys.create(keys, root)
    return settings.model_copy(update={"key_file": keys, "root_key": SecretStr(words.read_text())})


def key_settings(settings: Settings) -> dict[str, Any]:
    """Return the settings of the keys, for other settings of the same instance; none of one in clear."""
    if settings.key_file is None or settings.root_key is None:
        return {}
    return {"key_file": settings.key_file, "root_key": settings.root_key}


def token_of(settings: Settings) -> str | None:
    """Return the token that a service of these settings asks for; None: it asks for none."""
    if settings.bearer_token is not None:
        return settings.bearer_token.get_secret_value()
    keys = keys_of(settings) if key_settings(settings) else None
    return None if keys is None else keys.token()


def bearing(token: str | None) -> dict[str, str]:
    """Return the headers of a request with a token, if there is one."""
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def of_client(settings: Settings) -> dict[str, str]:
    """Return the variables with which a command calls a service of these settings by ``--base-url``."""
    token = token_of(settings)
    return {} if token is None else {"SERVICE_BEARER_TOKEN": token}


def opened(services: Services, rows: list[dict[str, Any]], owner: str) -> list[dict[str, Any]]:
    """Return rows that a test read from the database itself as the services read them."""
    sealer = services.database.sealer
    return rows if sealer is None else sealer.open(rows, owner)


IN_CLEAR: Final = frozenset({
    # A sealed instance has no index of words, of vectors or of the order of names.
    "test_a_vector_that_is_gone_is_not_put_into_the_index",
    "test_admission.py", "test_search_clusters.py", "test_search_recall.py",
    "test_a_read_that_the_database_plans_anew_does_not_fail",
    "test_a_filterable_field_is_found_without_reading_the_others",
    "test_a_single_name_is_proposed_with_the_only_longer_form_of_it",
    "test_duplicates_that_a_store_names_do_not_depend_on_its_turn",
    "test_without_memory_the_indexes_answer_and_say_so",
    "test_while_the_copy_of_very_many_entities_is_read_the_indexes_answer",
    "test_a_copy_that_cannot_be_read_keeps_no_search_waiting",
    "test_a_search_compares_its_copy_though_another_one_gives_that_up",
    "test_an_order_that_the_indexes_began_is_theirs_to_its_end",
    "test_what_is_stored_while_a_copy_is_read_is_found",
    "test_the_worker_puts_vectors_into_the_index_and_nothing_is_lost_on_the_way",
    "test_a_look_up_costs_one_round_trip_a_miss_two_and_a_question_three_or_four",
    "test_a_call_that_compares_too_many_entities_is_cut_or_refused",
    "test_a_large_type_is_compared_in_parts_that_go_on_by_cursor",
    "test_duplicates_of_a_new_entity_are_found_by_identifiers_words_and_neighbours",
    # A sealed backup is made of one file in memory at a time, as nothing in clear waits on the disk.
    "test_a_large_file_is_never_whole_in_memory",
    # A sealed instance has a token of its own, so it may serve others.
    "test_a_service_that_may_not_start_says_what_to_set",
    # They read the database themselves, or write into it.
    "test_the_text_for_search_is_the_folded_strings_of_an_entity", "test_filterable_values_follow_the_entity",
    "test_every_damage_to_what_is_searched_is_named_and_mended",
    "test_vectors_of_passages_that_were_divided_otherwise_are_made_anew",
})  # fmt: skip
"""The files and tests of what an instance in clear alone does."""


def skip_in_clear(items: Iterable[pytest.Item]) -> None:
    """Skip what an instance in clear alone does, in a run over a sealed instance."""
    if SEALED_VARIABLE in os.environ:
        for item in items:
            if not IN_CLEAR.isdisjoint({item.path.name, getattr(item, "originalname", item.name)}):
                item.add_marker(pytest.mark.skip(reason="a sealed instance does otherwise"))
