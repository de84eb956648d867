"""An environment that may be shown: secrets are named, their values removed."""

import re
from collections.abc import Mapping

SECRET_NAME = re.compile(r"key|token|secret|passw|credential|auth|cookie|session|private|dsn", re.IGNORECASE)
URL_WITH_PASSWORD = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*://)[^/@\s]+@", re.IGNORECASE)
REMOVED = "(removed)"


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables in order, with the values of secrets and the credentials in URLs removed."""
    return {
        name: REMOVED if SECRET_NAME.search(name) else URL_WITH_PASSWORD.sub(rf"\g<scheme>{REMOVED}@", value)
        for name, value in sorted(environment.items())
    }
