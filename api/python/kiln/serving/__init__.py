"""Artifacts in model servers: what `kiln export --layout` leaves is served by `kiln.serving.triton` in Triton's Python
backend and by `kiln.serving.mlserver` in MLServer, KServe's runtime. Both verify the artifact as `kiln.load` does, under
KILN_TRUST_ROOT and KILN_POLICY of the server's environment, and run its fixtures before they take requests."""
