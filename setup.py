"""What `pyproject.toml` cannot say: a wheel holds the kernels, compiled for its kind of machine.

Such a wheel runs without numba. Where nobody knows the machine's levels of instructions, the wheel
holds sources alone, needs numba, and compiles once where it is installed, as a checkout does.
"""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT / "building"))
from manylinux import platform_tag  # noqa: E402  it stands beside this file

# The machines are those of `LEVELS` in kernels/build/library.py, which needs numpy to be imported.
WITH_KERNELS = "STRUCTGEN_WITH_KERNELS" in os.environ and platform.machine() in (
    "x86_64",
    "aarch64",
    "arm64",
)
NEEDED = [
    "numpy>=2.0",
    "lark>=1.2",
    "jsonschema>=4.23",
    "referencing>=0.35",
    "jsonschema-specifications>=2023.12",
]


class BuildWithKernels(build_py):
    """Copy the sources, and compile the kernels beside them."""

    def run(self) -> None:
        """See setuptools."""
        super().run()
        if not WITH_KERNELS or self.editable_mode:
            return
        sys.path.insert(0, str(ROOT))
        from structgen.kernels.build.compilation import compile_all
        from structgen.kernels.build.library import ENDING, LEVELS

        oldest = sysconfig.get_config_var("MACOSX_DEPLOYMENT_TARGET")
        if oldest:  # else a linker there makes libraries for the system at hand
            os.environ.setdefault("MACOSX_DEPLOYMENT_TARGET", str(oldest))
        folder = Path(self.build_lib) / "structgen" / "kernels" / "library"
        folder.mkdir(parents=True, exist_ok=True)
        for level in LEVELS[platform.machine()]:
            made = compile_all(folder / f"{level}{ENDING}", level)
            if made.suffix != Path(ENDING).suffix:
                raise SystemExit("building a wheel needs a linker (cc, gcc, clang or ld)")


class Wheel(bdist_wheel):
    """A wheel with the tag that its kernels allow."""

    def get_tag(self) -> tuple[str, str, str]:
        """See setuptools."""
        python, abi, platform_name = super().get_tag()
        libraries = Path(self.bdist_dir).glob("structgen/kernels/library/*")
        if WITH_KERNELS and not self.plat_name_supplied:
            platform_name = platform_tag(
                platform_name, platform.machine(), [path.read_bytes() for path in libraries]
            )
        return python, abi, platform_name


class ForThisMachine(Distribution):
    """A package with machine code in it."""

    def has_ext_modules(self) -> bool:
        """Whether the wheel is for one kind of machine."""
        return WITH_KERNELS


setup(
    distclass=ForThisMachine,
    cmdclass={"build_py": BuildWithKernels, "bdist_wheel": Wheel},
    install_requires=NEEDED if WITH_KERNELS else [*NEEDED, "numba>=0.61"],
)
