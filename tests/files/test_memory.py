"""Memory stays at hand until it is given back."""

import json
import platform
import subprocess
import sys

import pytest

TRY = """
import json
import numpy as np
from pathlib import Path
from pointveil.files.memory import keep_memory, return_memory

def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 >> 20  # megabytes

return_memory()
keep_memory()
before = held()
array = np.ones(2**24)  # 128 MB
del array
after = held()
return_memory()
print(json.dumps([after - before, held() - before]))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library keeps memory in its own way")
def test_memory_is_kept_until_it_is_returned() -> None:
    done = subprocess.run([sys.executable, "-c", TRY], capture_output=True, text=True, check=True)
    kept, left = json.loads(done.stdout)

    assert kept > 100
    assert left < 20
