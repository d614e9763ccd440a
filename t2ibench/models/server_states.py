"""Interpret a server's codes and words: a filter blocked a prompt, or the server is unavailable.

The state of a server, an account or a model is no evidence about a prompt. So codes decide before
words, and words about an account, a model or the load decide before those of a filter.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

# Codes and types of errors, without case and punctuation: those of OpenAI, Azure, Google, Alibaba,
# Black Forest Labs, OpenRouter and what proxies make of them.
_FILTER = frozenset(
    {
        "contentpolicy",
        "contentpolicyviolation",
        "contentsafetyviolation",
        "moderationblocked",
        "contentfilter",
        "contentfiltered",
        "contentfilterpolicy",
        "responsibleaipolicyviolation",
        "contentmoderation",
        "contentmoderated",
        "requestmoderated",
        "policyviolation",
        "cyberpolicyviolation",
        "safetyviolation",
        "nsfw",
        "nsfwcontent",
        "imagesafety",
        "prohibitedcontent",
        "imageprohibitedcontent",
        "datainspectionfailed",
        "modelarmor",
    }
)
# Part of codes such as InputTextSensitiveContentDetected.
_SENSITIVE = "sensitivecontent"
_UNPAID = frozenset(
    {
        "insufficientquota",
        "billinghardlimitreached",
        "billingnotactive",
        "billingerror",
        "insufficientcredits",
        "insufficientbalance",
        "insufficientfunds",
        "paymentrequired",
        "arrearage",
    }
)
_NO_ACCESS = frozenset(
    {
        "invalidapikey",
        "incorrectapikey",
        "authenticationerror",
        "permissiondenied",
        "permissionerror",
        "unauthorized",
        "accessdenied",
        "forbidden",
        "accountdeactivated",
        "accountsuspended",
        "accountdisabled",
        "unsupportedcountryregionterritory",
    }
)
_NO_MODEL = frozenset(
    {
        "modelnotfound",
        "invalidmodel",
        "unknownmodel",
        "unsupportedmodel",
        "modelnotsupported",
        "modelnotavailable",
        "modeldeprecated",
        "modeldecommissioned",
        "modelretired",
        "nosuchmodel",
        "deploymentnotfound",
        "notfounderror",
    }
)
_BUSY = frozenset(
    {
        "ratelimitexceeded",
        "ratelimiterror",
        "ratelimited",
        "toomanyrequests",
        "throttling",
        "throttlingexception",
        "resourceexhausted",
        "overloaded",
        "overloadederror",
        "engineoverloaded",
        "modeloverloaded",
        "serveroverloaded",
        "serviceunavailable",
        "servererror",
        "internalservererror",
    }
)
_OF_THE_REQUEST = frozenset(
    {
        "unknownparameter",
        "unsupportedparameter",
        "unsupportedvalue",
        "invalidvalue",
        "missingrequiredparameter",
        "contextlengthexceeded",
        "stringabovemaxlength",
    }
)
_FILTER_WORDS = re.compile(
    r"content[ _-]?(polic|filter|management|moderat|safety)|(content|request) moderated"
    r"|safety[ _-]?(system|filter|check|polic|guideline|violation)"
    r"|moderation|responsible[ _-]?ai|(usage|acceptable use) polic|\bnsfw\b"
    r"|(prompt|image|input|content|request|output)s? (was|were|is|are|has been|have been) "
    r"(flagged|moderated)|flagged (as|for|by)|prohibited[ _]content|sensitive (content|word)"
    r"|(unsafe|inappropriate|harmful|explicit|sexual|violent) (content|prompt|image|material)"
    r"|violat\w*\b.{0,60}\b(polic|guideline|terms|rules|standards)",
    re.IGNORECASE | re.DOTALL,
)
# Words about the generated image, as in xAI's and Together's filters, and words about the request.
_OUTPUT_WORDS = re.compile(
    r"\b(generated|output|resulting|produced) (image|content|picture)|\bgenerations? (was|were)\b"
    r"|nsfw (content|concepts?) (was |were )?(detected|found) in\b.{0,20}\b(image|output)"
    r"|\bthe images? (was|were|is|are|has|"
    r"have)\b|\bin (your|the) outputs?\b",
    re.IGNORECASE,
)
_INPUT_WORDS = re.compile(r"\b(prompts?|inputs?|requests?)\b", re.IGNORECASE)
_UNPAID_PHRASES = re.compile(
    r"exceeded your (current |monthly )?(included )?(quota|credits)"
    r"|(insufficient|not enough|out of|no) (credit|balance|fund|quota)|(credit|account) balance"
    r"|payment (is )?(required|overdue)|(spending|usage) limit|prepaid",
    re.IGNORECASE,
)
# 'billing' alone may come from a prompt, such as one about a billing clerk.
_UNPAID_WORDS = re.compile(rf"\bbilling\b|{_UNPAID_PHRASES.pattern}", re.IGNORECASE)
_RATE_WORDS = re.compile(r"\btoo many requests\b|\brate limit", re.IGNORECASE)
_SHORT_LIMIT = re.compile(r"\bper[ _-]?(second|minute|hour)\b|\bRPM\b|\bTPM\b", re.I)
_LONG_LIMIT = re.compile(
    r"\b(daily|weekly|monthly)\b.{0,40}\b(limit|quota|allowance|cap)\b"
    r"|\b(limit|quota|allowance|cap|requests|images|tokens)\b.{0,40}"
    r"\b(a day|for today|today|this (week|month)|per[ _-]?(day|week|month))\b"
    r"|[ _-]per[_-](day|week|month)\b|\bRPD\b|\bTPD\b",
    re.IGNORECASE | re.DOTALL,
)
_BLOCKED_WORDS = re.compile(
    r"\b(resource|account|organi[sz]ation|subscription|project|api key|deployment|workspace)\b"
    r".{0,60}\b(blocked|suspended|disabled|deactivated|banned|restricted|must be verified"
    r"|not verified|terminated)\b|verify (your )?organi[sz]ation"
    r"|\b(disabled|blocked|suspended|banned) for (your )?(accounts?|organi[sz]ations?|projects?)\b"
    r"|\byour (account|organi[sz]ation|access)\b[^.!?]{0,160}\b(blocked|suspended|disabled|revoked"
    r"|banned|terminated)\b"
    r"|(country|region|territory|location).{0,30}not (supported|available)"
    r"|not (supported|available) in your (country|region|territory|location)",
    re.IGNORECASE | re.DOTALL,
)
_NO_ACCESS_WORDS = re.compile(
    r"api key (is )?(not valid|invalid|expired|missing)|(invalid|incorrect|missing) api key"
    r"|(accessible|available) (only )?to (billed|paid|paying|verified)\b"
    r"|\bfree[ -]tier (users|accounts) (cannot|can ?not|can.t)\b"
    r"|not (allowed|permitted|authori[sz]ed) to (use|access) (this|the) (model|api)\b",
    re.IGNORECASE,
)
_NO_MODEL_WORDS = re.compile(
    r"model\b.{0,80}\b(not found|does ?n.t exist|does not exist|not supported|does not support"
    r"|is not an? (image|diffusion)|no such|deprecated|decommissioned|retired|been shut down"
    r"|was shut down|no longer (available|supported))|not an? (image|diffusion)[ -]?(generation )?"
    r"model|does not support (the )?images?\b|provider not provided",
    re.IGNORECASE | re.DOTALL,
)
_BUSY_WORDS = re.compile(
    r"\b(overloaded|at capacity|over capacity|too many requests|rate limit|try again later"
    r"|temporarily unavailable|currently loading)\b",
    re.IGNORECASE,
)
_NO_IMAGES_WORDS = re.compile(
    r"(not|n.t) (support|accept|take|have|allow)\w* (the )?(multi-?modal|vision|images?)\b"
    r"|support\w* (image|vision|multi-?modal) ?(input)?s?\b.{0,10}\bno\b"
    r"|(image|vision|multi-?modal)( input)?s? (is|are) not (supported|allowed|enabled|available)"
    r"|no endpoints found that support (image|vision)|not (a )?(multi-?modal|vision)"
    r"|at most 0 image|image_url is only supported|unknown variant .?image_url"
    r"|missing data required for image input|image input is not supported|mmproj",
    re.IGNORECASE,
)
# Statuses with which words alone may mean that a filter blocked a prompt. A 403 without a filter's
# code may be about the whole account, and what is served with 404, 429 or 5xx is not about one
# prompt at all.
_OF_ONE_REQUEST = frozenset({200, 400, 422})
_ASKED_LATER = frozenset({408, 409, 425, 429})
_LONG_NAME = 6  # a name of this length is unlikely to be the beginning of another word
# Statuses of errors that do not go away by waiting.
_NEVER_LATER = frozenset({501, 505})


def _plain(codes: Iterable[str]) -> set[str]:
    return {re.sub(r"[^a-z0-9]", "", code.lower()) for code in codes}


def filter_took(codes: Collection[str]) -> bool:
    """Return whether an error code says that a filter blocked a prompt or an image."""
    plain = _plain(codes)
    return bool(plain & _FILTER) or any(_SENSITIVE in code for code in plain)


def filter_words(status: int, codes: Collection[str], text: str) -> bool:
    """Return whether a message without such a code says that a filter blocked a prompt or image."""
    if status not in _OF_ONE_REQUEST:
        return False
    if _plain(codes) & (_UNPAID | _NO_ACCESS | _NO_MODEL | _BUSY | _OF_THE_REQUEST):
        return False
    of_all_requests = (
        _UNPAID_WORDS,
        _BLOCKED_WORDS,
        _NO_ACCESS_WORDS,
        _NO_MODEL_WORDS,
        _BUSY_WORDS,
    )
    if any(pattern.search(text) for pattern in of_all_requests):
        return False
    return _FILTER_WORDS.search(text) is not None


def took_what_was_made(text: str) -> bool:
    """Return whether a filter's words are about a generated image, not about its prompt.

    Examples:
        >>> took_what_was_made("Generated image rejected by content moderation.")
        True
        >>> took_what_was_made("The prompt or the generated image was flagged.")
        False
    """
    return bool(_OUTPUT_WORDS.search(text)) and not _INPUT_WORDS.search(text)


def is_unpaid(codes: Collection[str], text: str) -> bool:
    """Return whether a server's codes or words say that quota, credits or payment are missing."""
    return bool(_plain(codes) & _UNPAID) or _UNPAID_WORDS.search(text) is not None


