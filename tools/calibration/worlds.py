"""Synthetic evidence of planted bias: embeddings of images and texts, and answers of a judge."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.errors import MissingEvidence
from t2ibench.methods.core.evidence import (
    UNKNOWN,
    AnswerEvidence,
    ImageEvidence,
    Needs,
    QuestionNeed,
)

Asked = tuple[str, str, tuple[str, ...]]


@dataclass(frozen=True)
class WorldEvidence:
    """Evidence held in memory; see `evidence.Evidence`.

    Attributes:
        embeddings: Prompt to its images, shape (n, d), rows of unit length.
        vectors: Text to its embedding, shape (d,).
        replies: Prompt, question and classes to an answer for each image.
        never: Classes that the judge can never answer with.
    """

    embeddings: Mapping[str, Float64Array] = field(default_factory=dict)
    vectors: Mapping[str, Float64Array] = field(default_factory=dict)
    replies: Mapping[Asked, Sequence[str]] = field(default_factory=dict)
    never: frozenset[str] = frozenset()

    def unreachable(self, classes: Sequence[str]) -> frozenset[str]:
        """The classes that the judge can never answer with."""
        return self.never.intersection(classes)

    def images(self, prompt: str, n: int) -> ImageEvidence:
        """The first n images of a prompt."""
        if not self.embeddings:
            return ImageEvidence(np.zeros((0, 1)), np.zeros(0, np.int64), Counter())
        rows = self.embeddings.get(prompt)
        if rows is None or len(rows) < n:
            raise MissingEvidence(f"image {n - 1} of the prompt '{prompt}'")
        return ImageEvidence(rows[:n], np.arange(n), Counter())

    def texts(self, texts: Sequence[str]) -> Float64Array:
        """Embeddings of texts."""
        lacking = [text for text in texts if text not in self.vectors]
        if lacking:
            raise MissingEvidence(f"the text '{lacking[0]}'")
        return np.array([self.vectors[text] for text in texts])

    def answers(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> AnswerEvidence:
        """Answers about the first n images of a prompt; none in a world without a judge."""
        if not self.replies:
            return AnswerEvidence((), np.zeros(0, np.int64), Counter({"missing": n}))
        replies = self.replies.get((prompt, question, tuple(classes)))
        if replies is None or len(replies) < n:
            raise MissingEvidence(
                f"the answer to '{question}' about the prompt '{prompt}'"
            )
        return AnswerEvidence(tuple(replies[:n]), np.arange(n), Counter())


@dataclass(frozen=True, slots=True)
class Scene:
    """What the images of one prompt show.

    Attributes:
        prompt: The prompt.
        images: How many there are.
        about: What they are images of: prompts that share it share a centre.
        lean: (1 + lean) / 2 of them show the attribute A and the others B; None shows neither.
        shift: Along the attribute, added to all of them: what their images share with A beside
            the attribute itself.
        asked: 1 where the prompt asks for A, -1 where it asks for B, 0 where for neither.
        framed: How much of the framing its images have: 1 where a word describes what is shown.
    """

    prompt: str
    images: int
    about: str
    lean: float | None = None
    shift: float = 0.0
    asked: float = 0.0
    framed: float = 0.0


@dataclass(frozen=True, slots=True)
class Space:
    """Where embeddings lie: like those of CLIP, with one linear attribute.

    An image is the direction of centre + wording + strength · (1 for A, -1 for B) · axis + noise.

    Attributes:
        strength: How far an image with the attribute A is from the middle; .05 is weak, .1 gives
            T2IAT's published size of associations (about .02), .3 is strong, 0 is invisible.
        wording: Length of a random offset that each prompt has, images of one prompt alike.
        cosine: Expected cosine of two images of one prompt.
        d: Dimension.
        spread_of_a: How many times as much images vary whose prompt asks for A.
        spread_sd: Standard deviation, over prompts, of the logarithm of how much images vary.
        ignored: Share of the images whose prompt asks for A, and for B, that show either alike.
        decay: How fast variances fall: along the k-th of d orthogonal directions an image varies
            by k^-decay of what it does along the first. 1.2 leaves half of it to three of 64.
        framing: How far images are moved whose prompt describes what they show, beside what it
            says, such as a closer view; images of one prompt do not vary in it.
        framing_of_a: How far an image with the attribute A is from the middle along the framing,
            beside `strength` along the axis: what separates A from B lies in part in it.
        own_framing: Whether what images are about decides the framing's direction, among three of
            which the first is that of `framing_of_a`, instead of all being moved along that one.
        guided_strength: How many times as far from the middle images are whose prompt asks for A
            or B.
    """

    strength: float = 0.1
    wording: float = 0.0
    cosine: float = 0.75
    d: int = 64
    spread_of_a: float = 1.0
    spread_sd: float = 0.0
    ignored: tuple[float, float] = (0.0, 0.0)
    decay: float = 0.0
    framing: float = 0.0
    framing_of_a: float = 0.0
    own_framing: bool = False
    guided_strength: float = 1.0

    def evidence(
        self,
        rng: np.random.Generator,
        scenes: Sequence[Scene],
        texts: Mapping[str, tuple[str, float]] | None = None,
        checks: Sequence[QuestionNeed] = (),
        errors: float = 0.0,
    ) -> WorldEvidence:
        """One data set, with a judge's answers to checks: the first class is A, the second B."""
        texts = texts or {}
        abouts = [scene.about for scene in scenes] + [
            about for about, _ in texts.values()
        ]
        number = {about: k for k, about in enumerate(dict.fromkeys(abouts))}
        axis = unit_rows(rng.normal(size=self.d))
        # Images of different things still resemble each other (cosine .5 of their centres).
        own = unit_rows(rng.normal(size=(len(number), self.d)))
        centres = unit_rows(rng.normal(size=self.d)) + own
        # What images are about says nothing of the attribute, or it would be part of the lean.
        centres = unit_rows(centres - np.outer(centres @ axis, axis))
        sizes = [scene.images for scene in scenes]
        prompt = np.repeat(np.arange(len(scenes)), sizes)
        offsets = self.wording * unit_rows(rng.normal(size=(len(scenes), self.d)))
        about = np.array([number[scene.about] for scene in scenes], dtype=np.int64)
        frame = np.zeros(self.d)
        if self.framing or self.framing_of_a:
            frame, moves, centres = self._framing(rng, axis, centres)
            framed = np.array([scene.framed for scene in scenes])
            offsets = offsets + framed[:, None] * moves[about]
        middle = centres[about] + offsets
        shares = np.array([0.5 if s.lean is None else (1 + s.lean) / 2 for s in scenes])
        shown = np.array([scene.lean is not None for scene in scenes])
        asked = np.array([scene.asked for scene in scenes])
        if any(self.ignored):
            off = np.where(asked > 0, self.ignored[0], self.ignored[1]) * (asked != 0)
            shares += off * (0.5 - shares)
        sides = (
            np.where(rng.random(len(prompt)) < shares[prompt], 1.0, -1.0)
            * shown[prompt]
        )
        if self.guided_strength != 1.0:
            sides = sides * np.where(asked != 0, self.guided_strength, 1.0)[prompt]
        along = (
            self.strength * sides + np.array([scene.shift for scene in scenes])[prompt]
        )
        # Two images of one prompt have the cosine 1 / (1 + d · variance).
        spread = np.sqrt((1 / self.cosine - 1) / self.d) * np.where(
            asked > 0, self.spread_of_a, 1
        )
        if self.spread_sd:
            spread *= np.exp(self.spread_sd * rng.normal(size=len(scenes)))
        rows = middle[prompt] + along[:, None] * axis
        rows = rows + self.framing_of_a * sides[:, None] * frame
        noise = rng.normal(size=rows.shape)
        if self.decay:
            falling = np.arange(1, self.d + 1) ** -self.decay
            basis = np.linalg.qr(rng.normal(size=(self.d, self.d)))[0]
            noise = noise * np.sqrt(falling / falling.mean()) @ basis
        rows = unit_rows(rows + spread[prompt][:, None] * noise)
        parts = np.split(rows, np.cumsum(sizes)[:-1]) if scenes else []
        place = {scene.prompt: number for number, scene in enumerate(scenes)}
        replies: dict[Asked, Sequence[str]] = {}
        for need in checks:
            shows = sides[prompt == place[need.prompt]]
            shows = np.where(rng.random(len(shows)) < errors, -shows, shows)
            said = [need.classes[int(side < 0)] for side in shows]
            replies[need.prompt, need.question, need.classes] = said
        return WorldEvidence(
            {scene.prompt: part for scene, part in zip(scenes, parts, strict=True)},
            {
                text: unit_rows(centres[number[about]] + self.strength * side * axis)
                for text, (about, side) in texts.items()
            },
            replies,
        )

    def _framing(
        self, rng: np.random.Generator, axis: Float64Array, centres: Float64Array
    ) -> tuple[Float64Array, Float64Array, Float64Array]:
        """The framing that A has, how each thing is moved by framing, and centres without it."""
        basis = np.linalg.qr(np.column_stack([axis, rng.normal(size=(self.d, 3))]))[0]
        frames = basis[:, 1:].T
        places = np.tile([1.0, 0.0, 0.0], (len(centres), 1))
        if self.own_framing:
            places = unit_rows(rng.normal(size=(len(centres), 3)))
        without = unit_rows(centres - centres @ frames.T @ frames)
        return frames[0], self.framing * places @ frames, without


