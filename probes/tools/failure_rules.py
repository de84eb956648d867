"""Which words of a tool mean which failure, in order of precedence: causes, then the TCP connection, then echoes."""

import re
from dataclasses import dataclass

_GPU_BUFFER = (
    r"initializing CUDA|cuMemAlloc|creating CUDA Ctx|CUDA device \d|GPU buffer|--use_cuda|ibv_reg_dmabuf_mr"
    r"|using DMA-BUF for GPU"
)
_NOT_REGISTERED = (
    r"Couldn't (?:allocate|register) (?:\w+ )?MR\b",
    r"failed to create mr\b",
    r"ibv_reg_mr\w*\b.*(?:failed|error)",
)
_TOOL = r"\b(?:ib_\w+_(?:bw|lat)|ibv_\w+|ibstat(?:us)?|rdma|stdbuf)"


@dataclass(frozen=True, slots=True)
class Rule:
    """A line that matches ``pattern`` means ``code``, provided that ``context`` is found anywhere in the text.

    ``completion`` is the number of the work completion status that the rule is about.
    """

    code: str
    pattern: re.Pattern[str]
    context: re.Pattern[str] | None = None
    completion: int | None = None


def _rule(code: str, *phrases: str, context: str = "") -> Rule:
    near = re.compile(context, re.IGNORECASE | re.MULTILINE) if context else None
    return Rule(code, re.compile("|".join(phrases), re.IGNORECASE), near)


def _completion(code: str, number: str, *names: str, context: str = "") -> Rule:
    """A work completion's status: by its number, as older tools print it, or by its name."""
    shapes = (
        rf"Failed status[ -]*{number}\b",
        rf"Failed status[^()]*\({number}\)",
        rf"parse WC failed {number}\b",
        rf"\bstatus={number}\b",
    )
    rule = _rule(code, *shapes, *names, context=context)
    return Rule(code, rule.pattern, rule.context, int(number) if number.isdigit() else None)


