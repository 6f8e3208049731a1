"""Matrices by name and from files: right entries, counts known without them, and a sentence for what cannot be used."""

from __future__ import annotations

import gzip
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from microbench.kernels import gallery, marketfile, matrices
from microbench.kernels.gallery import FAMILIES, Matrix
from microbench.kernels.kernel import Unsuitable
from microbench.kernels.marketfile import MatrixError


def as_scipy(matrix: Matrix) -> Any:
    return sp.csr_array((matrix.values, matrix.columns, matrix.starts), shape=(matrix.rows, matrix.rows))


def same(one: Any, other: Any) -> bool:
    return bool(abs(one - other).nnz == 0)


def difference(edge: int) -> Any:
    """The second difference of a line, as textbooks give it."""
    return sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(edge, edge))


@pytest.mark.parametrize("edge", [1, 2, 3, 17])
def test_the_2d_laplacian_is_the_sum_of_two_second_differences(edge: int) -> None:
    line, one = difference(edge), sp.eye_array(edge)
    expected = sp.kron(line, one) + sp.kron(one, line)
    assert same(as_scipy(matrices.matrix_of("laplacian_2d", edge**2)), expected)


@pytest.mark.parametrize("edge", [1, 2, 3, 7])
def test_the_3d_laplacian_couples_each_point_with_its_26_neighbours(edge: int) -> None:
    line = sp.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(edge, edge))
    expected = 27 * sp.eye_array(edge**3) - sp.kron(sp.kron(line, line), line)
    assert same(as_scipy(matrices.matrix_of("laplacian_3d", edge**3)), expected)


@pytest.mark.parametrize("name", ["laplacian_2d", "laplacian_3d"])
def test_reordering_moves_rows_and_columns_alike_and_cuthill_mckee_brings_them_back_together(name: str) -> None:
    n = 4096
    natural, permuted, ordered = (
        as_scipy(matrices.matrix_of(name + ending, n)) for ending in ("", "_permuted", "_rcm")
    )
    order = np.random.default_rng(gallery.SEED).permutation(n)
    assert same(permuted, natural[order][:, order])

    def spread(matrix: Any) -> float:
        rows, columns = matrix.nonzero()
        return float(np.abs(rows - columns).mean())

    assert spread(permuted) > 3 * spread(ordered)
    assert same(ordered, ordered.T)
    assert sorted(np.diff(ordered.indptr)) == sorted(np.diff(natural.indptr))


@pytest.mark.parametrize("n", [1, 100, 30_000])
@pytest.mark.parametrize("name", FAMILIES)
def test_lengths_are_known_without_the_matrix_and_columns_ascend(name: str, n: int) -> None:
    matrix = matrices.matrix_of(name, n)
    lengths = matrices.lengths_of(name, n)
    assert np.array_equal(np.diff(matrix.starts), lengths)
    assert matrices.nonzeros_of(name, n) == matrix.nonzeros == lengths.sum()
    assert matrices.rows_of(name, n) == matrix.rows
    assert matrix.columns.min(initial=0) >= 0
    assert matrix.columns.max(initial=0) < matrix.rows
    rows = np.repeat(np.arange(matrix.rows), lengths)
    assert (np.diff(rows * matrix.rows + matrix.columns) > 0).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_what_counts_as_scattered_is_what_is_seen(name: str) -> None:
    lines = matrices.lines_per_nonzero(matrices.matrix_of(name, 120_000))
    assert (lines > matrices.SCATTERED) == matrices.is_scattered(name)
    assert not 0.15 < lines < 0.4, "near the threshold"


def test_power_law_rows_are_many_short_ones_some_empty_and_one_very_long() -> None:
    lengths = np.sort(matrices.lengths_of("power_law", 100_000))
    assert 0.2 < (lengths == 0).mean() < 0.35
    assert lengths[-1] == 100_000 // 16
    assert lengths[-2] <= 100_000 // 64
    # The share of longer rows falls by 2 to the 1.5 where the length doubles.
    assert (lengths > 40).sum() / (lengths > 80).sum() == pytest.approx(2**1.5, rel=0.15)


@pytest.mark.parametrize(("dimensions", "n", "rows"), [(2, 99, 81), (2, 100, 100), (3, 63, 27), (3, 64, 64), (3, 1, 1)])
def test_a_grid_has_the_most_points_that_its_size_allows(dimensions: int, n: int, rows: int) -> None:
    assert FAMILIES[f"laplacian_{dimensions}d"].rows(n) == rows


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize("name", ["laplacian_2d", "power_law"])
def test_parts_share_rows_and_entries_evenly(name: str, parts: int) -> None:
    cuts = matrices.cuts_of(name, 10_000, parts)
    lengths = matrices.lengths_of(name, 10_000)
    assert (cuts[0], cuts[-1], len(cuts)) == (0, len(lengths), parts + 1)
    costs = [int((lengths[begin:end] + 1).sum()) for begin, end in pairwise(cuts)]
    assert max(costs) - min(costs) <= 2 * (lengths.max() + 1)


def test_threads_that_ask_at_once_get_one_matrix() -> None:
    found: list[Matrix] = []
    threads = [threading.Thread(target=lambda: found.append(matrices.matrix_of("random", 4321))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(matrix) for matrix in found}) == 1


