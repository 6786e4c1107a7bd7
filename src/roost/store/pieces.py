"""A long JSON object, cut into pieces that are each decoded in a moment.

A decoder lets no other thread run until it is done, so that a hundred megabytes at once would hold
up everyone. Here it is only found out where things begin and end; whether they are JSON is for the
decoder to say, piece by piece.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

PIECE = 1 << 19
"""Bytes after which a list is cut; one of its items may be longer by itself."""

# Each match is a short one: it lets no other thread run either. Long strings are left out.
_PLAIN = re.compile(rb'(?:[^"\[\]{}]{1,4096}+|"(?:[^"\\]{1,512}+|\\.){0,8}+"){0,256}+', re.DOTALL)
_SPACE = re.compile(rb"[ \t\r\n]*+")
_NAME = re.compile(rb'"([^"\\]{0,64})"[ \t\r\n]*+:[ \t\r\n]*+')
_SCALAR = re.compile(rb'[^ \t\r\n,"\[\]{}]{1,64}')
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


class NotJson(ValueError):
    """Said of a text whose parts can't be told apart."""


class Piece(NamedTuple):
    """The value of a field or, of a list, some of its items as a list of their own."""

    name: str
    json: bytes


def pieces(text: bytes | bytearray) -> Iterator[Piece]:
    """Of all the fields of an object, in their order."""
    if _spaced(text, 0) == len(text):
        raise NotJson("there is nothing in it")
    at = _expect(text, 0, b"{")
    if text[at : at + 1] == b"}":
        at += 1
    else:
        while True:
            named = _NAME.match(text, at)
            if named is None:
                raise NotJson("a field has no name")
            name, at = named[1].decode("utf-8", "replace"), named.end()
            if text[at : at + 1] == b"[":
                for json, after in _items(text, at):
                    yield Piece(name, json)
                    at = after
            else:
                start, at = at, _end(text, at)
                yield Piece(name, bytes(text[start:at]))
            at = _spaced(text, at)
            if text[at : at + 1] != b",":
                break
            at = _spaced(text, at + 1)
        at = _expect(text, at, b"}")
    if _spaced(text, at) != len(text):
        raise NotJson("something follows its end")


def _items(text: bytes | bytearray, at: int) -> Iterator[tuple[bytes, int]]:
    """The items of the list that begins here, and where to go on."""
    view = memoryview(text)
    at = _spaced(text, at + 1)
    if text[at : at + 1] == b"]":
        yield b"[]", at + 1
        return
    start = at
    while True:
        end = _end(text, at)
        at = _spaced(text, end)
        last = text[at : at + 1] == b"]"
        if last or end - start > PIECE:
            yield b"".join((b"[", view[start:end], b"]")), at + 1
        if last:
            return
        if text[at : at + 1] != b",":
            raise NotJson("a list does not end")
        at = _spaced(text, at + 1)
        if end - start > PIECE:
            start = at


def _end(text: bytes | bytearray, at: int) -> int:
    """Where the value ends that begins here."""
    if text[at : at + 1] == b'"':
        return _string_end(text, at)
    if text[at : at + 1] not in (b"[", b"{"):
        scalar = _SCALAR.match(text, at)
        if scalar is None:
            raise NotJson("a value is missing")
        return scalar.end()
    for depth, after in _brackets(text, at):
        if depth == 0:
            return after
    raise NotJson("it breaks off")


def depth_of(json: bytes) -> int:
    """How deep its lists and objects lie in one another."""
    return max([depth for depth, _ in _brackets(json, 0)], default=0)


def _brackets(text: bytes | bytearray, at: int) -> Iterator[tuple[int, int]]:
    """How deep it is after each bracket, and where that is."""
    depth = 0
    while at < len(text):
        step = _STEPS.get(text[at])
        if step is None:
            at = _past(text, at)
        else:
            depth, at = depth + step, at + 1
            yield depth, at


def _past(text: bytes | bytearray, at: int) -> int:
    """Further on, by what is no bracket."""
    plain = _PLAIN.match(text, at)
    if plain is not None and plain.end() > at:
        return plain.end()
    return _string_end(text, at)


def _string_end(text: bytes | bytearray, at: int) -> int:
    """However long it is: looking for one letter takes no time."""
    end = at
    while (end := text.find(b'"', end + 1)) != -1:
        escapes = end - 1
        while text[escapes] == ord("\\"):
            escapes -= 1
        if (end - escapes) % 2:
            return end + 1
    raise NotJson("it breaks off")


def _spaced(text: bytes | bytearray, at: int) -> int:
    space = _SPACE.match(text, at)
    return at if space is None else space.end()


def _expect(text: bytes | bytearray, at: int, sign: bytes) -> int:
    at = _spaced(text, at)
    if text[at : at + 1] != sign:
        raise NotJson(f"there is no {sign.decode()}")
    return _spaced(text, at + 1)
