"""torch.backends.mkldnn: switches without effect, as the engine does not use oneDNN."""

from engine.torch_compat.backends.switches import flags_of

enabled = True
deterministic = False
allow_tf32 = True
fp32_precision = "none"

flags = flags_of(globals(), "enabled", "deterministic", "allow_tf32", "fp32_precision")


def is_available() -> bool:
    """Return False."""
    return False
