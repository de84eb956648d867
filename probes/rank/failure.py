"""Why a rank could not do its part: a code, a sentence, and the exit status that stands for it."""

EXIT_STATUS = {
    "gpu_missing": 10,
    "nccl_missing": 11,
    "gpu_memory": 12,
    "nccl_error": 13,
    "cuda_error": 14,
    "no_unique_id": 15,
    "message_too_small": 16,
}


class RankFailure(Exception):
    """``reason`` is one of EXIT_STATUS; the sentence says subject, found and wanted."""

    def __init__(self, reason: str, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason
        self.sentence = sentence
