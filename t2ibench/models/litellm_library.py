"""LiteLLM, for models of servers that speak in another way than OpenAI's."""

from __future__ import annotations

import importlib
import os
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.models.api_key import ApiKey
from t2ibench.models.servers import Server, ServerArguments, checked_address
from t2ibench.redaction import is_secret_name


def load_litellm() -> Any:
    """The module; one line where it is not installed."""
    # Its table of prices comes with it; without this, the import asks the network for another.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        litellm: Any = importlib.import_module("litellm")  # an extra
    except ImportError as error:
        if error.name != "litellm":
            raise
        raise T2IBenchError(
            "litellm:MODEL needs LiteLLM, which is not installed.",
            "pip install 't2ibench[litellm]'",
        ) from None
    litellm.suppress_debug_info = True
    return litellm


class LitellmServer(Server):
    """What LiteLLM reaches.

    Args:
        model: As LiteLLM names it, such as bedrock/….
        args: Its address and the variable of its key, where LiteLLM does not know them, and how
            long it is waited for.

    Attributes:
        library: The module.
        address: Where it is asked; None leaves it to LiteLLM.

    Raises:
        T2IBenchError: it is not installed, the address is none, or the key cannot be sent.
    """

    def __init__(self, model: str, args: ServerArguments) -> None:
        self.library = load_litellm()
        self.address = checked_address(args.base_url) if args.base_url else None
        # What LiteLLM may take for a key, and a server could send back.
        secrets = [value for name, value in os.environ.items() if is_secret_name(name)]
        super().__init__(
            self.address or f"litellm:{model}",
            ApiKey(args.api_key_env or "T2IBENCH_LITELLM_KEY", also=secrets),
            args,
            code_of=lambda error: (
                "content_policy_violation"
                if isinstance(error, self.library.exceptions.ContentPolicyViolationError)
                else None
            ),
            hopeless=(ImportError, NotImplementedError),
        )
        self._given = {"model": model, "api_base": self.address, "timeout": float(args.timeout)}

    def given(self) -> dict[str, Any]:
        """What every call is given."""
        return {**self._given, "api_key": self.key.value or None, "max_retries": 0}
