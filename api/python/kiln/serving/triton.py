"""The model class of Triton's Python backend over an artifact."""
import json
import os
import pathlib
from typing import Any

import numpy
import triton_python_backend_utils as utils

import kiln


def _decoded(array: Any) -> Any:
    """Texts are bytes there."""
    return numpy.vectorize(lambda text: text.decode(), otypes=[object])(array) if array.size else array


class TritonPythonModel:
    """Serves the folder "artifact" of the model's version. config.pbtxt may hold the parameters KILN_TRUST_ROOT, KILN_POLICY
    and KILN_THREADS; else the environment counts."""

    def initialize(self, args: dict[str, str]) -> None:
        given = {name: value["string_value"] for name, value in json.loads(args["model_config"]).get("parameters", {}).items()}
        folder = pathlib.Path(args["model_repository"]) / args["model_version"] / "artifact"
        self.model = kiln.load(folder, root=given.get("KILN_TRUST_ROOT"), policy=given.get("KILN_POLICY"),
                               threads=int(given.get("KILN_THREADS", os.environ.get("KILN_THREADS", "0"))))
        if (folder / "fixtures").is_dir():
            self.model.warmup()
        self._texts = {info.name for info in self.model.inputs if info.dtype == "str"}

    def _answer(self, request: Any) -> Any:
        inputs = {}
        for tensor in request.inputs():
            array = tensor.as_numpy()
            inputs[tensor.name()] = _decoded(array).tolist() if tensor.name() in self._texts else array
        outputs = self.model.run(inputs)
        wanted = request.requested_output_names()
        return utils.InferenceResponse(output_tensors=[
            utils.Tensor(name, numpy.asarray(value, dtype=object) if isinstance(value, (list, str)) else numpy.asarray(value))
            for name, value in outputs.items() if name in wanted])

    def execute(self, requests: list[Any]) -> list[Any]:
        responses = []
        for request in requests:
            try:
                responses.append(self._answer(request))
            except (kiln.Error, UnicodeDecodeError) as error:
                responses.append(utils.InferenceResponse(error=utils.TritonError(str(error))))
        return responses

    def finalize(self) -> None:
        self.model.close()
