"""Texts in pieces of words, numbered as the model's own tokenizer numbers them."""

from pathlib import Path

import pytest

from roost.memory.embeddings.wordpiece import WordPiece

LATIN = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "cafe"]
PIECES = [*LATIN, "!", "don", "'", "t", "日", "本", "$", "5"]


@pytest.fixture
def words(tmp_path: Path) -> WordPiece:
    file = tmp_path / "vocab.txt"
    file.write_text("\n".join(PIECES), encoding="utf-8")
    return WordPiece(file)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("unaffable", "un ##aff ##able"),
        ("UnAffable!", "un ##aff ##able !"),
        ("Café", "cafe"),
        ("don't", "don ' t"),
        ("日本", "日 本"),
        ("$5", "$ 5"),
        ("un\n\tun\u00a0un", "un un un"),
        ("u\u0000n\u200b", "un"),
        ("unfair", "[UNK]"),
        ("un" * 51, "[UNK]"),
        ("", ""),
    ],
)
def test_words_become_the_longest_pieces_that_are_known(
    words: WordPiece, text: str, pieces: str
) -> None:
    numbers = [PIECES.index(piece) for piece in f"[CLS] {pieces} [SEP]".split()]
    assert words.encode(text, 50) == numbers


def test_long_text_is_cut_and_still_ends(words: WordPiece) -> None:
    numbers = words.encode("cafe " * 1000, 10)
    assert numbers == [PIECES.index("[CLS]"), *[PIECES.index("cafe")] * 8, PIECES.index("[SEP]")]
