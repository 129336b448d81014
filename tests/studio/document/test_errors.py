from __future__ import annotations

import errno
import os

import pytest

from studio.document.document_errors import FileError


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.ENOENT, errno.EIO, errno.EBUSY])
def test_every_refusal_of_the_system_gets_a_remedy(number: int) -> None:
    error = FileError.from_os_error("a.gradwire", "cannot be saved", OSError(number, os.strerror(number)))
    assert str(error).startswith("a.gradwire cannot be saved: ")
    assert error.remedy.endswith(".")


def test_an_error_without_a_number() -> None:
    error = FileError.from_os_error("a.gradwire", "cannot be opened", OSError("odd"))
    assert str(error) == "a.gradwire cannot be opened: odd. Choose another file or folder."