RULES: tuple[Rule, ...] = (
    _rule("tool_lacks_feature", r"un(?:recognized|known) option .*use_(?:cuda|rocm)"),
    _rule(
        "gpu_memory_registration_failed",
        r"does(?: not|n't) support DMA-?BUF",
        r"DMA-?BUF is not supported on this GPU",
        r"ibv_reg_dmabuf_mr.*(?:failed|error)",
    ),
    _rule("gpu_memory_registration_failed", *_NOT_REGISTERED, context=_GPU_BUFFER),
    _rule("memory_registration_failed", *_NOT_REGISTERED),
    _rule(
        "gpu_unusable",
        r"Assertion \".*\" failed",
        r"\bcu[A-Z]\w+\W.*(?:failed|error)",
        r"\bcu[A-Z]\w+\(\w*\) returned [1-9]",
        r"CUDA (?:error|failure)",
        r"no available device\(s\) that support CUDA|Couldn't init GPU context",
    ),
    _rule(
        "driver_library_missing",
        r"no userspace device-specific driver",
        r"couldn't load driver",
        context=r"No IB devices|Did not detect devices|IB device \S+ (?:wasn't|not) found",
    ),
    _rule(
        "permission_denied",
        r"Couldn't get context for (?!the device)",
        r"Failed to open device\b",
        r"/dev/infiniband/uverbs\d+'?: (?:Operation not permitted|Permission denied)",
    ),
    _rule(
        "device_missing",
        r"IB device \S+ (?:wasn't|not) found",
        r"IB device can't be found",
        r"No IB devices found",
        r"Did not detect devices",
        r"Unable to find the Infiniband",
    ),
    _rule("rdma_cm_unavailable", r"rdma_create_event_channel failed", r"/dev/infiniband/rdma_cm'?: "),
    _rule("no_lid", r"Couldn't get local LID", r"Local lid 0x0 detected", r"Is an SM running"),
    _rule("port_down", r"Port number \d+ state is (?!Active)", r"port \d+ is (?:not active|down)\b"),
    _rule("tool_misuse", r"Invalid MTU - \d+"),
    # perftest says so after any of the above too, so that alone it means what is left: the HCA did not open
    _rule("permission_denied", r"Couldn't get context for the device"),
    _rule("port_invalid", r"Invalid port requested", r"modify (?:\w+ )?QP .*to INIT", r"Couldn't get port info"),
    _rule("gid_missing", r"can't read sgid of index", r"(?:Failed to|Could not|Couldn't) (?:get|query|read) .*\bGID\b"),
    _rule("gid_type_mismatch", r"Incompatibility issue with GID types"),
    _rule("rtr_failed", r"modify (?:\w+ )?QP .*to RT[RS]", r"Unable to Connect the HCA's through the link"),
    _completion("local_protection_error", "4", r"local[- ]protection[- ]error", r"(?-i:LOC_PROT_ERR)"),
    # a peer that runs another kind of test offers no memory key
    _completion("parameter_mismatch", "10", r"(?-i:REM_ACCESS_ERR)", context=r"remote address:.*RKey 0{8}\b"),
    _completion("remote_access_error", "10", r"remote[- ]access[- ]error", r"(?-i:REM_ACCESS_ERR)"),
    _completion("remote_operation_error", "11", r"remote[- ]operation[- ]error", r"(?-i:REM_OP_ERR)"),
    _completion("remote_invalid_request", "9", r"remote[- ]invalid[- ]request", r"(?-i:REM_INV_REQ)"),
    _completion("rnr_retry_exceeded", "13", r"RNR[- ]retry[- ]counter[- ]exceeded", r"(?-i:RNR_RETRY_EXC)"),
    _completion("retry_exceeded", "12", r"transport[- ]retry[- ]counter[- ]exceeded", r"(?-i:\b(?:IBV_WC_)?RETRY_EXC)"),
    _completion("local_qp_error", "2", r"local[- ]QP[- ]operation[- ]error", r"(?-i:LOC_QP_OP_ERR)"),
    _completion("local_length_error", "1", r"local[- ]length[- ]error", r"(?-i:LOC_LEN_ERR)"),
    _completion("completion_error", r"(?!5\b)\d+"),
    _rule("no_completion", r"Did not get Message for \d+ Seconds"),
    _rule("clock_unreadable", r"Can't produce a report", r"Unable to get (?:the )?CPU (?:speed|frequency)"),
    _rule("version_mismatch", r"not compatible with versions older", r"versions? (?:mismatch|differ)"),
    _rule("parameter_mismatch", r"\bmismatch: local=", r"Failed to negotiate parameters"),
    _rule(
        "resource_creation_failed",
        r"Couldn't (?:create|allocate) (?:QP|CQ|PD|SRQ|AH|completion channel)\b",
        r"(?:Unable|Failed) to create (?:QP|CQ|AH|SRQ)\b",
    ),
    _rule(
        "tool_missing",
        rf"{_TOOL}\b.*(?:not found$|: No such file|Permission denied|shared libraries)",
        r"executable file not found",
        r"failed to run command",
    ),
    _rule("tool_lacks_feature", r"unrecognized option", r"Invalid Command or flag"),
    _rule(
        "tool_misuse",
        r"Iteration num should be",
        r"margin is not long enough",
        r"invalid option --",
        r"option requires an argument",
        r"Requested size larger than port MTU",
        r"Parser function exited with Error",
    ),
    _rule("missed_limit", r"BW result is below bw limit", r"Msg ?rate\b.*\bbelow"),
    _rule("out_of_memory", r"Couldn't allocate (?:work buf|memory)", r"Failed to allocate memory", r"Out of memory"),
    _rule(
        "rdma_cm_failed",
        r"RDMA_CM_EVENT_\w*(?:ERROR|UNREACHABLE|REJECTED)",
        r"rdma_(?:resolve|connect|listen|bind)\w*\b.*failed",
        r"Failed to (?:handle|connect) RDMA CM",
        r"Unexpected CM event",
        r"\d+ times (?:ADDR|ROUTE)_ERROR",
    ),
    _rule(
        "control_tcp",
        r"Couldn't connect to \S+:\d+",
        r"Unable to (?:open file descriptor for|init the) socket connection",
        r"failure in name resolution|Name or service not known",
        r"No route to host|Connection (?:refused|timed out)",
        r"Couldn't listen to port|Address already in use|accept\(\) failed",
    ),
    _completion("work_request_flushed", "5", r"work[- ]request[- ]flushed", r"(?-i:WR_FLUSH_ERR)"),
    _rule(
        "completion_error",
        r"Completion with error at (?:client|server)",
        r"Got bad completion",
        r"Couldn\'t post (?:send|recv)",
    ),
    _rule("rtr_failed", r"Couldn't connect to remote QP"),
    _rule(
        "gid_missing",
        r"local address:\s+LID 0x0000,.*GID ::\s*$",
        context=r"Couldn't read(?:/write)? remote address|Couldn't connect to remote QP",
    ),
    _rule("data_check_complained", r"invalid data in page"),
    _rule(
        "peer_gone",
        r"Couldn't read(?:/write)? remote address",
        r"(?:client|server) read/write:",
        r"Unable to (?:read|write) (?:to|from) socket/rdma_cm",
        r"Failed to exchange data between server and clients",
        r"Connection reset by peer|Broken pipe",
    ),
    _rule("tool_failed", r"Couldn't create IB resources", r"Failed to (?:complete run_iter|initialize RDMA contexts)"),
    _rule("tool_crashed", r"Segmentation fault|core dumped|double free|stack smashing|Bus error|Illegal instruction"),
    _rule("tool_killed", r"^\s*(?:Killed|Terminated|Alarm clock)\s*$", r"exit (?:status|code)[ :=]*(?:124|137|143)\b"),
    _rule("tool_failed", r"\brc=-?[1-9]\d*\s*$", r"exit(?:ed)? (?:with )?(?:status|code)[ :=]*[1-9]\d*\b"),
    # The last of all: it ends no run, but every figure of that end is 0, or no number.
    _rule("clock_unreadable", r"Correlation coefficient r\^2: \S+ < 0\.9", r"^gettimeofday failed"),
)
