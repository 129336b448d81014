"""torch.utils.model_zoo: the older path of `engine.hub.load_state_dict_from_url`."""

from engine.torch_compat.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
