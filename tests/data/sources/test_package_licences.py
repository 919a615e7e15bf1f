"""Licences of packages: what their metadata say, and which of it is known to be permissive."""

from email.message import Message

import pytest

from glasshouse.data.sources.package_licences import is_permissive, licence_of


def metadata(**fields):
    message = Message()
    for name, value in fields.items():
        for item in value if isinstance(value, list) else [value]:
            message[name.replace("_", "-")] = item
    return message


@pytest.mark.parametrize(
    ("fields", "licence"),
    [
        ({"License_Expression": "MIT", "License": "GPL"}, "MIT"),
        ({"Classifier": ["License :: OSI Approved :: BSD License", "Topic :: Text"], "License": "x"}, "BSD License"),
        ({"Classifier": ["License :: OSI Approved", "License :: OSI Approved :: MIT License"]}, "MIT License"),
        ({"License": "Apache 2.0\n\nThe long text"}, "Apache 2.0"),
        ({"License": "UNKNOWN"}, ""),
        ({}, ""),
    ],
)
def test_the_licence_that_is_stated(fields, licence):
    assert licence_of(metadata(**fields)) == licence


@pytest.mark.parametrize(
    "licence",
    [
        "MIT",
        "BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0",
        "Apache-2.0 OR BSD-2-Clause",
        "GPL-2.0-or-later OR MIT",
        "BSD-2-Clause AND Apache-2.0 WITH LLVM-exception",
        "(MIT OR Apache-2.0) AND BSD-3-Clause",
        "BSD License, Apache Software License",
        "3-Clause BSD License",
        "ISC License (ISCL)",
        "Python Software Foundation License",
    ],
)
def test_permissive_licences(licence):
    assert is_permissive(licence)


@pytest.mark.parametrize(
    "licence",
    [
        "",
        "Dual License",
        "MPL-2.0",
        "MPL-2.0 AND MIT",
        "GPL-3.0-only",
        "GPL-2.0-only WITH Classpath-exception-2.0",
        "MIT AND GPL-3.0-or-later WITH GCC-exception-3.1",
        "(MIT OR GPL-2.0-only) AND BSD-3-Clause",
        "LGPL-2.1-or-later",
        "GNU Lesser General Public License v2 or later (LGPLv2+)",
        "Mozilla Public License 2.0 (MPL 2.0)",
        "MIT License, GNU General Public License (GPL)",
        "Other/Proprietary License",
        "Copyright (c) 2001 Someone",
        "LicenseRef-NVIDIA-Proprietary AND MIT",
    ],
)
def test_whatever_is_not_known_to_be_permissive_is_not_used(licence):
    assert not is_permissive(licence)
