"""Which NCCL a rank has, and who makes its communicator: nccl4py, or the library's C interface where that is absent.

A workload's image has libnccl.so.2, whose proof this is about, and rarely nccl4py; with nccl4py the library is found in
Python's packages as well. The C functions and their arguments are the same since NCCL 2.7.
"""

import ctypes
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from probes.rank.failure import RankFailure
from probes.rank.task import UNIQUE_ID_BYTES

LIBRARY = "libnccl.so.2"
SUCCESS, IN_PROGRESS = 0, 7

_POINTER, _SIZE, _INT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


class _UniqueId(ctypes.Structure):
    _fields_ = (("data", ctypes.c_char * UNIQUE_ID_BYTES),)


SIGNATURES: dict[str, tuple[Any, ...]] = {
    "ncclGetVersion": (ctypes.POINTER(_INT),),
    "ncclGetUniqueId": (ctypes.POINTER(_UniqueId),),
    "ncclCommInitRank": (ctypes.POINTER(_POINTER), _INT, _UniqueId, _INT),
    "ncclCommDestroy": (_POINTER,),
    "ncclCommGetAsyncError": (_POINTER, ctypes.POINTER(_INT)),
    "ncclAllReduce": (_POINTER, _POINTER, _SIZE, _INT, _INT, _POINTER, _POINTER),
    "ncclReduceScatter": (_POINTER, _POINTER, _SIZE, _INT, _INT, _POINTER, _POINTER),
    "ncclAllGather": (_POINTER, _POINTER, _SIZE, _INT, _POINTER, _POINTER),
    "ncclAlltoAll": (_POINTER, _POINTER, _SIZE, _INT, _POINTER, _POINTER),
    "ncclSend": (_POINTER, _SIZE, _INT, _INT, _POINTER, _POINTER),
    "ncclRecv": (_POINTER, _SIZE, _INT, _INT, _POINTER, _POINTER),
    "ncclGroupStart": (),
    "ncclGroupEnd": (),
}
TEXTS: dict[str, tuple[Any, ...]] = {"ncclGetErrorString": (_INT,), "ncclGetLastError": (_POINTER,)}


@dataclass(frozen=True, slots=True)
class Library:
    """The loaded library. Its calls raise RankFailure nccl_error, in NCCL's own words."""

    c: Any

    def call(self, name: str, *arguments: Any, communicator: Any = None) -> None:
        """Call a function; the communicator is for the words of its failure."""
        status = getattr(self.c, name)(*arguments)
        if status not in (SUCCESS, IN_PROGRESS):
            self.fail(name, status, communicator)

    def fail(self, what: str, status: int, communicator: Any = None) -> None:
        """Raise what a status of NCCL means."""
        words = self.c.ncclGetErrorString(status).decode(errors="replace")
        sentence = f"{what} ended with {status} {words} ({self.last_error(communicator)}), success wanted"
        raise RankFailure("nccl_error", sentence)

    def last_error(self, communicator: Any = None) -> str:
        """What NCCL last complained of."""
        if not hasattr(self.c, "ncclGetLastError"):
            return "NCCL before 2.13 says no more"
        return (self.c.ncclGetLastError(communicator) or b"").decode(errors="replace").strip() or "NCCL says no more"


@dataclass(frozen=True, slots=True)
class Binding:
    """``join`` takes ranks, rank and the unique id, waits for the others, and returns the communicator's address.

    ``leave`` has to be called with the same address. ``name`` is whose work that is.
    """

    name: str
    version: str
    library: Library
    make_unique_id: Callable[[], bytes]
    join: Callable[[int, int, bytes], int]
    leave: Callable[[int], None]


def load() -> Binding:
    """Return nccl4py with the library that it loaded, or the library alone. Raises RankFailure nccl_missing."""
    try:
        module = importlib.import_module("nccl.core")
        loaded = module.get_version().libnccl
    except (ImportError, AttributeError, RuntimeError) as error:
        return _alone(error)
    if loaded is None:
        raise RankFailure("nccl_missing", f"no {LIBRARY} that nccl4py could load found, one wanted (nvidia-nccl-cu13)")
    return _by_nccl4py(module, _declared(ctypes.CDLL(str(loaded.path or LIBRARY))), str(loaded.version))


def _by_nccl4py(module: Any, library: Library, version: str) -> Binding:
    refusals = (module.NcclInvalid, importlib.import_module("nccl.bindings.nccl").NCCLError, RuntimeError)
    joined: dict[int, Any] = {}

    def make_unique_id() -> bytes:
        try:
            return bytes(module.get_unique_id())
        except refusals as error:
            found = f"unique id refused ({error}; {library.last_error()})"
            raise RankFailure("nccl_error", f"{found}, one wanted") from error

    def join(ranks: int, rank: int, unique_id: bytes) -> int:
        try:
            communicator = module.Communicator.init(ranks, rank, module.UniqueId.from_bytes(unique_id))
        except refusals as error:
            found = f"communicator of {ranks} ranks refused ({error}; {library.last_error()})"
            raise RankFailure("nccl_error", f"{found}, one wanted") from error
        joined[communicator.ptr] = communicator
        return int(communicator.ptr)

    return Binding("nccl4py", version, library, make_unique_id, join, lambda address: joined.pop(address).destroy())


def _alone(without: Exception) -> Binding:
    try:
        library = _declared(ctypes.CDLL(LIBRARY))
    except OSError as error:
        found = f"nccl.core not importable ({without}) and {LIBRARY} not loadable ({error}) found"
        wanted = "nccl4py 0.6 or newer with cuda-bindings (pip install 'rdma-gate[nccl4py]'), or the library"
        raise RankFailure("nccl_missing", f"{found}, {wanted} wanted") from error
    version = _INT()
    library.call("ncclGetVersion", ctypes.byref(version))

    def make_unique_id() -> bytes:
        made = _UniqueId()
        library.call("ncclGetUniqueId", ctypes.byref(made))
        return bytes(made)

    def join(ranks: int, rank: int, unique_id: bytes) -> int:
        communicator = _POINTER()
        identity = _UniqueId.from_buffer_copy(unique_id)
        library.call("ncclCommInitRank", ctypes.byref(communicator), ranks, identity, rank)
        return communicator.value or 0

    def leave(address: int) -> None:
        library.call("ncclCommDestroy", _POINTER(address))

    return Binding(LIBRARY, _version(version.value), library, make_unique_id, join, leave)


def _declared(c: Any) -> Library:
    for name, arguments in (SIGNATURES | TEXTS).items():
        if hasattr(c, name):
            getattr(c, name).argtypes = arguments
            getattr(c, name).restype = ctypes.c_char_p if name in TEXTS else _INT
    return Library(c)


def _version(number: int) -> str:
    """22809 is 2.28.9; before 2.9 a thousand was one major version."""
    major = 10000 if number >= 10000 else 1000
    return f"{number // major}.{number % major // 100}.{number % 100}"
