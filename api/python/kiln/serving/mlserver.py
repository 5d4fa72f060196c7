"""MLServer's model class over an artifact; MLServer is KServe's runtime for models of Python."""
import os
import pathlib
from typing import Any

import numpy
from mlserver import MLModel, types
from mlserver.codecs import NumpyCodec, StringCodec
from mlserver.errors import InferenceError
from mlserver.utils import get_model_uri

import kiln


class KilnModel(MLModel):  # type: ignore[misc, unused-ignore]
    """Serves the artifact that `parameters.uri` of model-settings.json names. KILN_TRUST_ROOT, KILN_POLICY and KILN_THREADS of
    the environment count."""

    async def load(self) -> bool:
        folder = pathlib.Path(await get_model_uri(self.settings))
        self._model = kiln.load(folder, threads=int(os.environ.get("KILN_THREADS", "0")))
        if (folder / "fixtures").is_dir():
            self._model.warmup()
        self._shapes = {info.name: info.dtype for info in self._model.inputs}
        return True

    def _array(self, given: types.RequestInput) -> Any:
        if self._shapes.get(given.name) != "str":
            return NumpyCodec.decode_input(given)
        return numpy.array(StringCodec.decode_input(given), dtype=object).reshape(given.shape).tolist()

    async def predict(self, payload: types.InferenceRequest) -> types.InferenceResponse:
        try:
            outputs = await self._model.run_async({given.name: self._array(given) for given in payload.inputs})
        except kiln.Error as error:
            raise InferenceError(str(error)) from error
        wanted = {output.name for output in payload.outputs or []} or set(outputs)
        return types.InferenceResponse(
            model_name=self.name, model_version=self.version, id=payload.id,
            outputs=[_encoded(name, value) for name, value in outputs.items() if name in wanted])

    async def unload(self) -> bool:
        self._model.close()
        return True


def _encoded(name: str, value: Any) -> types.ResponseOutput:
    if isinstance(value, (list, str)):
        array = numpy.asarray(value, dtype=object)
        encoded = StringCodec.encode_output(name, array.ravel().tolist())
    else:
        array = numpy.asarray(value)
        encoded = NumpyCodec.encode_output(name, array)
    encoded.shape = list(array.shape)  # the codecs add a dimension to an array of one
    return encoded
