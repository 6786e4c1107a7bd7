"""`read_file`, called as an agent calls it, on real files."""

import struct
from pathlib import Path

import pytest

from roost.core.messages import ImagePart
from tests.file_hands import FileHands


@pytest.fixture
async def hands(tmp_path: Path) -> FileHands:
    return await FileHands(tmp_path).open()


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\0" * 20


async def test_lines_have_their_numbers(hands: FileHands) -> None:
    (hands.home / "a.txt").write_text("one\ntwo\nthree\n")
    assert await hands.read("a.txt") == "1\tone\n2\ttwo\n3\tthree"
    assert await hands.read("/workspace/a.txt", start=2, lines=1) == (
        "2\ttwo\n[Lines 2-2 of 3. Go on with start=3.]"
    )
    assert "has 3 lines" in await hands.refused("read_file", path="a.txt", start=4)


async def test_empty_file_says_so(hands: FileHands) -> None:
    (hands.home / "a.txt").touch()
    assert await hands.read("a.txt") == "[The file is empty.]"


async def test_only_newlines_end_lines(hands: FileHands) -> None:
    (hands.home / "a.txt").write_text("a\x0cb\u2028c\x85d\n2")
    assert (await hands.read("a.txt")).splitlines()[-1] == "2\t2"


async def test_long_lines_and_long_files_are_cut_and_say_how_to_go_on(hands: FileHands) -> None:
    (hands.home / "wide.txt").write_text("x" * 5_000 + "\nnext\n")
    assert "x[+3000 characters]\n2\tnext" in await hands.read("wide.txt")
    (hands.home / "long.txt").write_text("".join([f"line {n}\n" for n in range(1, 5_001)]))
    first = await hands.read("long.txt")
    assert first.endswith("2000\tline 2000\n[Lines 1-2000 of 5000. Go on with start=2001.]")
    (hands.home / "heavy.txt").write_text(("y" * 1_500 + "\n") * 100)
    assert len(await hands.read("heavy.txt")) < 61_000


async def test_large_file_is_read_in_part(hands: FileHands) -> None:
    with (hands.home / "big.log").open("w") as file:
        file.writelines([f"entry {n} {'.' * 90}\n" for n in range(1, 100_001)])
    assert "1\tentry 1 ." in await hands.read("big.log", lines=3)
    late = await hands.read("big.log", start=90_000, lines=2)
    assert late.startswith("90000\tentry 90000 .")
    assert "Go on with start=90002" in late
    assert "fewer than 200000" in await hands.refused("read_file", path="big.log", start=200_000)
    assert "too large" in await hands.refused("edit_file", path="big.log", old="1", new="2")


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"\xef\xbb\xbfhello", "1\thello\n[The file is utf-8-sig.]"),
        ("\ufeffgr\u00fc\u00df".encode("utf-16-le"), "1\tgr\u00fc\u00df\n[The file is utf-16-le.]"),
        ("\ufeffgr\u00fc\u00df".encode("utf-16-be"), "1\tgr\u00fc\u00df\n[The file is utf-16-be.]"),
        (b"caf\xe9 cr\xe8me", "1\tcaf\u00e9 cr\u00e8me\n[The file is latin-1.]"),
        (b"a\r\nb\r\n", "1\ta\n2\tb"),
    ],
    ids=["bom", "utf-16-le", "utf-16-be", "latin-1", "windows"],
)
async def test_encoding_is_found_and_told(hands: FileHands, data: bytes, shown: str) -> None:
    (hands.home / "a.txt").write_bytes(data)
    assert await hands.read("a.txt") == shown


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"%PDF-1.7\n\0", "a PDF"),
        (b"PK\x03\x04\0\0", "zip archive"),
        (b"\x7fELF\0\0", "a program"),
        (b"\0\1\2", "not text (3 bytes)"),
        (bytes(range(1, 255)), "not text"),
        (b"\xff\xfe\x00\xd8", "not text"),
    ],
)
async def test_what_is_no_text_is_said_to_be_none(hands: FileHands, data: bytes, told: str) -> None:
    (hands.home / "a").write_bytes(data)
    assert told in await hands.refused("read_file", path="a")


async def test_picture_is_kept_and_shown(hands: FileHands) -> None:
    (hands.home / "a.dat").write_bytes(png(640, 480))
    output = await hands.output_of("read_file", path="a.dat")
    image = output.content[1]
    assert isinstance(image, ImagePart)
    assert (image.media_type, image.name) == ("image/png", "a.dat")
    assert hands.kept[image.blob] == (png(640, 480), "image/png")


async def test_picture_that_models_refuse_is_refused_here(hands: FileHands) -> None:
    (hands.home / "wide.png").write_bytes(png(60_000, 60_000))
    assert "Scale it down" in await hands.refused("read_file", path="wide.png")
    (hands.home / "cut.png").write_bytes(png(1, 1)[:12])
    assert "damaged" in await hands.refused("read_file", path="cut.png")
    (hands.home / "huge.png").write_bytes(png(10, 10) + b"\0" * (5 << 20))
    assert "too large" in await hands.refused("read_file", path="huge.png")


async def test_folder_is_listed(hands: FileHands) -> None:
    (hands.home / "src").mkdir()
    (hands.home / "src" / "a.py").write_text("12345")
    (hands.home / ".hidden").touch()
    (hands.home / "link").symlink_to("src")
    assert await hands.read(".") == ".hidden  0\nlink  (link)\nsrc/"
    assert await hands.read("src") == await hands.read("link") == "src/a.py  5"


async def test_missing_file_is_named_as_the_box_sees_it(hands: FileHands) -> None:
    said = await hands.refused("read_file", path="x/y.txt")
    assert said == "There is no file /workspace/x/y.txt."


async def test_saved_output_can_be_read_and_not_changed(hands: FileHands) -> None:
    (hands.output / "run.txt").write_text("done")
    assert await hands.read("/output/run.txt") == "1\tdone"
    said = await hands.refused("write_file", path="/output/run.txt", content="x")
    assert said == "/output/run.txt can't be changed: /output is read-only."


async def test_configured_folder_that_has_gone_spoils_nothing(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    hands = await FileHands(tmp_path, read=(gone,)).open()
    gone.rmdir()
    (hands.home / "a.txt").write_text("here")
    assert await hands.read("a.txt") == "1\there"
