#!/usr/bin/env python3
# canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
"""Exit 0 if the tests in /app/tests pass as they are and fail once the reported fault is put back.

The fault is put back behind the public names of the package, whatever the fix looks like, so that a
test which merely looks for a new name, or fails for another reason, proves nothing.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SPOIL = '''

def _with_fault(closes_by_hand):
    cancel, expire = Stockroom.cancel, Stockroom.expire

    def shipped_of_open(self):
        rows = self._db.execute("SELECT id, sku, shipped, until FROM reservations WHERE state = 'open'")
        return [tuple(row) for row in rows]

    def release(self, rows):
        for _, sku, shipped, _ in rows:
            self._db.execute("UPDATE stock SET reserved = reserved - ? WHERE sku = ?", [shipped, sku])

    def bad_cancel(self, reservation):
        rows = [row for row in shipped_of_open(self) if row[0] == reservation]
        answer = cancel(self, reservation)
        release(self, rows)
        return answer

    def bad_expire(self, today):
        rows = [row for row in shipped_of_open(self) if row[3] < today.isoformat()]
        answer = expire(self, today)
        release(self, rows)
        return answer

    if closes_by_hand:
        Stockroom.cancel = bad_cancel
    else:
        Stockroom.expire = bad_expire
'''


def passes(root: Path) -> bool:
    done = subprocess.run(
        [sys.executable, "-B", "-m", "unittest", "discover", "-s", "tests"],
        cwd=root, capture_output=True, timeout=50,
    )
    return done.returncode == 0


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "app"
        shutil.copytree("/app", root, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        if not passes(root):
            print("the tests do not pass as they are")
            return 1
        room = root / "stockroom" / "room.py"
        fixed = room.read_text(encoding="utf-8")
        for by_hand in (True, False):
            room.write_text(f"{fixed}{SPOIL}\n\n_with_fault({by_hand})\n", encoding="utf-8")
            if not passes(root):
                return 0
        print("the tests pass with the fault put back")
        return 1


if __name__ == "__main__":
    sys.exit(main())
