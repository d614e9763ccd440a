"""What the theme leaves undone: names of landmarks, and commands that fit a narrow page."""

from __future__ import annotations

import re

_NAMELESS = re.compile(
    r'<label class="md-nav__link[^"]*" for="(?P<id>[^"]+)"[^>]*>\s*'
    r'<span class="md-nav__icon md-icon"></span>\s*</label>'
)
# A block of code without colours that begins with a command.
_COMMANDS = re.compile(
    r"<pre>(?P<start>(?:<span></span>)?<code>)"
    r"(?P<code>(?:t2ibench|pip|python|git|mkdir|export|docker|hatch)\b[^<]*)</code>"
)


def wrapped(html: str) -> str:
    """A page whose commands break into lines where a screen is narrow; code and tables scroll."""
    return _COMMANDS.sub(_command_block, html)


def _command_block(block: re.Match[str]) -> str:
    """A block of commands, each with what it breaks into set in below its beginning."""
    lines = "".join(
        f'<span class="line">{line}</span>' for line in block["code"].splitlines(True)
    )
    return f'<pre class="command">{block["start"]}{lines}</code>'


def named(html: str) -> str:
    """A page whose search has a name, and every part of the navigation one of its own."""
    html = html.replace(
        'data-md-component="search" role="dialog"',
        'data-md-component="search" role="dialog" aria-label="Search"',
    )
    # Nobody chooses a palette by hand: the theme's switches are hidden, and out of the way of keys.
    html = html.replace(
        'aria-hidden="true"  type="radio"',
        'aria-hidden="true" tabindex="-1" type="radio"',
    )
    html = re.sub(r"<th([^>]*)></th>", r"<td\1></td>", html)
    for part in set(_NAMELESS.findall(html)):
        title = re.search(
            rf'<label class="md-nav__title" for="{part}">\s*<span[^>]*></span>\s*(.*?)\s*</label>',
            html,
            re.S,
        )
        if title:
            before, after = (
                f'aria-labelledby="{part}_label"',
                f'aria-label="{title[1]}"',
            )
            html = html.replace(before, after)
    return html
