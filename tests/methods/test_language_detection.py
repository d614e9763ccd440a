"""Which prompts are taken for another language than English, and which are not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from t2ibench.methods.core.guided import GuidedTask
from t2ibench.methods.core.language_detection import (
    foreign_text,
    foreign_words,
    function_words,
)
from t2ibench.tasks import build_index
from t2ibench.tasks.folders import bundled_tasks
from t2ibench.tasks.loader import read_library

TASKS = build_index()[0].tasks
LISTS = read_library([bundled_tasks()]).lists

FOREIGN = [
    ("de", "Ein Foto von {a stimulus}"),
    ("de", "Ein Foto von a {stimulus}"),
    ("de", "EIN FOTO VON {A stimulus}"),
    ("de", "{A stimulus} bei der Arbeit"),
    ("de", "{A stimulus} in der Schule"),
    ("de", "Porträt: {attribute} als {stimulus}"),
    ("de", "Ein Bild von Menschen mit {stimulus}"),
    ("es", "un retrato de {a stimulus} en la calle con una mujer"),
    ("es", "una fotografía de {stimulus} trabajando"),
    ("es", "{A stimulus} en el trabajo"),
    ("fr", "une photo d'{a stimulus}"),
    ("fr", "un portrait de {a stimulus}"),
    ("fr", "{A stimulus} au travail"),
    ("fr", "Portrait de {a stimulus}"),
    ("it", "Foto di {a stimulus}"),
    ("nl", "Foto van {a stimulus}"),
    ("es", "una foto de {a stimulus}"),
    ("it", "un ritratto di {a stimulus}"),
    ("it", "{A stimulus} al lavoro"),
    ("pt", "uma foto de {a stimulus}"),
    ("pt", "{A stimulus} no trabalho"),
    ("nl", "een foto van {a stimulus}"),
    ("nl", "{A stimulus} aan het werk"),
    ("pl", "zdjęcie {stimulus}"),
    ("sv", "ett foto av {a stimulus}"),
    ("tr", "bir {stimulus} fotoğrafı"),
    ("ru", "фотография {stimulus}"),
    ("zh", "一张{stimulus}的照片"),
    ("ja", "{stimulus}の写真"),
    ("ko", "{stimulus}의 사진"),
    ("ar", "صورة {stimulus}"),
    ("hi", "एक {stimulus} की तस्वीर"),
]
# What several languages would say.
SEVERAL = [
    ("Bild: {a stimulus}", {"de", "sv"}),
    ("et billede af {a stimulus}", {"da", "nb"}),
    ("Foto de {a stimulus}", {"es", "nl", "pt"}),
]
ENGLISH = [
    "a photo of {a stimulus}",
    "{stimulus}",
    "{a stimulus}, {attribute}",
    "A photo of {a stimulus} in a café",
    "a façade with {stimulus}",
    "a photo of a piñata and {a stimulus}",
    "Las Vegas, {stimulus}",
    "São Paulo, {stimulus}",
    "La Paz at night with {stimulus}",
    "Rio de Janeiro, {stimulus}",
    "Museo del Prado, {stimulus}",
    "a painting of {a stimulus} in the style of Vincent van Gogh",
    "Leonardo da Vinci: {stimulus}",
    "crème brûlée, {stimulus}",
    "{stimulus} à la mode",
    "{a stimulus} en route",
    "{stimulus} eating foie gras",
    "a señorita and {a stimulus}",
    "a poster that reads 'die Kunst der Fuge', {stimulus}",
    "Das Boot, {stimulus}",
    "Der Spiegel cover, {stimulus}",
    "{stimulus} and the Führer",
    "MIT student {stimulus}",
    "UN {stimulus}",
    "rock'n'roll {stimulus}",
    "coup d'état, {stimulus}",
    "Jeanne d'Arc, {stimulus}",
    "a photo of {a stimulus}, α-particle",
    "a photo of a sign 東京 with {stimulus}",
    "Mies van der Rohe building, {stimulus}",
]


@pytest.mark.parametrize(("language", "text"), FOREIGN)
def test_a_template_in_another_language_is_named(language: str, text: str) -> None:
    foreign = foreign_text(text)
    assert foreign is not None and foreign.languages == (language,)


@pytest.mark.parametrize(("text", "languages"), SEVERAL)
def test_of_several_languages_all_are_named(text: str, languages: set[str]) -> None:
    foreign = foreign_text(text)
    assert foreign is not None and set(foreign.languages) == languages
    assert " or " in foreign.name


@pytest.mark.parametrize("text", ENGLISH)
def test_english_with_foreign_words_is_english(text: str) -> None:
    assert foreign_text(text) is None


@pytest.mark.parametrize(
    ("words", "foreign"),
    [
        (["ein Arzt", "eine Lehrerin", "Pflegekraft"], True),
        (["männlich", "weiblich"], True),
        (["un médico", "una enfermera"], True),
        (["医生", "护士", "老师"], True),
        (["doctor", "nurse", "ein Arzt"], False),
        (["café", "piñata", "façade"], False),
        (["crème brûlée", "coq au vin", "pico de gallo"], False),
        (["masculine", "feminine"], False),
        (["Donna", "Amanda"], False),
        ([], False),
    ],
)
def test_words_of_another_language_are_detected(
    words: list[str], foreign: bool
) -> None:
    assert (foreign_words(words) is not None) == foreign


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from strings(item)


def test_no_shipped_list_is_taken_for_another_language() -> None:
    assert {name for name, words in LISTS.items() if foreign_words(words)} == set()


@pytest.mark.parametrize("name", TASKS)
def test_no_text_of_a_shipped_english_task_is_taken_for_another_language(
    name: str,
) -> None:
    """Not only templates: every text that it holds, single names and citations aside."""
    spec = TASKS[name].spec
    if "languages" in spec.tags or (
        isinstance(spec, GuidedTask) and spec.prompts.languages
    ):
        return
    texts = strings(spec.model_dump(mode="json", exclude={"citation", "notes"}))
    assert [text for text in texts if " " in text and foreign_text(text)] == []


def test_no_sure_word_of_another_language_is_english() -> None:
    table = function_words()
    english = table.english | {word for words in LISTS.values() for word in words}
    for language, weights in table.weights.items():
        sure = {word for word, weight in weights.items() if weight == 2}
        assert not sure & english, language
