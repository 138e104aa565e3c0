"""Which tests one process of a run takes: all of a file, and all files that share something costly.

Two files that change the model of the whole database run one after the other.
"""

from __future__ import annotations

from typing import Final

from xdist.scheduler import LoadFileScheduling

OF_ACCOUNTS: Final = frozenset(
    f"tests/access/{name}.py"
    for name in (
        "login/test_account_view", "login/test_login_at_graphmem", "test_account_commands", "test_acting",
        "test_attacks_on_identity", "test_authentication", "test_connections", "test_consent",
        "test_guard", "test_keys", "test_oauth_flow", "test_oauth_served", "test_sdk_flow",
        "test_agent_grants", "test_taking_back", "test_who_may", "test_who_wrote",
    )
)  # fmt: skip
"""Files whose tests make accounts in the database of the run (tests/access/conftest.py).

One process takes them: a test relies on it that nobody else makes a key or a password.
"""
OF_OWN: Final = frozenset({
    "tests/access/test_account_dumps.py", "tests/access/test_copies.py",
    "tests/access/test_copies_of_folder.py", "tests/access/test_erasing.py", "tests/access/test_secrets.py",
    "tests/access/test_signing.py", "tests/access/test_webhooks.py", "tests/faces/test_database_schema.py",
})  # fmt: skip
"""Files whose tests have a database that others do not use: they change, count or go through what all owners
have, or exchange facts between two databases.

One process takes them: to start a database and plan all statements costs some 40 seconds of CPU.
"""
OF_SERVICES: Final = frozenset(
    f"tests/faces/test_{name}.py"
    for name in ("access", "citations", "http_wire", "large_bodies", "sources_command", "toolsets")
)
"""Files whose tests ask services that run until their process ends (tests/faces/conftest.py)."""
OF_PAGE: Final = frozenset(f"tests/page/test_{name}.py" for name in ("actions", "serving", "views"))
"""They look at one service (tests/page/conftest.py)."""
OF_SANDBOX: Final = frozenset({"tests/access/test_public_sandbox.py", "tests/page/test_sandbox_page.py"})
"""They have one shared account in one database."""
MODEL: Final = frozenset({"tests/faces/test_doctor.py", "tests/faces/test_embedding.py"})
"""They say which model the database uses."""

OF_IMAGE: Final = frozenset(f"tests/containers/test_{name}.py" for name in ("image", "upgrade", "wiring"))
"""They run the image, which each process builds that needs it (tests/containers/conftest.py)."""


class FileScheduling(LoadFileScheduling):
    """Gives whole files to processes, and those of a group to one process."""

    def _split_scope(self, nodeid: str) -> str:
        path, _, _ = nodeid.partition("::")
        for group in (MODEL, OF_ACCOUNTS, OF_OWN, OF_IMAGE, OF_SANDBOX, OF_SERVICES, OF_PAGE):
            if path in group:
                return min(group)
        return path
