"""Code in a process of its own: what passes, what fails, and what the limits stop."""

import os

import pytest

from glasshouse.llms.code_runner import run_with_tests


@pytest.mark.parametrize(
    ("code", "tests"),
    [
        ("def add(a, b): return a + b", "assert add(1, 2) == 3"),
        ("import math, collections, heapq, typing, dataclasses, random", "assert math.pi > 3"),
        ("print('x' * 1_000_000)\nx = 1\nimport sys; sys.exit(0)", "assert x == 1"),
        ("if __name__ == '__main__': raise ValueError", "pass"),
        ("open('own.txt', 'w').write('a')", "import os\nassert os.listdir() == ['own.txt'], os.listdir()"),
        ("import os", "assert set(os.environ) <= {'LANG', 'LC_CTYPE'}, os.environ"),
    ],
)
def test_good_code_passes(code, tests):
    assert run_with_tests(code, tests) == ""


@pytest.mark.parametrize(
    ("code", "tests", "reason"),
    [
        ("x = 1", "assert x == 2, 'x is 1'", "x is 1"),
        ("def (", "", "SyntaxError"),
        ("import os; os._exit(0)", "", "before its tests"),
        ("x = [0] * 10**9", "", "MemoryError"),
        ("import socket; socket.create_connection(('127.0.0.1', 80))", "", "refused here: socket"),
        ("import urllib.request as u; u.urlopen('http://127.0.0.1')", "", "refused here"),
        ("import os; os.fork()", "", "refused here: os.fork"),
        ("import os; os.system('true')", "", "refused here: os.system"),
        ("import subprocess; subprocess.run(['true'])", "", "refused here: subprocess"),
        ("import ctypes; ctypes.CDLL(None).getpid()", "", "refused here: ctypes"),
        ("import os; os.kill(os.getppid(), 9)", "", "refused here: os.kill"),
        ("file = open('big', 'w')\nfor _ in range(100): file.write('x' * 100_000)", "", "File too large"),
        ("open('/etc/passwd').read()", "", "outside the folder"),
        ("import os; os.listdir('/')", "", "outside the folder"),
        ("input()", "", "EOFError"),
    ],
)
def test_bad_code_fails_with_its_reason(code, tests, reason):
    assert reason in run_with_tests(code, tests)


def test_files_outside_are_neither_written_nor_deleted(tmp_path):
    kept = tmp_path / "kept.txt"
    kept.write_text("x")
    for code in (
        f"open({str(kept)!r}, 'w')",
        f"import os; os.remove({str(kept)!r})",
        f"import os; os.rename({str(kept)!r}, 'y')",
    ):
        assert run_with_tests(code, "")
    link = f"import os; os.symlink({str(kept)!r}, 'link'); open('link', 'w')"
    assert run_with_tests(link, "")
    assert kept.read_text() == "x"


@pytest.mark.parametrize("code", ["while True: pass", "import time; time.sleep(60)"])
def test_time_is_limited(code):
    assert run_with_tests(code, "", seconds=0.3) == "not done after 0.3 s"


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run_with_tests("open('a', 'w').write('b')", "")
    assert os.listdir(tmp_path) == []
