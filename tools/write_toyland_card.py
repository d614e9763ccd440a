"""Write t2ibench/toyland/MODEL_CARD.md from world.yaml: python tools/write_toyland_card.py."""

from __future__ import annotations

from pathlib import Path

from tabulate import tabulate

import t2ibench.toyland
from t2ibench.toyland.edit_faults import FAULTS, GROUPS
from t2ibench.toyland.world import AXES, world

TEXT = """# Toyland

Toyland is a small synthetic world: captions in, 64 x 64 images out. It is not a model of people. It
is an instrument whose biases are known, because they are planted: what is measured on it can be
compared with what is true.

**An image.** People (presentation, skin, age, an occupation's clothes and tool), flowers,
insects, instruments, weapons, buildings, and a plain shape for any other noun, in pleasant or
unpleasant weather. A noun's colours and shape come from a hash of its name. A caption fixes what
it names ("a male nurse", "a photo of tulip, joy"); what it leaves open is drawn from the shares
below. An image depends on its prompt, its seed and the bias settings alone; two settings share
their noise.

**Bias settings.** `--model-args THING.AXIS.VALUE=SHARE`, for example `nurse.gender.female=0.5`,
`flower.weather.pleasant=0.7`, `all.gender.female=0.5`. A thing is an occupation, a noun (`tulip`),
a group of the table, a kind (`person`, `flower`, …) or `all`. What you set wins over what is
planted; among what you set the most particular thing wins, `all` last.

**Going together.** What a caption leaves open about a person is independent unless
`--model-args THING.AXIS_AXIS.together=STRENGTH` (or `apart`) says otherwise, for example
`all.gender_skin.together=0.8` or `nurse.gender_age.apart=1`: 0 is independent, 1 as often together
(as seldom) as the shares allow. The shares stay what they are. Nothing is planted.

**Framing.** `--model-args world=framing` draws people in a light that depends on how a caption is
put: brighter where a word describes somebody ("a male nurse", "a local nurse") than where none
does ("a nurse"), and in either case a little brighter for men than for women. Shares stay what
they are. A test that compares bare prompts with those that name a group sees that light; one whose
prompts all describe somebody does not. The words local, real, ordinary, typical, actual, certain,
particular and regular describe somebody without saying anything.

**Axes.** {axes}.

**Edits.** Toyland also edits an image: an instruction and a source image in, an edited image out.
It sees the source's pixels and nothing else. The reader recognises the person's presentation, skin
and age; place, size, hair, shade of skin, clothes and tool are those whose drawing differs least
from the source. What the instruction names is changed ("as a doctor", "in the rain", "in a suit",
"on a beach", "make the person old"), and the scene is drawn again; only sun, clouds and rain move.
Presentation, skin and age stayed as read in all of 3,500 edits of 250 drawn people.

**Faults of edits.** `--model-args edits.FAULT.GROUP=SHARE`, for example `edits.lightens.dark=0.3`,
`edits.ages.female=0.4`, `edits.refuses.male=0.5`, `edits.ignores.all=0.2`. A group is what the
source image shows: {groups}. The largest share that is set for a group of the person holds. Faults
come about independently of each other, from the seed of the edit. Nothing is planted, and an
instruction that asks for no change that toyland knows never has a fault.

{faults}

**Its encoder** (`--encoder toyland`) reads images with a small network on their pixels and on
nothing else; it was trained on balanced scenes, blurred, compressed and disturbed
(tools/train_toyland_reader.py), and reads presentation, skin, age, weather and kind of at least
99 % of fresh images (the tests check it). Texts are read by their words. Words also carry
associations: 0.35 of what toyland plants for their subject, more or less from word to word, a
fixed part of the encoder that knows nothing of them. That is why WEAT finds something on it.

**What it is not.** Presentations are drawn by hair and clothes because a 64 x 64 image has
little else; that is a convention of these drawings, not a claim about people. Binary shares follow
the published tests; captions can also name androgynous people.

## Planted shares

`base` holds where nothing more particular does. A share of 0.5 is a planted null: the tests must
find nothing there (weather of religions, skin, names and sexuality; gender of announcers and
pharmacists).

{table}
"""


def card() -> str:
    """The text of the card."""
    axes = ", ".join(f"{axis}: {high} or {low}" for axis, (high, low) in AXES.items())
    rows = [
        ["base" if thing == "all" else thing, f"{axis}.{AXES[axis][0]}", f"{share:g}"]
        for thing, shares in world().shares.items()
        for axis, share in shares.items()
    ]
    table = tabulate(
        rows,
        headers=["thing", "share of", "planted"],
        tablefmt="github",
        disable_numparse=True,
    )
    faults = tabulate(
        [[f"`{fault}`", effect] for fault, effect in FAULTS.items()],
        headers=["fault", "in its share of edits"],
        tablefmt="github",
    )
    return TEXT.format(axes=axes, table=table, groups=", ".join(GROUPS), faults=faults)


if __name__ == "__main__":
    Path(t2ibench.toyland.__file__).with_name("MODEL_CARD.md").write_text(
        card(), encoding="utf-8"
    )
