"""Builds the wheel (PEP 517) with nothing but Python, cargo and a C linker: the package, and the C
library in it.

    pip install ./bindings/python
    pip install ./bindings/python --config-settings library=FILE    takes one that was built
"""

import base64
import hashlib
import os
import re
import subprocess
import sysconfig
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HEADER = (ROOT / "bindings/c/include/stackwright.h").read_text()
VERSION = re.search(r'#define SW_VERSION "(.*)"', HEADER).group(1)
ABI = re.search(r"#define SW_ABI (\d+)", HEADER).group(1)
PLATFORM = re.sub(r"\W", "_", sysconfig.get_platform())
METADATA = f"""Metadata-Version: 2.1
Name: stackwright
Version: {VERSION}
Summary: Messages over ARTP, XTP and other transports in user space
License: MIT OR Apache-2.0
Requires-Python: >=3.9
"""
# Any Python 3, on machines as this one.
WHEEL = f"""Wheel-Version: 1.0
Generator: stackwright
Root-Is-Purelib: false
Tag: py3-none-{PLATFORM}
"""


def _library():
    """Builds the library for a release; returns its file."""
    subprocess.run(["cargo", "build", "--release", "--locked", "-p", "stackwright-c"], cwd=ROOT,
                   check=True)
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release/libstackwright_c.so"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    library = Path((config_settings or {}).get("library") or _library())
    files = {f"stackwright/{file.name}": file.read_bytes()
             for file in sorted((HERE / "stackwright").iterdir()) if file.is_file()}
    files[f"stackwright/libstackwright.so.{ABI}"] = library.read_bytes()
    info = f"stackwright-{VERSION}.dist-info"
    files[f"{info}/METADATA"] = METADATA.encode()
    files[f"{info}/WHEEL"] = WHEEL.encode()
    record = ""
    for name, octets in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(octets).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(octets)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    wheel = f"stackwright-{VERSION}-py3-none-{PLATFORM}.whl"
    with zipfile.ZipFile(Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, octets in files.items():
            archive.writestr(name, octets)
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("the library is built from the whole repository")
