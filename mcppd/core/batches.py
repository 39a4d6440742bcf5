"""JSON-RPC batches: their answers are gathered and sent as one array when the last is there."""

from __future__ import annotations


class Batch:
    """The answers to one batch. `expect` for each that is due, `seal` when the batch has been read."""

    __slots__ = ("_answers", "_due", "_sealed")

    def __init__(self) -> None:
        self._answers: list[bytes] = []
        self._due = 0
        self._sealed = False

    def expect(self) -> None:
        """One more answer is due."""
        self._due += 1

    def add(self, answer: bytes) -> bytes | None:
        """An answer is there; the whole array if it was the last."""
        self._answers.append(answer)
        return self.drop()

    def drop(self) -> bytes | None:
        """An answer isn't due any more (the request was cancelled); the whole array if it was the last."""
        self._due -= 1
        return self._whole()

    def seal(self) -> bytes | None:
        """The batch has been read to its end; the whole array if nothing is due."""
        self._sealed = True
        return self._whole()

    def _whole(self) -> bytes | None:
        """The array, unless answers are missing or there is nothing to answer (JSON-RPC 2.0, section 6)."""
        if self._due or not self._sealed or not self._answers:
            return None
        return b"[" + b",".join(self._answers) + b"]"