def unpaid_code(codes: Collection[str]) -> bool:
    """Return whether an error code says that credits are missing, so that waiting is no use."""
    return bool(_plain(codes) & _UNPAID)


def is_unpaid_in_words(text: str) -> bool:
    """Return whether a message says in clear phrases that credits are missing.

    No prompt is likely to have such a phrase.
    """
    return _UNPAID_PHRASES.search(text) is not None


def is_rate_limit(text: str) -> bool:
    """Return whether a server's message asks for fewer requests."""
    return _RATE_WORDS.search(text) is not None


def is_long_limit(text: str) -> bool:
    """Return whether a message names a limit for a day or longer, and none that ends sooner.

    Examples:
        >>> is_long_limit("Rate limit exceeded: free-models-per-day")
        True
        >>> is_long_limit("Limit reached: 5 images per minute, 100 per day")
        False
    """
    if _SHORT_LIMIT.search(text):
        return False
    return _LONG_LIMIT.search(text) is not None


def is_blocked(text: str) -> bool:
    """Return whether a message says that an account, a resource or a region is blocked."""
    return _BLOCKED_WORDS.search(text) is not None


def has_no_access(codes: Collection[str], text: str) -> bool:
    """Return whether a server's codes or words say that the key or its account has no access."""
    return bool(_plain(codes) & _NO_ACCESS) or _NO_ACCESS_WORDS.search(text) is not None