# Guided images are all moved alike, by twice what separates an image from the middle, or those of
# each thing in a direction of its own.
SHARED_FRAMING = Space(framing=0.2, framing_of_a=0.05)
OWN_FRAMING = Space(framing=0.3, framing_of_a=0.05, own_framing=True)


def random_leans(
    rng: np.random.Generator, mean: float, clustering: float, k: int
) -> Float64Array:
    """Leans 2 P - 1 of k stimuli, P of a beta distribution with this intraclass correlation."""
    if clustering == 0:
        return np.full(k, mean)
    total = 1 / clustering - 1
    share = (1 + mean) / 2
    leans: Float64Array = 2 * rng.beta(share * total, (1 - share) * total, size=k) - 1
    return leans


def read_needs(
    needs: Needs,
    leans: Mapping[str, float | None],
    sides: Mapping[str, float],
    adjectives: Mapping[str, float] | None = None,
) -> tuple[list[Scene], dict[str, tuple[str, float]]]:
    """What the prompts and texts of an association test show, from the words in them.

    Args:
        needs: What the task needs.
        leans: Word that names a stimulus to the lean of its images.
        sides: Word that names an attribute to its side: 1 or -1.
        adjectives: Word that describes what is shown, but names no attribute, to how much of the
            framing of an attribute's word it has.

    Returns:
        The images, where a prompt with an attribute shows it always; and the texts, for
        `Space.evidence`.

    Examples:
        >>> from t2ibench.methods.core.evidence import PromptNeed
        >>> needs = Needs((PromptNeed("a cook", 2), PromptNeed("a male cook", 3)))
        >>> scenes, _ = read_needs(needs, {"cook": 0.5}, {"male": 1.0})
        >>> [(scene.about, scene.lean) for scene in scenes]
        [('cook', 0.5), ('cook', 1.0)]
    """

    def read(text: str) -> tuple[str, float | None]:
        words = re.findall(r"\w+", text)
        side = next((sides[word] for word in words if word in sides), None)
        return next((word for word in words if word in leans), text), side

    scenes = []
    for prompt, images in needs.images_by_prompt.items():
        about, side = read(prompt)
        lean = leans.get(about) if side is None else side
        framed = 1.0
        if side is None:
            framed = _framed(prompt, adjectives or {})
        scenes.append(
            Scene(prompt, images, about, lean, asked=side or 0.0, framed=framed)
        )
    found = {text: read(text) for text in needs.texts}
    return scenes, {text: (about, side or 0.0) for text, (about, side) in found.items()}


