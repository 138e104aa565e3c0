"""Make ``graphmem/text/secret_rules.json`` of the rules of gitleaks (MIT License).

``python packaging/secret_rules.py gitleaks.toml`` reads the file ``config/gitleaks.toml`` of its repository.
Kept are keywords, expression and least entropy of each rule that looks at a text alone. The rules for any key
are left out: they take identifiers for secrets.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path

TARGET = Path(__file__).parents[1] / "graphmem/text/secret_rules.json"
LEFT_OUT = {"generic-api-key", "curl-auth-header", "curl-auth-user", "sourcegraph-access-token"}


def in_python(expression: str) -> str:
    """Return an expression of Go in the syntax of :mod:`re`: a flag holds to the end of its group."""
    expression = expression.replace(r"\z", r"\Z").replace("[[:alnum:]]", "[a-zA-Z0-9]")
    ignores_case = expression.startswith("(?i)")
    expression = expression.removeprefix("(?i)")
    while "(?i)" in expression:
        head, _, rest = expression.partition("(?i)")
        end = _end_of_group(rest)
        expression = f"{head}(?i:{rest[:end]}){rest[end:]}"
    return f"(?i){expression}" if ignores_case else expression


def _end_of_group(rest: str) -> int:
    depth, is_class, place = 0, False, 0
    while place < len(rest):
        character = rest[place]
        if character == "\\":
            place += 1
        elif is_class:
            is_class = character != "]"
        elif character == "[":
            is_class = True
        elif character == "(":
            depth += 1
        elif character == ")":
            if not depth:
                return place
            depth -= 1
        place += 1
    return len(rest)


def main() -> None:
    known = tomllib.loads(Path(sys.argv[1]).read_text("utf-8"))["rules"]
    rules = [
        [rule["keywords"], in_python(rule["regex"]), rule.get("entropy", 0)]
        for rule in known
        if "path" not in rule and rule["id"] not in LEFT_OUT
    ]
    for _, expression, _ in rules:
        re.compile(expression)
    lines = ",\n".join(json.dumps(rule) for rule in rules)
    about = "Rules of gitleaks, MIT License, Copyright (c) 2019 Zachary Rice: keywords, expression, entropy."
    TARGET.write_text(f'{{"about": {json.dumps(about)}, "rules": [\n{lines}\n]}}\n', "utf-8")


if __name__ == "__main__":
    main()
