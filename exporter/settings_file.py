"""``rdma-gate.yaml`` becomes Settings, or a list of its mistakes. Without a file, both roles serve this machine.

The node role loads this at start, so it needs nothing but msgspec and YAML.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

import msgspec

from exporter.burst_settings import BurstsFile, burst_settings, bursts_mistakes
from exporter.document import Document, Mistake, Place, read_document, unknown_key
from exporter.kubernetes_settings import KubernetesFile, kubernetes_mistakes, kubernetes_settings
from exporter.quantities import parse_seconds
from exporter.settings import (
    DEFAULT_LISTEN,
    Environment,
    KnownMember,
    Settings,
    SettingsError,
    is_loopback,
    split_listen,
)

SYSTEM_STATE = "/var/lib/rdma-gate"
Role = Literal["node", "gate"]
Vantage = Literal["host", "pod"]
LogLevel = Literal["debug", "info", "warning", "error"]


class MemberFile(msgspec.Struct, frozen=True):
    """One member as the file has it: ``address`` for all its HCAs, or ``addresses`` for each."""

    name: str
    url: str
    address: str = ""
    addresses: dict[str, str] = {}
    labels: dict[str, str] = {}


class SettingsFile(msgspec.Struct, frozen=True):
    """The keys of the file, with what holds when they are absent."""

    node: str = ""
    roles: tuple[Role, ...] = ("node", "gate")
    listen: str = DEFAULT_LISTEN
    listen_publicly: bool = False
    state_dir: str = ""
    plan: str = ""
    decisions: str = ""
    key_file: str = ""
    node_key_file: str = ""
    members: tuple[MemberFile, ...] = ()
    pause_file: str = ""
    every: dict[str, str] = {}
    host_root: str = "/"
    log_level: LogLevel = "info"
    vantage: Vantage = "host"
    kubernetes: KubernetesFile = KubernetesFile()
    bursts: BurstsFile = BurstsFile()


def load_settings(path: Path | None, environment: Environment) -> Settings:
    """Return the settings of that file, or the defaults for None. SettingsError with all mistakes."""
    try:
        text = path.read_text() if path else ""
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError((f"{path}: {error}, readable settings wanted",)) from error
    return parse_settings(text, environment, base=path.parent if path else Path.cwd())


def parse_settings(text: str, environment: Environment, *, base: Path) -> Settings:
    """Return the settings that the text says; relative paths start at ``base``. SettingsError with all mistakes."""
    document = read_document(text)
    data = {} if document.data is None else document.data
    file, mistakes = _read(data, SettingsFile, ())
    mistakes = [*document.mistakes, *mistakes]
    if isinstance(file, SettingsFile):
        mistakes += _contradictions(file)
    if mistakes or not isinstance(file, SettingsFile):
        raise SettingsError(Document(data, document.lines).render(mistakes))
    return _resolve(file, environment, base.absolute())


def _resolve(file: SettingsFile, environment: Environment, base: Path) -> Settings:
    host, port = split_listen(file.listen)
    state = _path(file.state_dir, base) or _default_state(environment)
    members = tuple(
        KnownMember(one.name, one.url, one.addresses or ({"": one.address} if one.address else {}), one.labels)
        for one in file.members
    )
    return Settings(
        node=file.node or environment.hostname,
        roles=frozenset(file.roles),
        host=host,
        port=port,
        state_dir=state,
        plan=_path(file.plan, base),
        decisions=_path(file.decisions, base),
        key_file=_path(file.key_file, base),
        node_key_file=_path(file.node_key_file, base),
        members=members,
        pause_file=_path(file.pause_file, base) or state / "pause",
        every_seconds={probe: float(parse_seconds(text)) for probe, text in file.every.items()},
        host_root=_path(file.host_root, base) or Path("/"),
        log_level=file.log_level,
        vantage=file.vantage,
        kubernetes=kubernetes_settings(file.kubernetes, environment, base) if "gate" in file.roles else None,
        bursts=burst_settings(file.bursts, base),
    )


def _default_state(environment: Environment) -> Path:
    if environment.is_root:
        return Path(SYSTEM_STATE)
    variables = environment.variables
    home = variables.get("XDG_STATE_HOME") or f"{variables.get('HOME', '/tmp')}/.local/state"  # noqa: S108 no home at all
    return Path(home) / "rdma-gate"


def _path(text: str, base: Path) -> Path | None:
    return base / Path(text).expanduser() if text else None


def _read(data: Any, kind: Any, place: Place) -> tuple[Any, list[Mistake]]:
    """Convert ``data``; a struct field by field, so that all mistakes are found and each has its place."""
    if get_args(kind) and get_args(kind)[0] is MemberFile and isinstance(data, list):
        rows = [_read(one, MemberFile, (*place, index)) for index, one in enumerate(data)]
        return tuple(row for row, _ in rows), [mistake for _, wrong in rows for mistake in wrong]
    if not isinstance(kind, type) or not issubclass(kind, msgspec.Struct):
        return _convert(data, kind, place)
    if not isinstance(data, dict):
        return None, [Mistake(place, f"{data!r} found, keys and values wanted")]
    return _read_struct(data, kind, place)


def _read_struct(data: dict[Any, Any], kind: type[msgspec.Struct], place: Place) -> tuple[Any, list[Mistake]]:
    known = get_type_hints(kind)
    mistakes = [Mistake((*place, key), unknown_key(key, known)) for key in data if key not in known]
    values = {}
    for key in (key for key in known if key in data):
        values[key], wrong = _read(data[key], known[key], (*place, key))
        mistakes += wrong
    for one in msgspec.structs.fields(kind):
        if one.required and one.name not in data:
            mistakes.append(Mistake((*place, one.name), "absent, a value wanted"))
    return (None if mistakes else kind(**values)), mistakes


def _convert(data: Any, kind: Any, place: Place) -> tuple[Any, list[Mistake]]:
    try:
        return msgspec.convert(data, kind, strict=True), []
    except msgspec.ValidationError:
        return None, [Mistake(place, f"{data!r} found, {_wanted(kind)} wanted")]


def _wanted(kind: Any) -> str:
    arguments, origin = get_args(kind), get_origin(kind)
    if origin is Literal:
        return f"one of {', '.join(arguments)}"
    if origin is tuple:
        each = "names" if arguments[0] is str else " or ".join(get_args(arguments[0])) or "members"
        return f"a list of {each}"
    return {bool: "true or false", int: "a whole number", dict: "text for each name"}.get(origin or kind, "text")


def _contradictions(file: SettingsFile) -> Iterator[Mistake]:
    if not file.roles:
        yield Mistake(("roles",), "none found, node, gate or both wanted")
    yield from _listen_mistakes(file)
    names = [member.name for member in file.members]
    for index, member in enumerate(file.members):
        place: Place = ("members", index)
        if names.index(member.name) < index:
            yield Mistake((*place, "name"), f"{member.name} found a second time, a name of its own wanted")
        if not _is_web_address(member.url):
            yield Mistake((*place, "url"), f"{member.url!r} found, http://address:port wanted")
        if member.address and member.addresses:
            yield Mistake(place, "address and addresses found, one of them wanted")
    for probe, text in file.every.items():
        yield from _every_mistakes(probe, text)
    yield from kubernetes_mistakes(file.kubernetes)
    yield from bursts_mistakes(file.bursts)


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _listen_mistakes(file: SettingsFile) -> Iterator[Mistake]:
    try:
        host, _ = split_listen(file.listen)
    except ValueError as error:
        yield Mistake(("listen",), str(error))
        return
    if is_loopback(host):
        return
    if not file.listen_publicly:
        yield Mistake(("listen",), f"{host} found, which others can reach: listen_publicly: true wanted as well")
    if not (file.key_file or file.node_key_file):
        yield Mistake(("listen",), f"{host} found without a key, key_file or node_key_file wanted")


def _every_mistakes(probe: str, text: str) -> Iterator[Mistake]:
    try:
        seconds = float(parse_seconds(text))
    except ValueError as error:
        yield Mistake(("every", probe), str(error))
        return
    if seconds < 1:
        yield Mistake(("every", probe), f"{text} found, at least 1 s wanted")