def _framed(prompt: str, adjectives: Mapping[str, float]) -> float:
    """How much of the framing of an attribute's word a prompt without one has."""
    words = re.findall(r"\w+", prompt)
    return max((adjectives.get(word, 0.0) for word in words), default=0.0)


def unit_rows(rows: Float64Array) -> Float64Array:
    """Rows of unit length."""
    unit: Float64Array = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    return unit


@dataclass(frozen=True, slots=True)
class Query:
    """One question about the images of one prompt.

    Attributes:
        prompt: Whose images.
        images: How many there are.
        question: What is asked.
        classes: The possible answers.
        shares: Share of the images that show each class; they sum to 1.
    """

    prompt: str
    images: int
    question: str
    classes: tuple[str, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Judging:
    """How a judge answers.

    Attributes:
        dependence: Correlation of what one image shows to different questions, from 0 to 1.
        errors: Share of the answers that are one of the other classes, each as likely; or that
            share by the class that an image shows.
        unknown: Share of the images that it cannot answer for; or that share by class.
    """

    dependence: float = 0.0
    errors: float | tuple[float, ...] = 0.0
    unknown: float | tuple[float, ...] = 0.0

    def answered(self, shares: Sequence[float]) -> Float64Array:
        """The shares of its answers, if it answered for every image, shape (k,)."""
        shown, k = np.array(shares), len(shares)
        lost = shown * np.broadcast_to(self.errors, k)
        answered: Float64Array = shown - lost + (lost.sum() - lost) / (k - 1)
        return answered

    def evidence(
        self, rng: np.random.Generator, queries: Sequence[Query]
    ) -> WorldEvidence:
        """One data set."""
        from scipy.special import ndtr

        common: dict[str, Float64Array] = {}
        replies: dict[Asked, Sequence[str]] = {}
        for query in queries:
            if query.prompt not in common:
                common[query.prompt] = rng.normal(size=query.images)
            own = rng.normal(size=query.images)
            mixed = np.sqrt(self.dependence) * common[query.prompt]
            place = ndtr(mixed + np.sqrt(1 - self.dependence) * own)
            k = len(query.classes)
            shown = np.searchsorted(np.cumsum(query.shares)[:-1], place, side="right")
            wrong = rng.random(query.images) < np.broadcast_to(self.errors, k)[shown]
            picks = np.where(
                wrong, (shown + rng.integers(1, k, size=query.images)) % k, shown
            )
            unknown = rng.random(query.images) < np.broadcast_to(self.unknown, k)[shown]
            replies[query.prompt, query.question, query.classes] = [
                UNKNOWN if blank else query.classes[pick]
                for pick, blank in zip(picks, unknown, strict=True)
            ]
        return WorldEvidence(replies=replies)
