"""Splice: items added to the end of a glTF's lists, and taken out again, with every other byte left as it is."""

from __future__ import annotations

import json

from ..avatar.gltf import dump
from ..avatar.saving import member_spans, with_members

SPACE = " \t\r\n"


def append_items(text: str, member: str, items: list[dict]) -> str:
    """JSON text with items at the end of a top-level list, which is made where there is none."""
    new = ",".join(dump(item).decode() for item in items)
    spans = member_spans(text)
    if member not in spans:
        start = text.index("{") + 1
        comma = "," if spans else ""
        return f'{text[:start]}"{member}":[{new}]{comma}{text[start:]}'
    start, end = spans[member]
    if not json.loads(text[start:end]):
        return f"{text[:start]}[{new}]{text[end:]}"
    last = item_spans(text, start)[-1][1]
    return f"{text[:last]},{new}{text[last:]}"


def item_spans(text: str, at: int) -> list[tuple[int, int]]:
    """(start, end) of every item of the JSON list that begins at text[at]."""
    decoder = json.JSONDecoder()
    spans = []
    at = _skip(text, text.index("[", at) + 1)
    while text[at] != "]":
        end = decoder.raw_decode(text, at)[1]
        spans.append((at, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return spans


def _skip(text: str, at: int) -> int:
    while text[at] in SPACE:
        at += 1
    return at


def remove_items(text: str, member: str, count: int, made: bool) -> str:
    """The inverse of `append_items`: the last `count` items go, and the list with them where it was made for them."""
    spans = member_spans(text)
    start, end = spans[member]
    items = item_spans(text, start)
    if made:
        opening = text.index("{") + 1
        rest = text[end:]
        return text[:opening] + (rest[1:] if len(spans) > 1 else rest)
    if len(items) == count:  # an empty list stood here
        return f"{text[:start]}[]{text[end:]}"
    return text[: items[-count - 1][1]] + text[items[-1][1] :]


def set_item(text: str, member: str, index: int, value: str) -> tuple[str, str]:
    """Text with one item of a list replaced by JSON text, and the JSON text that stood there."""
    start, _ = member_spans(text)[member]
    a, b = item_spans(text, start)[index]
    return text[:a] + value + text[b:], text[a:b]


def set_in_item(text: str, member: str, index: int, key: str, value) -> str:
    """Text with a member of one item of a list set; None takes the member out."""
    start, _ = member_spans(text)[member]
    a, b = item_spans(text, start)[index]
    item = with_members(text[a:b].encode("utf-8"), {key: value}).decode("utf-8")
    return text[:a] + item + text[b:]
