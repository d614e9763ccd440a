"""Two-level bootstrap: prompts are resampled, then the images within each picked prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_BLOCK_CELLS = 800_000  # values gathered at a time: they should stay in the cache
_GROUP_CELLS = 4096  # numbers that stand for a group of values: so many sums a cluster


@dataclass(frozen=True)
class _Clusters:
    """Values in the order of their clusters.

    Attributes:
        order: Shape (n,), sorts the values by cluster.
        starts: Shape (k,), where each cluster begins.
        sizes: Shape (k,).
    """

    order: IntArray
    starts: IntArray
    sizes: IntArray

    @cached_property
    def longest(self) -> int:
        """Size of the largest cluster."""
        return int(self.sizes.max())

    @cached_property
    def even(self) -> bool:
        """Whether all clusters have one size."""
        return bool((self.sizes == self.sizes[0]).all())

    @cached_property
    def sorted(self) -> bool:
        """Whether the values already stand in the order of their clusters."""
        return bool((self.order == np.arange(len(self.order))).all())

    @property
    def width(self) -> int:
        """Values gathered in one draw; clusters shorter than the longest are padded."""
        return len(self.sizes) * self.longest

    @cached_property
    def group(self) -> int:
        """How many values of a cluster one random number picks: size ** group stays small."""
        group = 1
        while group < self.longest and self.longest ** (group + 1) <= _GROUP_CELLS:
            group += 1
        return group

    def places(self, sorted_places: IntArray) -> IntArray:
        """Places in the values as they were given."""
        return sorted_places if self.sorted else self.order[sorted_places]


@dataclass(frozen=True, slots=True)
class _Draws:
    """A block of resamples, as it was drawn.

    Attributes:
        clusters: What was resampled.
        picks: Shape (draws, k), the clusters picked.
        inner: For even clusters: numbers below size ** group, each of which stands for `group`
            values of a picked cluster; shape (draws, k, numbers), and the same for what remains.
            For uneven ones: uniform numbers, shape (draws, k, longest).
    """

    clusters: _Clusters
    picks: IntArray
    inner: tuple[tuple[npt.NDArray[Any], int], ...]

    def indices(self) -> IntArray:
        """Places in the values, shape (draws, width)."""
        clusters, draws = self.clusters, len(self.picks)
        if clusters.longest == 1:
            return clusters.places(self.picks)
        if not clusters.even:
            sizes = clusters.sizes[self.picks][:, :, None]
            places = clusters.starts[self.picks][:, :, None] + (self.inner[0][0] * sizes).astype(
                np.int64
            )
            return clusters.places(np.where(self._inside(), places, 0).reshape(draws, -1))
        first = (self.picks * clusters.longest)[:, :, None]
        parts = [
            (first + _digits(clusters.longest, group)[numbers].reshape(*self.picks.shape, -1))
            for numbers, group in self.inner
        ]
        return clusters.places(np.concatenate(parts, axis=2).reshape(draws, -1))

    def weights(self) -> FloatArray | None:
        """1, or 0 for padding, shape (draws, width); None where nothing is padded."""
        if self.clusters.even:
            return None
        return self._inside().astype(np.float64).reshape(len(self.picks), -1)

    def _inside(self) -> npt.NDArray[np.bool_]:
        sizes = self.clusters.sizes[self.picks][:, :, None]
        inside: npt.NDArray[np.bool_] = np.arange(self.clusters.longest)[None, None, :] < sizes
        return inside


def _clusters(n: int, labels: npt.ArrayLike | None) -> _Clusters:
    if labels is None:
        return _Clusters(np.arange(n), np.arange(n), np.ones(n, dtype=np.int64))
    inverse = np.unique(np.asarray(labels), return_inverse=True)[1]
    sizes = np.bincount(inverse)
    return _Clusters(
        np.argsort(inverse, kind="stable"), np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes
    )


def _small(limit: int) -> type[np.unsignedinteger[Any]]:
    """The smallest integer type below a limit: narrow random integers are made faster."""
    return np.uint8 if limit <= 256 else np.uint16 if limit <= 65536 else np.uint32


@lru_cache(maxsize=64)
def _digits(size: int, group: int) -> IntArray:
    """Shape (size ** group, group): the values that each number stands for."""
    numbers = np.arange(size**group)
    return np.stack([numbers // size**place % size for place in range(group)], axis=1)


def _resample(clusters: _Clusters, n_draws: int, rng: np.random.Generator) -> _Draws:
    """One block of resamples; depends on the clusters alone, never on the values."""
    k, longest = len(clusters.sizes), clusters.longest
    picks = rng.integers(0, k, (n_draws, k), dtype=_small(k)).astype(np.int64)
    if longest == 1:
        return _Draws(clusters, picks, ())
    if not clusters.even:
        return _Draws(clusters, picks, ((rng.random((n_draws, k, longest)), 1),))
    inner = []
    group = clusters.group
    for count, size in ((longest // group, group), (int(longest % group > 0), longest % group)):
        if count:
            limit = longest**size
            numbers = rng.integers(0, limit, (n_draws, k, count), dtype=_small(limit))
            inner.append((numbers, size))
    return _Draws(clusters, picks, tuple(inner))


def _gather(values: FloatArray, indices: IntArray, rows: slice) -> FloatArray:
    """Resampled values, shape (draws, width)."""
    if values.ndim == 1:
        return values.take(indices, mode="clip")  # all are inside; 'clip' skips a second check
    gathered: FloatArray = np.take_along_axis(values[rows], indices, axis=1)
    return gathered


class _Tables:
    """Sums of every group of values a random number can stand for, so none is gathered singly."""

    def __init__(self, values: FloatArray, clusters: _Clusters) -> None:
        cells = values[clusters.order].reshape(len(clusters.sizes), -1)
        sizes = {clusters.group, clusters.longest % clusters.group} - {0}
        self._sums = {size: self._table(cells, size) for size in sizes}
        self._squares = {size: self._table(cells**2, size) for size in sizes}

    @staticmethod
    def _table(cells: FloatArray, size: int) -> FloatArray:
        table: FloatArray = cells[:, _digits(cells.shape[1], size)].sum(axis=2)
        return table.ravel()

    def sums(self, draws: _Draws, squares: bool) -> FloatArray:
        """Sum of the resampled values (or of their squares), shape (draws,)."""
        total = np.zeros(len(draws.picks))
        for numbers, size in draws.inner:
            table = (self._squares if squares else self._sums)[size]
            places = (draws.picks * draws.clusters.longest**size)[:, :, None] + numbers
            total += table.take(places.reshape(len(total), -1), mode="clip").sum(axis=1)
        return total


def _blocks(n_draws: int, width: int) -> Iterator[slice]:
    size = max(1, _BLOCK_CELLS // max(1, width))
    for start in range(0, n_draws, size):
        yield slice(start, min(start + size, n_draws))


@dataclass(frozen=True, slots=True)
class _Moments:
    n: FloatArray | float
    mean: FloatArray
    squares: FloatArray  # squared deviations from the mean


def _moments(gathered: FloatArray, weights: FloatArray | None, squares: bool) -> _Moments:
    if weights is None:
        n: FloatArray | float = float(gathered.shape[1])
        total = gathered.sum(axis=1)
    else:
        n = weights.sum(axis=1)
        total = np.einsum("ij,ij->i", gathered, weights)
    if not squares:
        return _Moments(n, total / n, total)
    if weights is None:
        second = np.einsum("ij,ij->i", gathered, gathered)
    else:
        second = np.einsum("ij,ij,ij->i", gathered, gathered, weights)
    return _from_sums(n, total, second)


def _from_sums(n: FloatArray | float, total: FloatArray, second: FloatArray) -> _Moments:
    mean = total / n
    return _Moments(n, mean, np.maximum(second - n * mean**2, 0.0))


class _Side:
    """One sample and its current block of resamples."""

    def __init__(self, values: FloatArray, clusters: npt.ArrayLike | None, singly: bool) -> None:
        self.values = values
        self.clusters = _clusters(values.shape[-1], clusters)
        fast = not singly and values.ndim == 1 and self.clusters.even and self.clusters.longest > 1
        self._tables = _Tables(values, self.clusters) if fast else None

    def draw(self, rows: slice, rng: np.random.Generator, squares: bool) -> _Moments:
        """Resample, and return the moments."""
        self.draws = _resample(self.clusters, rows.stop - rows.start, rng)
        if self._tables is not None:
            total = self._tables.sums(self.draws, squares=False)
            n = float(self.clusters.width)
            if not squares:
                return _Moments(n, total / n, total)
            return _from_sums(n, total, self._tables.sums(self.draws, squares=True))
        self.indices = self.draws.indices()
        self.weights = self.draws.weights()
        self.gathered = _gather(self.values, self.indices, rows)
        return _moments(self.gathered, self.weights, squares)


def _divide(top: FloatArray, bottom: FloatArray | float) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: FloatArray = top / bottom
    return np.where(np.isfinite(ratio), ratio, np.nan)


def _union_variance(x: _Moments, y: _Moments, ddof: int) -> FloatArray:
    n = x.n + y.n
    between = x.n * y.n / n * (x.mean - y.mean) ** 2
    return _divide(x.squares + y.squares + between, n - ddof)


_TWO_SAMPLE: dict[str, Callable[[_Moments, _Moments], FloatArray]] = {
    "mean_difference": lambda x, y: x.mean - y.mean,
    "mean_x": lambda x, _: x.mean,
    "mean_y": lambda _, y: y.mean,
    "cohens_d": lambda x, y: _divide(
        x.mean - y.mean, np.sqrt(_divide(x.squares + y.squares, x.n + y.n - 2))
    ),
    "weat_d": lambda x, y: _divide(x.mean - y.mean, np.sqrt(_union_variance(x, y, 1))),
    "t2iat_code_d": lambda x, y: _divide(x.mean - y.mean, np.sqrt(_union_variance(x, y, 0))),
}


def two_sample_bootstrap(
    values_x: npt.ArrayLike,
    values_y: npt.ArrayLike,
    clusters_x: npt.ArrayLike | None = None,
    clusters_y: npt.ArrayLike | None = None,
    *,
    statistics: Sequence[str] = ("mean_difference",),
    n_draws: int = 10_000,
    rng: np.random.Generator,
) -> dict[str, FloatArray]:
    """Bootstrap draws of statistics of two samples.

    Clusters are drawn with replacement, and within each the values. The same `rng` state and
    clusters give the same resamples whatever the values and statistics, so two encoders are
    resampled in pairs.

    Args:
        values_x: Shape (n,), or (n_draws, n) where the values themselves differ by draw.
        values_y: The same for Y.
        clusters_x: Shape (n,); None makes each value its own cluster.
        clusters_y: The same for Y.
        statistics: mean_difference, mean_x, mean_y, cohens_d, weat_d, t2iat_code_d,
            cliffs_delta, prompt_mean_difference (mean of the picked clusters' means).
        n_draws: Number of draws.
        rng: Source of the draws.

    Returns:
        Name to draws of shape (n_draws,); nan where a draw has no value.
    """
    x, y = np.asarray(values_x, dtype=np.float64), np.asarray(values_y, dtype=np.float64)
    singly = bool({"cliffs_delta", "prompt_mean_difference"} & set(statistics))
    of_x, of_y = _Side(x, clusters_x, singly), _Side(y, clusters_y, singly)
    signs = None
    if "cliffs_delta" in statistics and x.ndim == 1 and y.ndim == 1:
        signs = np.sign(x[:, None] - y[None, :]).astype(np.float32)
    squares = any(name.endswith("_d") for name in statistics)
    found = {name: np.empty(n_draws) for name in statistics}
    for rows in _blocks(n_draws, of_x.clusters.width + of_y.clusters.width):
        moments = (of_x.draw(rows, rng, squares), of_y.draw(rows, rng, squares))
        for name in statistics:
            if name == "cliffs_delta":
                block = _cliffs_delta(of_x, of_y, signs)
            elif name == "prompt_mean_difference":
                block = _picked_means(of_x) - _picked_means(of_y)
            elif name in _TWO_SAMPLE:
                block = _TWO_SAMPLE[name](*moments)
            else:
                raise ValueError(f"unknown statistic '{name}'")
            found[name][rows] = block
    return found


def _picked_means(side: _Side) -> FloatArray:
    """Mean over picked clusters of their resampled means."""
    cells = side.gathered.reshape(len(side.gathered), len(side.clusters.sizes), -1)
    inside = np.ones_like(cells) if side.weights is None else side.weights.reshape(cells.shape)
    means: FloatArray = ((cells * inside).sum(axis=2) / inside.sum(axis=2)).mean(axis=1)
    return means


def _cliffs_delta(x: _Side, y: _Side, signs: npt.NDArray[np.float32] | None) -> FloatArray:
    """From a table of signs and how often each value was drawn, or by sorting each draw."""
    if signs is None:
        return _sorted_delta(x.gathered, y.gathered, x.weights, y.weights)
    counts_x, counts_y = _counts(x.draws, signs.shape[0]), _counts(y.draws, signs.shape[1])
    wins = np.einsum("ij,ij->i", counts_x @ signs, counts_y, dtype=np.float64)
    pairs = counts_x.sum(axis=1, dtype=np.float64) * counts_y.sum(axis=1, dtype=np.float64)
    delta: FloatArray = wins / pairs
    return delta


def _counts(draws: _Draws, n: int) -> npt.NDArray[np.float32]:
    """How often each value was drawn, shape (draws, n)."""
    rows = len(draws.picks)
    places = draws.indices() + (np.arange(rows) * n)[:, None]
    inside = draws.weights()
    weights = None if inside is None else inside.ravel()
    counted = np.bincount(places.ravel(), weights=weights, minlength=rows * n)
    return counted.reshape(rows, n).astype(np.float32)


def _sorted_delta(
    x: FloatArray, y: FloatArray, weights_x: FloatArray | None, weights_y: FloatArray | None
) -> FloatArray:
    """Cliff's delta row by row; ties count half by sorting once with X first, once with Y."""
    w_x = np.ones_like(x) if weights_x is None else weights_x
    w_y = np.ones_like(y) if weights_y is None else weights_y
    below = _below(x, y, w_x, w_y, ties=False) + _below(x, y, w_x, w_y, ties=True)
    delta: FloatArray = below / (w_x.sum(axis=1) * w_y.sum(axis=1)) - 1
    return delta


def _below(
    x: FloatArray, y: FloatArray, w_x: FloatArray, w_y: FloatArray, *, ties: bool
) -> FloatArray:
    """Weighted number of pairs with y < x (y <= x with ties), row by row."""
    parts = [(x, w_x, np.zeros_like(w_x)), (y, np.zeros_like(w_y), w_y)]
    if ties:  # a stable sort puts what comes first before its equals
        parts.reverse()
    values, of_x, of_y = (np.concatenate(columns, axis=1) for columns in zip(*parts, strict=True))
    order = np.argsort(values, axis=1, kind="stable")
    sorted_x = np.take_along_axis(of_x, order, axis=1)
    sorted_y = np.take_along_axis(of_y, order, axis=1)
    pairs: FloatArray = np.einsum("ij,ij->i", sorted_x, np.cumsum(sorted_y, axis=1))
    return pairs


def one_sample_bootstrap(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    *,
    statistics: Sequence[str] = ("mean",),
    n_draws: int = 10_000,
    rng: np.random.Generator,
) -> dict[str, FloatArray]:
    """Bootstrap draws of statistics of one sample; see `two_sample_bootstrap`.

    Args:
        values: Shape (n,) or (n_draws, n).
        clusters: Shape (n,).
        statistics: mean, std (ddof 1), share_positive (a zero counts half), two_p_minus_one,
            q25, median, q75.
        n_draws: Number of draws.
        rng: Source of the draws.
    """
    data = np.asarray(values, dtype=np.float64)
    side = _Side(data, clusters, singly=True)
    found = {name: np.empty(n_draws) for name in statistics}
    for rows in _blocks(n_draws, side.clusters.width):
        moments = side.draw(rows, rng, "std" in statistics)
        for name, block in _one_sample(side, moments, statistics).items():
            found[name][rows] = block
    return found


def _one_sample(side: _Side, moments: _Moments, statistics: Sequence[str]) -> dict[str, FloatArray]:
    gathered, weights = side.gathered, side.weights
    quantiles = {"q25": 0.25, "median": 0.5, "q75": 0.75}
    wanted = [name for name in statistics if name in quantiles]
    found: dict[str, FloatArray] = {}
    if wanted:
        shares = [quantiles[name] for name in wanted]
        if weights is None:
            rows = np.quantile(gathered, shares, axis=1)
        else:
            rows = np.nanquantile(np.where(weights > 0, gathered, np.nan), shares, axis=1)
        found.update(zip(wanted, rows, strict=True))
    sign = np.sign(gathered) if weights is None else np.sign(gathered) * weights
    for name in statistics:
        if name == "mean":
            found[name] = moments.mean
        elif name == "std":
            found[name] = np.sqrt(moments.squares / (moments.n - 1))
        elif name == "two_p_minus_one":
            found[name] = sign.sum(axis=1) / moments.n
        elif name == "share_positive":
            found[name] = (sign.sum(axis=1) / moments.n + 1) / 2
        elif name not in quantiles:
            raise ValueError(f"unknown statistic '{name}'")
    return found


def resample_weights(clusters: npt.ArrayLike, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Weights of a two-level bootstrap: `weights @ x` is the mean of each resample.

    Args:
        clusters: Shape (n,), labels.
        n_draws: Number of draws.
        rng: Source of the draws.

    Returns:
        Shape (n_draws, n), rows that sum to 1.
    """
    labels = np.asarray(clusters)
    side = _clusters(len(labels), labels)
    weights = np.empty((n_draws, len(labels)))
    for rows in _blocks(n_draws, side.width):
        weights[rows] = _counts(_resample(side, rows.stop - rows.start, rng), len(labels))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def percentile_interval(draws: npt.ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """The middle `level` of the draws; nan where no draw has a value."""
    values = np.asarray(draws, dtype=np.float64)
    values = values[np.isfinite(values)]
    if not len(values):
        return (float("nan"), float("nan"))
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def magnitude_interval(low: float, high: float) -> tuple[float, float]:
    """The interval of |x| where [low, high] is that of x; it starts at 0 where 0 is inside."""
    if not (np.isfinite(low) and np.isfinite(high)):
        return (float("nan"), float("nan"))
    ends = sorted((abs(low), abs(high)))
    return (0.0 if low <= 0.0 <= high else ends[0], ends[1])