def has_no_model(codes: Collection[str], text: str) -> bool:
    """Return whether codes or words say that a model is missing, retired or of another kind."""
    return bool(_plain(codes) & _NO_MODEL) or _NO_MODEL_WORDS.search(text) is not None


def takes_no_images(text: str) -> bool:
    """Return whether a message says that a model does not accept images."""
    return _NO_IMAGES_WORDS.search(text) is not None


def is_busy(status: int, codes: Collection[str]) -> bool:
    """Return whether a reply's status or codes say that the request may succeed a little later.

    These are the statuses after which the openai client and LiteLLM retry: 408, 409, 429 and those
    from 500 on, such as a gateway's 520 to 524, 529 and 530; 425 besides, and a busy server's
    codes.
    """
    if status in _ASKED_LATER or (status >= 500 and status not in _NEVER_LATER):
        return True
    return status in {200, 400} and bool(_plain(codes) & _BUSY)


def without_names(text: str, names: Iterable[str]) -> str:
    """Return a server's message without the names of models and prompts.

    Names may contain words of filters.

    Examples:
        >>> without_names("No model 'safety-filter-xl'.", ["org/safety-filter-xl"])
        "No model ' '."
    """
    for name in sorted(_forms(names), key=len, reverse=True):
        words = r"\s+".join(re.escape(word) for word in name.split())
        # Servers put dates, tags and versions behind the name of a model.
        end = (
            r"[\w.:-]*" if " " not in name and len(name) >= _LONG_NAME else r"(?![\w-])"
        )
        text = re.sub(rf"(?<![\w-]){words}{end}", " ", text, flags=re.IGNORECASE)
    return text


def _forms(names: Iterable[str]) -> set[str]:
    """Return all forms of names, those of models also without organization or provider."""
    forms: set[str] = set()
    for name in names:
        forms.add(name)
        if " " not in name:
            forms.add(name.rpartition("/")[2])
            forms.add(name.partition("/")[2])
    return {form for form in forms if form.strip()}


def without_fields(text: str, fields: Iterable[str]) -> str:
    """Return a server's message without quoted names of request fields, such as 'moderation'."""
    for field in fields:
        name = re.escape(field)
        text = re.sub(
            rf"(['\"`]){name}\1|\b(parameter|field|argument|property|input):? {name}\b",
            " ",
            text,
        )
    return text