def test_what_cannot_be_made_is_refused_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unsuitable, match="there is no matrix 'laplace'; there are laplacian_2d, "):
        matrices.rows_of("laplace", 100)
    with pytest.raises(Unsuitable, match="more entries than 32-bit indices"):
        matrices.rows_of("laplacian_2d", 10**9)
    monkeypatch.setattr(matrices, "free_memory", lambda: 1 << 20)
    with pytest.raises(Unsuitable, match=r"random of 1000000 rows takes more than the 0 MiB|1 MiB"):
        matrices.rows_of("random", 1_000_000)


# ------------------------------------------------------------------------------------------------- files

GENERAL = """%%MatrixMarket matrix coordinate real general
% a comment

3 3 4
1 1 2.5
2 3 -1
3 1 4
3 3 1e2
"""


def written(folder: Path, text: str, name: str = "a.mtx") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def dense(path: Path) -> list[list[float]]:
    return as_scipy(marketfile.read(path)).toarray().tolist()


def test_a_file_holds_what_it_says(tmp_path: Path) -> None:
    expected = [[2.5, 0, 0], [0, 0, -1], [4, 0, 100]]
    assert dense(written(tmp_path, GENERAL)) == expected
    compressed = tmp_path / "a.mtx.gz"
    compressed.write_bytes(gzip.compress(GENERAL.encode()))
    assert dense(compressed) == expected
    assert (
        dense(written(tmp_path, GENERAL.replace("real", "integer").replace("2.5", "2").replace("1e2", "100")))[0][0]
        == 2
    )


def test_half_of_a_symmetric_matrix_stands_for_the_whole(tmp_path: Path) -> None:
    text = "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 5\n2 1 3\n"
    assert dense(written(tmp_path, text)) == [[5, 3], [3, 0]]
    text = "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 3\n"
    assert dense(written(tmp_path, text)) == [[0, -3], [3, 0]]


def test_a_pattern_is_a_matrix_of_ones_and_repeated_entries_are_added(tmp_path: Path) -> None:
    text = "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n2 2\n"
    assert dense(written(tmp_path, text)) == [[0, 1], [0, 1]]
    text = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 3\n1 2 4\n"
    assert dense(written(tmp_path, text)) == [[0, 7], [0, 0]]


HEAD = "%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is no Matrix Market file"),
        ("1 2 3\n", "is no Matrix Market file"),
        ("%%MatrixMarket vector coordinate real general\n", "is no Matrix Market file"),
        ("%%MatrixMarket matrix array real general\n1 1\n1\n", "its format is 'array'"),
        ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", "its values are 'complex'"),
        ("%%MatrixMarket matrix coordinate real hermitian\n1 1 1\n1 1 1\n", "its symmetry is 'hermitian'"),
        (HEAD, "expected a line with rows, columns and entries, found ''"),
        (HEAD + "2 2\n", "found '2 2'"),
        (HEAD + "2 2 x\n", "found '2 2 x'"),
        (HEAD + "-2 -2 1\n", "negative sizes"),
        (HEAD + "2 3 1\n1 1 1\n", "is not square: 2 rows and 3 columns"),
        (HEAD + "0 0 0\n", "is empty: 0 rows and 0 entries"),
        (HEAD + "5 5 0\n", "is empty: 5 rows and 0 entries"),
        (HEAD + "5 5 3000000000\n1 1 1\n", "more than 32-bit indices"),
        (HEAD + "2 2 2\n1 1 1\n", "is malformed"),
        (HEAD + "2 2 1\n3 1 1\n", "is malformed"),
        (HEAD + "2 2 1\n1 1 one\n", "is malformed"),
        (HEAD + "2 2 1\n1 1 nan\n", "not finite"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(tmp_path: Path, text: str, sentence: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(MatrixError) as caught:
        marketfile.read(path)
    assert sentence in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(MatrixError, match=r"none\.mtx: cannot be read: No such file"):
        marketfile.read(tmp_path / "none.mtx")
    with pytest.raises(MatrixError, match="cannot be read"):
        marketfile.read(tmp_path)
    binary = tmp_path / "b.mtx"
    binary.write_bytes(bytes(range(128, 256)))
    with pytest.raises(MatrixError, match="its beginning is not text"):
        marketfile.read(binary)
    binary.rename(tmp_path / "b.mtx.gz")
    with pytest.raises(MatrixError, match="cannot be read"):
        marketfile.read(tmp_path / "b.mtx.gz")


def test_a_file_too_large_for_memory_is_refused_by_its_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marketfile, "free_memory", lambda: 100 << 20)
    path = written(tmp_path, HEAD + "1000000 1000000 9000000\n")
    with pytest.raises(MatrixError, match=r"need 580 MiB of memory, of which 50 may be used"):
        marketfile.read(path)


def test_a_file_is_used_by_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "_FILES", {})
    path = written(tmp_path, GENERAL, "my matrix.mtx")
    name = matrices.use_file(path)
    assert name == "my_matrix.mtx"
    assert matrices.use_file(path) == name
    assert matrices.matrix_of(name, 3).nonzeros == 4
    assert matrices.nonzeros_of(name, 3) == 4
    assert not matrices.is_scattered("laplacian_2d")
    with pytest.raises(Unsuitable, match=r"my_matrix\.mtx has 3 rows, not 100"):
        matrices.rows_of(name, 100)
    (tmp_path / "other").mkdir()
    with pytest.raises(MatrixError, match=r"another file called my_matrix\.mtx"):
        matrices.use_file(written(tmp_path / "other", GENERAL, "my matrix.mtx"))
