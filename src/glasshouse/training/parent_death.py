"""A process that ends when the process that started it has ended, also if that was killed.

    python -m glasshouse.training.parent_death PARENT MODULE ARGUMENT...

runs a module in such a process. PARENT is the id of the process that starts it. The system gives a process another parent
when its own has ended, and a thread looks for that. A signal from the kernel (PR_SET_PDEATHSIG) would come once for each
thread of the parent, and `torchrun` does not stand a second one.
"""

import os
import runpy
import signal
import sys
import threading
import time

POLL_SECONDS = 0.5
# So long after SIGTERM a process that has not ended is killed. A run saves meanwhile.
PATIENCE_SECONDS = 300


def end_with_parent(parent: int | None = None) -> None:
    """End this process by SIGTERM when `parent`, by default its present parent, has ended."""
    arguments = (os.getppid() if parent is None else parent,)
    threading.Thread(target=_watch, args=arguments, name="parent-death", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]))
    del sys.argv[:2]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
