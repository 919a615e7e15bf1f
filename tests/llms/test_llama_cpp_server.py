"""llama.cpp's server: what it cannot run is told, and it needs the key."""

import json
import urllib.error
import urllib.request

import pytest

from glasshouse.llms.llama_cpp_server import start_server
from glasshouse.specs.errors import GlasshouseError
from tests import needs
from tests.refusals import refused


def test_a_damaged_file_is_told(tmp_path):
    needs.package("xllamacpp")
    path = tmp_path / "damaged.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    with refused(GlasshouseError, "damaged.gguf"):
        start_server(path, device="cpu")
    with refused(GlasshouseError, "none.gguf"):
        start_server(tmp_path / "none.gguf")


def test_the_server_answers_nobody_else(tmp_path):
    needs.package("xllamacpp")
    import glasshouse

    run = glasshouse.import_model(needs.data("weights/stories260K.bin"), name="stories")
    file = tmp_path / "stories.gguf"
    glasshouse.export(run.name, "gguf", file)
    endpoint = start_server(file, device="cpu")
    assert endpoint.post("/completion", {"prompt": "Once", "n_predict": 1})["tokens_predicted"] == 1
    request = urllib.request.Request(f"{endpoint.base_url}/completion", json.dumps({"prompt": "Once"}).encode())
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(request)
