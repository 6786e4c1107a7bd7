"""Vectors side by side: the nearest first, and none that is gone."""

import numpy as np

from roost.memory.embeddings.shelf import Array, Shelf, packed, unpacked


def unit(*values: float) -> Array:
    vector = np.array(values, dtype=np.float32)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def filled() -> Shelf:
    shelf = Shelf()
    shelf.put([1, 2, 3], np.stack([unit(1, 0), unit(0, 1), unit(1, 1)]))
    return shelf


def numbers(shelf: Shelf, vector: Array, limit: int = 9, least: float = 0.5) -> list[int]:
    return [near.number for near in shelf.near(vector, limit=limit, least=least)]


def test_nearest_come_first_and_far_ones_not_at_all() -> None:
    shelf = filled()
    assert numbers(shelf, unit(1, 0.1)) == [1, 3]
    assert numbers(shelf, unit(1, 0.1), limit=1) == [1]
    assert numbers(shelf, unit(1, 0.1), least=-1) == [1, 3, 2]


def test_newer_vector_takes_the_place_of_the_older() -> None:
    shelf = filled()
    shelf.put([1, 4], np.stack([unit(-1, 0), unit(1, 0)]))
    assert numbers(shelf, unit(1, 0)) == [4, 3]
    assert len(shelf) == 4


def test_what_is_dropped_is_not_found() -> None:
    shelf = filled()
    shelf.drop([1, 99])
    assert numbers(shelf, unit(1, 0)) == [3]
    shelf.drop([2, 3])
    assert numbers(shelf, unit(1, 0)) == []
    assert numbers(Shelf(), unit(1, 0)) == []


def test_stored_vectors_are_near_enough() -> None:
    rows = np.stack([unit(1, 2, 3), unit(-3, 0.001, 2)])
    assert np.abs(unpacked(packed(rows)) - rows).max() < 1e-3
