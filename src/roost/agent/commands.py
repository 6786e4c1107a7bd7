"""Reads a shell command as far as it can be read for certain, so that rules can be held against it.

What is read here must mean the same to bash. So only plain commands are read: words, quotes, and
the signs that put one command after another. Whatever is decided while it runs (a variable, a
substitution, the files that a pattern stands for, a loop, a file that is written) makes a command
unreadable, and a person is asked.
"""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

Words = tuple[str, ...]

_SEPARATORS = ("&&", "||", ";", "|", "\n")
_HARMLESS = re.compile(r"(?:(?:[12]|&)?>[ \t]*/dev/null|2>&1|<[ \t]*/dev/null)(?=[ \t\n;|]|$)")
_UNREADABLE = frozenset("$`(){}<>&#!\\\"'*?[")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[.*\])?\+?=")
_RESERVED = frozenset(
    re.findall(
        r"\S+",
        "if then elif else fi for while until do done case esac in function select time coproc"
        " [[ ]] { } !",
    )
)
WRAPPERS = frozenset(
    re.findall(
        r"\S+",
        "env sudo doas su xargs nohup nice ionice chrt taskset timeout time stdbuf setsid exec"
        " command builtin eval source . bash sh dash ash zsh ksh fish rbash busybox toybox find ssh"
        " watch parallel flock chroot unshare nsenter script strace ltrace trap alias enable hash"
        " coproc runuser setpriv systemd-run gosu su-exec pkexec setarch prlimit numactl fakeroot"
        " bwrap firejail proot unbuffer rlwrap entr screen tmux",
    )
)
"""Commands that run another, which is given to them in words."""
_SHELLS = frozenset(re.findall(r"\S+", "bash sh dash ash zsh ksh fish rbash"))
_FED = frozenset({"xargs", "parallel"})
"""These add words of their own to a command."""
_CODE = re.compile(r"[\s$`;|&<>(){}]")
LONGEST = 4_000
"""Characters. A longer command is as good as unreadable, and to look into it takes too long."""


class Unreadable(Exception):
    """Nobody can say for certain what this would run."""


def read(command: str) -> tuple[Words, ...] | None:
    """The commands of a line, each as the words that bash would hand to it; None if that is not
    certain."""
    if len(command) > LONGEST:
        return None
    try:
        return tuple([_checked(words) for words in _split(command.strip(" \t\n"))])
    except Unreadable:
        return None


def matches(pattern: str, words: Words) -> bool:
    """Whether a command is one that a pattern allows. `git log *` is git log with anything after
    it; elsewhere `*` is any letters of one word. The command itself is always written out."""
    wanted = pattern.split()
    if not wanted or not words or wanted[0] != words[0]:
        return False
    # Anything after a wrapper is any command at all.
    if wanted[-1] == "*" and len(wanted) > 1 and _name(words) in WRAPPERS:
        return False
    return _fits(wanted, words)


def refuses(pattern: str, words: Words) -> bool:
    """Whether a pattern that is to keep a command out means this one, under whatever name: here the
    command may be a pattern too, and a wrapper is a command like any other."""
    wanted = pattern.split()
    return bool(wanted) and any(_fits(wanted, each) for each in hidden(words))


def hidden(words: Words) -> Iterator[Words]:
    """The command under every name it might have: without its folder, and what a wrapper would
    run, be that a wrapper again."""
    yield words
    name = _name(words)
    yield (name, *words[1:])
    if name not in WRAPPERS:
        return
    for start in range(1, len(words)):
        yield words[start:]
        yield (_name(words[start:]), *words[start + 1 :])
        for text in _texts(words[start]):
            for inner in read(text) or ():
                yield from hidden(inner)


def certain(words: Words) -> bool:
    """Whether the words tell what would run: a wrapper may be given a text that nobody can read, or
    its commands by another way."""
    name, given = _name(words), words[1:]
    if name not in WRAPPERS:
        return True
    if name in _SHELLS and all(word.startswith("-") for word in given):
        return False
    if name in _FED and any(_name((word,)) in WRAPPERS for word in given):
        return False
    texts = [word for word in given if len(word) > 2 and _CODE.search(word)]
    inner = [read(text) for word in texts for text in _texts(word)]
    return all(found is not None and all(map(certain, found)) for found in inner)


def _fits(wanted: Sequence[str], words: Words) -> bool:
    if wanted[-1] == "*":
        wanted = wanted[:-1]
        words = words[: len(wanted)]
    return len(words) == len(wanted) and all(map(fnmatchcase, words, wanted))


def _name(words: Words) -> str:
    return words[0].rpartition("/")[2]


def _texts(word: str) -> Iterator[str]:
    """What of a word may be a command: all of it, or what it gives a name to."""
    yield word
    _, equals, value = word.partition("=")
    if equals:
        yield value


def _split(command: str) -> Iterator[Sequence[str]]:
    """One command after another, as the words it is made of."""
    words: list[str] = []
    word: list[str] | None = None
    at = 0
    while at < len(command):
        if word is None and (quiet := _HARMLESS.match(command, at)):
            at = quiet.end()
            continue
        separator = next((each for each in _SEPARATORS if command.startswith(each, at)), None)
        letter = command[at]
        if separator or letter in " \t":
            if word is not None:
                words.append("".join(word))
                word = None
            if separator:
                yield words
                words = []
            at += len(separator or letter)
            continue
        piece, at = _piece(command, at)
        if word is None:
            word = []
        word.append(piece)
    if word is not None:
        words.append("".join(word))
    yield words


def _piece(command: str, at: int) -> tuple[str, int]:
    """The letters that begin here, without their quotes, and where they end."""
    letter = command[at]
    if letter == "'":
        end = command.find("'", at + 1)
        if end < 0:
            raise Unreadable
        return command[at + 1 : end], end + 1
    if letter == '"':
        return _quoted(command, at + 1)
    if letter == "\\" and command[at + 1 : at + 2].isprintable() and at + 1 < len(command):
        return command[at + 1], at + 2
    if letter in _UNREADABLE or not letter.isprintable() or letter.isspace():
        raise Unreadable
    if letter == "~" and command[at + 1 : at + 2] != "/":
        raise Unreadable  # someone's home, or a folder that the shell remembers
    return letter, at + 1


def _quoted(command: str, at: int) -> tuple[str, int]:
    letters: list[str] = []
    while at < len(command):
        letter = command[at]
        if letter == '"':
            return "".join(letters), at + 1
        if letter == "\\":
            at += 1
            letter = command[at : at + 1]
            if letter not in ('"', "\\"):
                raise Unreadable
        elif letter in "$`" or letter == "\0":
            raise Unreadable
        letters.append(letter)
        at += 1
    raise Unreadable


def _checked(words: Sequence[str]) -> Words:
    """Refuse what is no command by itself. Quoted, some of these would be; asking does no harm."""
    if not words:
        raise Unreadable
    name = words[0]
    if not name or name in _RESERVED or _ASSIGNMENT.match(name) or "~" in name:
        raise Unreadable
    if any("\0" in word for word in words):
        raise Unreadable
    return tuple(words)
