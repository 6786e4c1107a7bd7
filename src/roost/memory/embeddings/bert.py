"""Runs a small sentence model of the BERT family with numpy alone: text in, unit vectors out."""

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from roost.memory.embeddings.wordpiece import WordPiece

T = TypeVar("T")

Array = NDArray[np.float32]

LONGEST = 128
"""Pieces of words of one text that are read: some hundred words."""


class _Shape(msgspec.Struct, frozen=True):
    """Of `config.json`, what the arithmetic follows."""

    num_hidden_layers: int
    num_attention_heads: int
    layer_norm_eps: float
    model_type: str
    hidden_act: str


class _Pooling(msgspec.Struct, frozen=True):
    """Of `1_Pooling/config.json`: what becomes of the words' vectors."""

    pooling_mode_mean_tokens: bool = True


class _Casing(msgspec.Struct, frozen=True):
    do_lower_case: bool = True


class _Tensor(msgspec.Struct, frozen=True):
    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


class Bert:
    """A folder as `sentence-transformers` writes it: `config.json`, `vocab.txt` and
    `model.safetensors`. The weights are mapped, not read: what memory they take is the system's to
    give and to take back. Raises `OSError` or `ValueError` if that is no such folder."""

    def __init__(self, folder: Path) -> None:
        shape = msgspec.json.decode((folder / "config.json").read_bytes(), type=_Shape)
        if (shape.model_type, shape.hidden_act) != ("bert", "gelu"):
            raise ValueError(f"{folder} holds a model of another kind ({shape.model_type})")
        if not _said_in(folder / "1_Pooling" / "config.json", _Pooling()).pooling_mode_mean_tokens:
            raise ValueError(f"{folder} holds a model that does not take the mean of its words")
        if not _said_in(folder / "tokenizer_config.json", _Casing()).do_lower_case:
            raise ValueError(f"{folder} holds a model that tells upper from lower case")
        self._shape = shape
        self._words = WordPiece(folder / "vocab.txt")
        self._weights = _weights(folder / "model.safetensors")
        self.name = f"bert-{_digest(folder / 'model.safetensors')}"
        """Vectors of models with different names can't be compared."""

    def embed(self, texts: Sequence[str]) -> Array:
        """A row for each text. One at a time: padding would cost more than it saves."""
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Array:
        x = self._looked_up(self._words.encode(text, LONGEST))
        for number in range(self._shape.num_hidden_layers):
            x = self._layer(x, f"encoder.layer.{number}.")
        mean = x.mean(axis=0)
        return mean / np.linalg.norm(mean)

    def _looked_up(self, numbers: Sequence[int]) -> Array:
        table, w = "embeddings.", self._weights
        x = w[f"{table}word_embeddings.weight"][numbers]
        x = x + w[f"{table}position_embeddings.weight"][: len(numbers)]
        x = x + w[f"{table}token_type_embeddings.weight"][0]
        return self._normed(x, f"{table}LayerNorm")

    def _layer(self, x: Array, at: str) -> Array:
        attended = self._linear(self._attended(x, at), f"{at}attention.output.dense")
        x = self._normed(x + attended, f"{at}attention.output.LayerNorm")
        inner = _gelu(self._linear(x, f"{at}intermediate.dense"))
        return self._normed(x + self._linear(inner, f"{at}output.dense"), f"{at}output.LayerNorm")

    def _attended(self, x: Array, at: str) -> Array:
        length, width = x.shape
        heads = self._shape.num_attention_heads
        query, key, value = [
            self._linear(x, f"{at}attention.self.{name}")
            .reshape(length, heads, width // heads)
            .transpose(1, 0, 2)
            for name in ("query", "key", "value")
        ]
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(width // heads)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        return (shares @ value).transpose(1, 0, 2).reshape(length, width)

    def _linear(self, x: Array, at: str) -> Array:
        return x @ self._weights[f"{at}.weight"].T + self._weights[f"{at}.bias"]

    def _normed(self, x: Array, at: str) -> Array:
        x = x - x.mean(axis=-1, keepdims=True)
        x /= np.sqrt((x * x).mean(axis=-1, keepdims=True) + self._shape.layer_norm_eps)
        return x * self._weights[f"{at}.weight"] + self._weights[f"{at}.bias"]


def _said_in(file: Path, usual: T) -> T:
    return msgspec.json.decode(file.read_bytes(), type=type(usual)) if file.is_file() else usual


def _gelu(x: Array) -> Array:
    """x * Phi(x), with the error function to 1.5e-7 (Abramowitz and Stegun 7.1.26)."""
    one = np.float32(1)
    z = np.abs(x) * np.float32(math.sqrt(0.5))
    t = one / (one + np.float32(0.3275911) * z)
    rest = np.zeros_like(t)
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        rest = (rest + np.float32(factor)) * t
    tail = rest * np.exp(-z * z) * np.float32(0.5)
    return x * np.where(x < 0, tail, one - tail)


def _weights(file: Path) -> dict[str, Array]:
    """Of a safetensors file: the length of a JSON header, the header, the numbers."""
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        if length > 1 << 20:
            raise ValueError(f"{file} is no safetensors file")
        header = msgspec.json.decode(opened.read(length), type=dict[str, msgspec.Raw])
    mapped = np.memmap(file, dtype=np.uint8, mode="r", offset=8 + length)
    found: dict[str, Array] = {}
    for name, raw in header.items():
        if name != "__metadata__":
            tensor = msgspec.json.decode(raw, type=_Tensor)
            start, end = tensor.data_offsets
            if tensor.dtype == "F32":
                numbers = np.frombuffer(mapped[start:end], dtype="<f4")
                found[name] = numbers.reshape(tensor.shape)
    return found


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()[:12]
