"""The store of trusted code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from studio.document import code_trust
from studio.document.code_trust import FILE_NAME, CodeTrust, TrustStore, source_digest
from studio.document.document_errors import FileError

SOURCE = "def f(x): return x\n"
DIGEST = source_digest(SOURCE)


def test_nothing_is_trusted_at_first(tmp_path: Path) -> None:
    store = TrustStore(tmp_path / "state")
    assert not store.has(DIGEST)
    assert store.entries() == ()
    assert not (tmp_path / "state").exists()


def test_trust_is_remembered_and_revoked(tmp_path: Path) -> None:
    TrustStore(tmp_path).add([DIGEST], "net.gradwire gate")
    store = TrustStore(tmp_path)
    assert store.has(DIGEST)
    [entry] = store.entries()
    assert (entry.digest, entry.label) == (DIGEST, "net.gradwire gate")
    assert TrustStore(tmp_path).remove([DIGEST, "0" * 64]) == 1
    assert not store.has(DIGEST)


def test_one_other_byte_is_not_trusted(tmp_path: Path) -> None:
    trust = CodeTrust(TrustStore(tmp_path))
    trust.store.add([DIGEST])
    assert trust.covers(SOURCE)
    for at in range(len(SOURCE)):
        assert not trust.covers(SOURCE[:at] + chr(ord(SOURCE[at]) ^ 1) + SOURCE[at + 1 :])
    for other in (SOURCE + " ", SOURCE[:-1], SOURCE.replace("\n", "\r\n"), ""):
        assert not trust.covers(other)


def test_trust_for_a_process_is_not_stored(tmp_path: Path) -> None:
    trust = CodeTrust(TrustStore(tmp_path))
    trust.allow([SOURCE])
    assert trust.covers(SOURCE)
    assert not CodeTrust(TrustStore(tmp_path)).covers(SOURCE)
    trust.disallow([SOURCE])
    assert not trust.covers(SOURCE)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff\xfe",
        b"{" * 100_000,
        b'{"trusted": [1]}',
        b'{"trusted": [{"digest": "abc"}]}',
        json.dumps({"trusted": [{"digest": DIGEST}, {"digest": DIGEST.upper()}]}).encode(),
        json.dumps({"trusted": [{"digest": DIGEST, "label": 3}]}).encode(),
    ],
)
def test_a_damaged_file_trusts_nothing_and_says_so(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    store = TrustStore(tmp_path)
    assert not store.has(DIGEST)
    with pytest.raises(FileError, match=r"is damaged, so no code is trusted\. Delete it"):
        store.entries()
    with pytest.raises(FileError, match="is damaged"):
        store.add([DIGEST])
    assert (tmp_path / FILE_NAME).read_bytes() == content
    store.clear()
    assert store.entries() == ()


def test_a_folder_in_place_of_the_file_trusts_nothing(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir()
    store = TrustStore(tmp_path)
    assert not store.has(DIGEST)
    with pytest.raises(FileError):
        store.add([DIGEST])


def test_the_oldest_are_removed_above_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_trust, "MAX_ENTRIES", 3)
    store = TrustStore(tmp_path)
    digests = [source_digest(str(number)) for number in range(5)]
    for digest in digests:
        store.add([digest])
    assert [entry.digest for entry in store.entries()] == digests[2:]


def test_processes_that_trust_at_once_lose_nothing(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from studio.document.code_trust import TrustStore, source_digest\n"
        "store = TrustStore(Path(sys.argv[1]))\n"
        "for number in range(10): store.add([source_digest(f'{sys.argv[2]} {number}')])\n"
    )
    workers = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), str(worker)]) for worker in range(3)]
    assert [worker.wait(120) for worker in workers] == [0, 0, 0]
    store = TrustStore(tmp_path)
    assert all(store.has(source_digest(f"{worker} {number}")) for worker in range(3) for number in range(10))
