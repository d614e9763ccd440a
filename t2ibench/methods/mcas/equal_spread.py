"""Attributes and targets with images of equal spread, which leans need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.prompt_images import PromptImages
from t2ibench.methods.core.spread import CommonSquares, equal_spread
from t2ibench.methods.mcas.axis import AttributeAxis, Poles
from t2ibench.methods.mcas.material import Attributes, Target
from t2ibench.methods.mcas.poles import image_poles


@dataclass(frozen=True, slots=True)
class EqualSpread:
    """Attributes and targets with embeddings scaled so that all prompts' images vary alike.

    See `core.spread` for why leans need that.

    Attributes:
        images: Images of A and of B, divided by what those of a prompt have in common.
        poles: The attributes by these images.
        axis: The axis between them.
        targets: The targets with such images.
    """

    images: tuple[PromptImages, PromptImages]
    poles: Poles
    axis: AttributeAxis
    targets: list[Target]

    @classmethod
    def of(cls, attributes: Attributes, targets: Sequence[Target]) -> EqualSpread:
        """Return attributes and targets with embeddings scaled so that prompts' images vary alike.

        The direction of the axis decides what they have in common, and the division
        decides the direction. So there are two steps: without a direction, and with
        that of the first step.
        """
        kinds = _kinds([target.images for target in targets], attributes.images)
        common = [CommonSquares.of(kind) for kind in kinds]
        by_image = targets[0].by_image
        _, (first_a,), (first_b,) = _divided(kinds, common, None)
        direction = AttributeAxis.between(
            image_poles(first_a, first_b, by_image)
        ).direction
        target_images, (images_a,), (images_b,) = _divided(kinds, common, direction)
        poles = image_poles(images_a, images_b, by_image)
        divided_targets = [
            replace(target, images=images)
            for target, images in zip(targets, target_images, strict=True)
        ]
        return cls(
            (images_a, images_b), poles, AttributeAxis.between(poles), divided_targets
        )

    @property
    def kinds(self) -> list[list[PromptImages]]:
        """Images of all targets, of attribute A, and of attribute B."""
        return _kinds([target.images for target in self.targets], self.images)


def _kinds(
    target_images: list[PromptImages], attributes: tuple[PromptImages, PromptImages]
) -> list[list[PromptImages]]:
    return [target_images, [attributes[0]], [attributes[1]]]


def _divided(
    kinds: Sequence[Sequence[PromptImages]],
    common: Sequence[CommonSquares],
    direction: Float64Array | None,
) -> list[list[PromptImages]]:
    """Return the images of each kind, scaled so that every prompt's have as much in common.

    Args:
        kinds: The images of all targets, of A, and of B.
        common: What each kind has in common.
        direction: The direction along which a mixture of images like A and like B
            varies, shape (d,); None without one.
    """
    divided = []
    for images, squares in zip(kinds, common, strict=True):
        directions = None if direction is None else [direction] * len(images)
        divided.append(equal_spread(images, squares.along(directions)))
    return divided
