"""Objects of machine code, as a compiler writes them, become one piece that runs wherever in memory it is put.

Only what is needed of ELF for x86-64: code made for a process of any size refers to everything by whole addresses, so
what is left to do is to add the place where the piece is, or to write down where some other function is.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from driftmap._kernels.kept import WORD, Image

MAGIC = b"\x7fELF\x02\x01"
"""Of an object with 64 bits, the lowest byte first."""
HEAD = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QQq")
RELOCATABLE, X86_64 = 1, 62
SYMBOLS, RELOCATIONS, EMPTY = 2, 4, 8
"""Kinds of sections."""
WRITABLE, LOADED = 1, 2
"""What a section may be."""
NOWHERE = 0
"""The section of a symbol that another object has."""
LOCAL = 0
WHOLE_ADDRESS = 1
UNWINDING = ".eh_frame"
"""Of use to exceptions of C++ that pass through, of which there are none."""


class Section(NamedTuple):
    """A part of an object."""

    name: str
    kind: int
    flags: int
    content: bytes
    link: int
    target: int
    align: int


class Symbol(NamedTuple):
    """A name for a place in a section."""

    name: str
    is_local: bool
    section: int
    value: int


def linked(objects: Sequence[bytes], start: str) -> Image:
    """One piece of several objects; a ValueError if they hold what is not expected here."""
    parsed = [_sections(content) for content in objects]
    code, places = bytearray(), {}
    for number, sections in enumerate(parsed):
        for i, section in enumerate(sections):
            if not section.flags & LOADED or section.name == UNWINDING or not section.content:
                continue
            if section.flags & WRITABLE or section.kind == EMPTY:
                raise ValueError(f"section {section.name} is written to")
            code += bytes(-len(code) % max(section.align, 1))
            places[number, i] = len(code)
            code += section.content
    tables = [_symbols(sections) for sections in parsed]
    known = {
        symbol.name: places[number, symbol.section] + symbol.value
        for number, table in enumerate(tables)
        for symbol in table
        if not symbol.is_local and (number, symbol.section) in places
    }
    own: list[int] = []
    others: dict[str, list[int]] = {}
    for number, sections in enumerate(parsed):
        for section in sections:
            if section.kind != RELOCATIONS or (number, section.target) not in places:
                continue
            for offset, info, addend in RELOCATION.iter_unpack(section.content):
                symbol, where = tables[number][info >> 32], places[number, section.target] + offset
                if info & 0xFFFFFFFF != WHOLE_ADDRESS:
                    raise ValueError("an address is not a whole one")
                if (number, symbol.section) in places:
                    place = places[number, symbol.section] + symbol.value
                elif symbol.section == NOWHERE and symbol.name in known:
                    place = known[symbol.name]
                elif symbol.section == NOWHERE and addend == 0:
                    others.setdefault(symbol.name, []).append(where)
                    continue
                else:
                    raise ValueError(f"{symbol.name} is neither code nor a function")
                WORD.pack_into(code, where, place + addend)
                own.append(where)
    return Image(bytes(code), known[start], own, others)


def _sections(content: bytes) -> list[Section]:
    magic, kind, machine, *_, at, _, _, _, _, size, n, names = HEAD.unpack_from(content)
    if not magic.startswith(MAGIC) or (kind, machine, size) != (RELOCATABLE, X86_64, SECTION.size):
        raise ValueError("not an object for x86-64")
    heads = [SECTION.unpack_from(content, at + i * size) for i in range(n)]

    def inside(head: tuple[int, ...]) -> bytes:
        return bytes(head[5]) if head[1] == EMPTY else content[head[4] : head[4] + head[5]]

    texts = inside(heads[names])
    return [Section(_text(texts, h[0]), h[1], h[2], inside(h), h[6], h[7], h[8]) for h in heads]


def _symbols(sections: list[Section]) -> list[Symbol]:
    (table,) = (section for section in sections if section.kind == SYMBOLS)
    texts = sections[table.link].content
    return [
        Symbol(_text(texts, name), info >> 4 == LOCAL, section, value)
        for name, info, _, section, value, _ in SYMBOL.iter_unpack(table.content)
    ]


def _text(texts: bytes, start: int) -> str:
    return texts[start : texts.index(b"\0", start)].decode()
