"""The environment in the JSON of nccl-tests loses every value that may be a secret, before anybody keeps the text.

``-J`` writes the whole environment of the process, tokens of service accounts included. Only variables known to steer
NCCL and its libraries keep their values; of all others the name stays. A cut file is treated like a whole one.
"""

import re

REMOVED = "(removed)"
_KEPT = re.compile(
    r"(?:NCCL|RCCL|CUDA|NVIDIA|UCX|FI|OFI|OMPI_COMM|OMPI_MCA|PMIX_RANK|SLURM|HSA|ROCR|HIP|MLX5|IBV|RDMAV|GLOO|OMP)_\w+"
    r"|LD_LIBRARY_PATH|LANG|HOSTNAME|NODE_NAME|RANK|WORLD_SIZE|LOCAL_RANK"
)
_SECRET = re.compile(r"key|token|secret|passw|credential|auth|cookie|session|private|dsn|jwt", re.IGNORECASE)
_PASSWORD_IN_URL = re.compile(r"([a-z][a-z0-9+.-]*://)[^/@\s]+@", re.IGNORECASE)
_ENVIRONMENT = re.compile(r'"env"\s*:\s*\[')
_STRING = re.compile(r'\s*,?\s*"((?:[^"\\]|\\.)*)("|\Z|(?=\\\Z))', re.DOTALL)


def without_secrets(text: str) -> str:
    """The text with the values of its ``env`` lists removed, except those that steer NCCL; never raises."""
    kept, position = [], 0
    while found := _ENVIRONMENT.search(text, position):
        kept.append(text[position : found.end()])
        position = found.end()
        while entry := _STRING.match(text, position):
            kept.append(text[position : entry.start(1)] + _shown(entry[1]) + '"')
            position = entry.end() if entry[2] else len(text)
    return "".join(kept) + text[position:]


def _shown(entry: str) -> str:
    name, equals, value = entry.partition("=")
    if not equals:
        return REMOVED
    if _KEPT.fullmatch(name) is None or _SECRET.search(name):
        return f"{name}={REMOVED}"
    return f"{name}=" + _PASSWORD_IN_URL.sub(rf"\g<1>{REMOVED}@", value)
