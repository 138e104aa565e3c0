"""The types of the REST API for the check of the page's JavaScript, made from the OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

_HEAD: Final = """\
// The bodies and answers of REST, made from the OpenAPI document by `make snapshots`. No browser loads this.
type Filled<K extends string> = K extends `${infer A}{${string}}${infer B}` ? `${A}${string}${Filled<B>}` : K;
type Bare<P extends string> = P extends `${infer A}?${string}` ? A : P;
type Same<P, K> = P extends K ? (K extends P ? true : false) : false;
/** The path of the document that a path such as `/entities/${id}` fills. */
type Path<T, P extends string> =
  { [K in keyof T & string]: Same<Bare<P>, Filled<K>> extends true ? K : never }[keyof T & string];
/** What a path answers; any for a path that is only known as a text. */
export type Answer<P extends string> = [Path<Get, P>] extends [never] ? any : Get[Path<Get, P>];
export type Posted<P extends string> = [Path<Post, P>] extends [never] ? any : Post[Path<Post, P>]['answer'];
export type Body<P extends string> = [Path<Post, P>] extends [never] ? any : Post[Path<Post, P>]['body'];
"""
_PLAIN: Final = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


def typed(schema: Mapping[str, Any] | None) -> str:
    """Return a schema as a type of TypeScript."""
    if not schema:
        return "any"
    if "$ref" in schema:
        return f"S[{json.dumps(schema['$ref'].rpartition('/')[2])}]"
    if "enum" in schema or "const" in schema:
        return " | ".join(json.dumps(each) for each in schema.get("enum", [schema.get("const")]))
    if (alternatives := schema.get("anyOf", schema.get("oneOf"))) and "properties" not in schema:
        return " | ".join(dict.fromkeys(typed(each) for each in alternatives))
    kind = schema.get("type")
    if kind == "array":
        return f"Array<{typed(schema.get('items'))}>"
    if kind == "object":
        return _object(schema)
    return _PLAIN.get(kind, "any") if isinstance(kind, str) else "any"


def _object(schema: Mapping[str, Any]) -> str:
    if not schema.get("properties"):
        values = schema.get("additionalProperties")
        return f"Record<string, {typed(values) if isinstance(values, dict) else 'any'}>"
    # Further properties may come, but the page uses those alone that the document names.
    required = schema.get("required", ())
    members = (
        f"{json.dumps(name)}{'' if name in required else '?'}: {typed(member)}"
        for name, member in schema["properties"].items()
    )
    return f"{{ {'; '.join(members)} }}"


def page_types(document: bytes) -> str:
    """Return the file: the schemas, and by path what GET answers, and what POST takes and answers."""
    api = yaml.safe_load(document)
    lines = [_HEAD, "interface S {"]
    lines += [f"  {json.dumps(name)}: {typed(each)};" for name, each in api["components"]["schemas"].items()]
    lines += ["}", "export interface Get {"]
    lines += [f"  {json.dumps(path)}: {answer};" for path, _, answer in _routes(api, "get")]
    lines += ["}", "export interface Post {"]
    lines += [
        f"  {json.dumps(path)}: {{ body: {body}; answer: {answer} }};"
        for path, body, answer in _routes(api, "post")
    ]
    return "\n".join([*lines, "}", ""])


def _routes(api: Mapping[str, Any], method: str) -> Iterator[tuple[str, str, str]]:
    """Yield the path, the body and the answer of each route of a method that answers JSON."""
    for path, operations in api["paths"].items():
        operation = operations.get(method, {})
        succeeded = [each for code, each in operation.get("responses", {}).items() if code.startswith("2")]
        answers = [_json(each) for each in succeeded]
        if any(answer is not None for answer in answers):
            yield path, typed(_json(operation.get("requestBody", {}))), typed(answers[0])


def _json(content: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return content.get("content", {}).get("application/json", {}).get("schema")
