"""Compiles HLSL with Direct3D's compiler, and prints as JSON what it says of each file: null where it accepts it.

    dxc.py PROFILE FILE.hlsl ...

A file is named after its entry point. The compiler is a library without a program; it is called through its
COM interface, as in dxcapi.h.
"""

import ctypes
import importlib.util
import json
import sys
import uuid
from pathlib import Path

COMPILER = uuid.UUID("73e22d93-e6ce-47f3-b5bf-f0664f39c1b0")
COMPILER_3 = uuid.UUID("228b4687-5a6a-4730-900c-9702b2203f54")
RESULT = uuid.UUID("58346cda-dde7-4497-9461-6f87af5e0659")
UTF_8 = 65001


class Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", ctypes.c_size_t), ("encoding", ctypes.c_uint)]


def library():
    # Found without being imported, which would need a GPU.
    [folder] = importlib.util.find_spec("compushady").submodule_search_locations
    return ctypes.CDLL(str(Path(folder) / "backends" / "libdxcompiler_x86_64.so"))


def call(this, index, *arguments, returns=ctypes.c_int):
    """Calls method number `index` of a COM object; the first three are those of IUnknown."""
    table = ctypes.cast(this, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p))).contents
    method = ctypes.CFUNCTYPE(returns, ctypes.c_void_p, *(type(argument) for argument in arguments))(table[index])
    return method(this, *arguments)


def succeed(status):
    if status < 0:
        raise OSError(f"the compiler fails with {status & 0xFFFFFFFF:#x}")


def bytes_of(blob):
    if not blob:
        return b""
    data = call(blob, 3, returns=ctypes.c_void_p)
    return ctypes.string_at(data, call(blob, 4, returns=ctypes.c_size_t))


def complaint(compiler, path, profile):
    text = path.read_bytes()
    options = ["-E", path.stem, "-T", profile, "-HV", "2018", "-Ges"]
    arguments = (ctypes.c_wchar_p * len(options))(*options)
    result = ctypes.c_void_p()
    succeed(call(
        compiler, 3, ctypes.pointer(Buffer(text, len(text), UTF_8)), arguments, ctypes.c_uint(len(options)),
        ctypes.c_void_p(), ctypes.c_char_p(RESULT.bytes_le), ctypes.pointer(result),
    ))
    status, program, errors = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    succeed(call(result, 3, ctypes.pointer(status)))
    if status.value >= 0:
        succeed(call(result, 4, ctypes.pointer(program)))
        return None if bytes_of(program) else "no program"
    succeed(call(result, 5, ctypes.pointer(errors)))
    return bytes_of(errors).decode(errors="replace") or "refused without a reason"


def main(profile, *paths):
    create = library().DxcCreateInstance
    compiler = ctypes.c_void_p()
    succeed(create(COMPILER.bytes_le, COMPILER_3.bytes_le, ctypes.byref(compiler)))
    print(json.dumps([[path, complaint(compiler, Path(path), profile)] for path in paths]))


if __name__ == "__main__":
    main(*sys.argv[1:])
