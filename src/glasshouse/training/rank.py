"""One process of several that train runs together: `torchrun ... -m glasshouse.training.rank DEVICE RUN...`."""

import sys
from pathlib import Path

from glasshouse.records.run_folder import RunFolder
from glasshouse.specs.errors import GlasshouseError
from glasshouse.training import loop, parent_death, process_group
from glasshouse.training.process_group import LostProcess
from glasshouse.training.torchrun import ERROR_PREFIX


def main(device: str, *paths: str) -> int:
    """Train the runs as rank 0, or follow rank 0. Returns the exit status."""
    parent_death.end_with_parent()
    try:
        if process_group.rank() > 0:
            loop.follow()
            return 0
        runs = [RunFolder(Path(path)) for path in paths]
        if len(runs) == 1:
            loop.train(runs[0], device)
        else:
            loop.train_group(runs, device)
        process_group.release()
        return 0
    except GlasshouseError as error:
        process_group.release()
        # The process that was lost says why itself.
        prefix = "" if isinstance(error, LostProcess) else ERROR_PREFIX
        print(f"{prefix}{error}", file=sys.stderr, flush=True)
        return error.exit_status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
