"""The part of `state_changes` that is about tensors, NumPy, models and optimizers."""

from __future__ import annotations

Case = tuple[str, str, str]

TENSORS: dict[str, Case] = {
    "NumPy scalar": ("k = np.float64(2.0)", "x * k", "k += n"),
    "NumPy scalar of single precision": ("k = np.float32(2.0)", "x * k", "k = np.float32(2.0 + n)"),
    "whole NumPy scalar": ("k = np.int64(2)", "x * k", "k += n"),
    "NumPy truth": ("k = np.bool_(True)", "x if k else -x", "k = ~k"),
    "NumPy scalar in a list": ("k = [np.float64(2.0)]", "x * k[0]", "k[0] += n"),
    "number of an array": ("k = np.ones(2)", "x * float(k[0])", "k[0] += n"),
    "NumPy array": ("k = np.ones(3, np.float32)", "x * engine.tensor(k)", "k[0] += n"),
    "array that shares memory": ("k = np.ones(3, np.float32)", "x * engine.from_numpy(k)", "k[0] += n"),
    "tensor over an array": ("k = np.ones(3, np.float32); w = engine.from_numpy(k)", "x * w", "k[0] += n"),
    "array's length": ("k = np.ones(1)", "x * len(k)", "k = np.ones(1 + n)"),
    "array as an argument": ("k = np.ones(1); args = lambda x: (x, k)", "x * float(k[0])", "k[0] += n"),
    "NumPy scalar as an argument": ("k = np.float64(2.0); args = lambda x: (x, k)", "x * k", "k += n"),
    "number as an argument": ("k = 2.0; args = lambda x: (x, k)", "x * k", "k += n"),
    "whole number as an argument": ("k = 2; args = lambda x: (x, k)", "x * k", "k += n"),
    "text as an argument": ("k = 'relu'; args = lambda x: (x, k)", "getattr(functional, k)(x)", "k = 'tanh'"),
    "function as an argument": ("k = functional.relu; args = lambda x: (x, k)", "k(x)", "k = engine.abs"),
    "captured tensor written": ("w = engine.ones(3)", "x * w", "w.add_(n)"),
    "captured tensor replaced": ("w = engine.ones(3)", "x * w", "w = engine.full((3,), 1.0 + n)"),
    "captured tensor's shape": ("w = engine.ones(3)", "x * w", "w = engine.ones(n + 1, 3)"),
    "captured tensor's dtype": ("w = engine.ones(3)", "x * w", "w = w.double() if n == 1 else w.half()"),
    "data of a captured tensor": ("w = engine.ones(3)", "x * w", "w.data = engine.full((3,), 1.0 + n)"),
    "base of a captured view": ("b = engine.ones(6); w = b[::2]", "x * w", "b.mul_(1 + n)"),
    "view of a captured tensor": ("w = engine.ones(3); v = w[:1]", "x * w", "v.mul_(1 + n)"),
    "captured tensor that is transposed": ("w = engine.arange(9.0).reshape(3, 3)", "x @ w", "w = w.T"),
    "captured tensor's item": ("w = engine.ones(1)", "x * w.item()", "w.add_(n)"),
    "captured tensor as a truth": ("w = engine.ones(1)", "x * 2 if w > 0 else x * 3", "w.neg_()"),
    "captured tensor as an index": ("w = engine.tensor([0, 1])", "x[w] * 2", "w.add_(1).remainder_(3)"),
    "captured tensor as a list": ("w = engine.ones(2)", "x * w.tolist()[0]", "w.add_(n)"),
    "captured tensor's size": ("w = engine.ones(1)", "x * w.numel()", "w = engine.ones(1 + n)"),
    "captured tensor in a list": ("k = [engine.ones(3)]", "x * k[0]", "k[0] = engine.full((3,), 1.0 + n)"),
    "list of tensors": ("k = [engine.ones(3)]", "sum(x * w for w in k)", "k.append(engine.ones(3))"),
    "captured tensor asks for gradients": ("w = engine.ones(3)", "x * w", "w.requires_grad_(n == 1)"),
    "captured tensor is frozen": ("w = engine.ones(3).requires_grad_()", "x * w", "w.requires_grad_(n == 2)"),
    "gradient of a captured tensor": ("w = engine.ones(3).requires_grad_()", "(x * w).sum()", "w.grad = None"),
    "gradient that is used": (
        "w = engine.ones(3).requires_grad_()", "x * (2.0 if w.grad is None else w.grad)", "w.sum().backward()",
    ),
    "captured tensor with history": (
        "a = engine.ones(3).requires_grad_(); w = a * 2", "x.detach() * w.detach()", "w = a * (2.0 + n)",
    ),
    "captured tensor written by the function": ("w = engine.zeros(3)", "w.add_(1)\nreturn x * w", "w.mul_(10)"),
    "captured tensor and its alias": ("w = engine.zeros(3); v = w", "w.add_(1)\nreturn x * v", "v = w.clone()"),
    "hook on a captured tensor": ("w = engine.ones(3).requires_grad_()", "x * w", "w.register_hook(lambda g: g * 2)"),
    "hook that is removed": (
        "w = engine.ones(3).requires_grad_(); h = w.register_hook(lambda g: g * 2)", "x * w", "h.remove()",
    ),
    "hook on what the function computes": (
        "k = [2.0]", "y = x * 2\ny.register_hook(lambda g: g * k[0])\nreturn y", "k[0] += n",
    ),
    "backward in the function": (
        "w = engine.ones(3).requires_grad_(); trains = True",
        "loss = (x.detach() * w).sum()\nloss.backward()\nreturn loss.detach()", "w.grad = None",
    ),
    "gradients that add up": (
        "w = engine.ones(3).requires_grad_(); trains = True",
        "loss = (x.detach() * w).sum()\nloss.backward()\nreturn loss.detach()", "w.grad.zero_()",
    ),
    "grad of the function": ("k = [2.0]", "engine.autograd.grad((x * k[0]).square().sum(), x)[0]", "k[0] += n"),
    "argument that asks for gradients": (
        "a = False; args = lambda x: (x.detach().requires_grad_(a),)", "(x * 2).sum()", "a = not a",
    ),
    "argument's shape": ("a = 1; args = lambda x: (x.detach().repeat(a),)", "x * 2", "a += n"),
    "argument's dtype": (
        "a = engine.float64; args = lambda x: (x.detach().to(a),)", "x * 2",
        "a = engine.float32 if n == 1 else engine.int64",
    ),
    "argument's layout": ("a = 1; args = lambda x: (x.detach().repeat(6)[::a],)", "x * 2", "a = n + 1"),
    "arguments that are one": (
        "b = engine.ones(3); a = b; args = lambda x: (b, a)", "x.add_(1)\nreturn x * k", "a = b.clone()",
    ),
    "argument that is written": ("w = engine.ones(3); args = lambda x: (w,)", "x.add_(1)\nreturn x * 2", "w.mul_(0)"),
    "argument that is returned": ("k = [True]", "x if k[0] else x * 2", "k[0] = not k[0]"),
    "tensors in a list as an argument": ("k = []; args = lambda x: ([x] + k,)", "sum(x)", "k.append(engine.ones(3))"),
    "new tensor of a list": ("k = [1.0, 2.0, 3.0]", "x * engine.tensor(k)", "k[0] += n"),
    "new tensor of a number": ("k = 2.0", "x * engine.full((3,), k)", "k += n"),
    "default dtype": (
        "", "engine.arange(3) * 2.5 + 0.1", "engine.set_default_dtype(engine.float64 if n == 1 else engine.float32)",
    ),
    "default dtype of what is made": (
        "", "x * engine.ones(3)", "engine.set_default_dtype(engine.float64 if n == 1 else engine.float32)",
    ),
    "default dtype of whole numbers": (
        "w = engine.arange(3)", "w / 3 + w * 0.1",
        "engine.set_default_dtype(engine.float64 if n == 1 else engine.float32)",
    ),
    "default dtype of a mean": (
        "w = engine.arange(3)", "w * 0.1", "engine.set_default_dtype(engine.float64 if n == 1 else engine.float32)",
    ),
    "default dtype that the function sets": (
        "k = [engine.float32]",
        "engine.arange(3) * 2.5\nengine.set_default_dtype(k[0])\nreturn engine.arange(3) * 0.1",
        "k[0] = engine.float64 if n == 1 else engine.float32",
    ),
    "default device": ("", "engine.ones(3).device.type", "engine.set_default_device('meta' if n == 1 else 'cpu')"),
    "gradient mode": ("", "x * 2", "engine.set_grad_enabled(n == 2)"),
    "gradient mode that is read": (
        "", "x * (2 if engine.is_grad_enabled() else 3)", "engine.set_grad_enabled(n == 2)",
    ),
    "gradient mode inside": ("k = [True]", "with engine.set_grad_enabled(k[0]): return x * 2", "k[0] = not k[0]"),
    "detached by a switch": ("k = [True]", "(x.detach() if k[0] else x) * 2", "k[0] = not k[0]"),
    "autocast around": (
        "w = engine.eye(3); k = [False]; around = lambda: engine.autocast('cpu', engine.bfloat16, enabled=k[0])",
        "x[None] @ w", "k[0] = not k[0]",
    ),
    "autocast inside": (
        "w = engine.eye(3); k = [False]",
        "with engine.autocast('cpu', engine.bfloat16, enabled=k[0]): return x[None] @ w", "k[0] = not k[0]",
    ),
    "inference mode": ("k = [False]; around = lambda: engine.inference_mode(k[0])", "x * 2", "k[0] = not k[0]"),
    "deterministic algorithms": (
        "patch.setattr(engine.torch_compat.determinism, '_mode', 0)",
        "x * (2 if engine.are_deterministic_algorithms_enabled() else 3)",
        "engine.use_deterministic_algorithms(n == 1)",
    ),
    "seed": ("", "x * engine.rand(3)", "engine.manual_seed(n)"),
    "seed that is read": ("", "x * float(engine.initial_seed() % 7)", "engine.manual_seed(n)"),
    "generator of random numbers": (
        "g = engine.Generator().manual_seed(0)", "x * engine.rand(3, generator=g)", "g.manual_seed(n)",
    ),
    "random numbers drawn between": ("", "functional.dropout(x, 0.5)", "engine.rand(5)"),
    "saved tensors hooks": (
        "k = [1.0]; around = lambda: engine.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t * k[0])",
        "x * x", "k[0] += n",
    ),
}  # fmt: skip

MODELS: dict[str, Case] = {
    "attribute of a module": ("m = nn.LeakyReLU(0.1)", "m(x)", "m.negative_slope += n"),
    "own list of a module": (
        "class M(nn.Module): forward = lambda self, x: x * self.k[0]\nm = M(); m.k = [2.0]", "m(x)", "m.k[0] += n",
    ),
    "own dict of a module": (
        "class M(nn.Module): forward = lambda self, x: x * self.k['a']\nm = M(); m.k = {'a': 2.0}", "m(x)",
        "m.k['a'] += n",
    ),
    "class attribute of a module": (
        "class M(nn.Module): k = 2.0; forward = lambda self, x: x * self.k\nm = M()", "m(x)", "M.k += n",
    ),
    "list of a compiled module": (
        "class M(nn.Module): forward = lambda self, x: x * self.k[0]\nf = M(); f.k = [2.0]", "", "f.k[0] += n",
    ),
    "attribute of a compiled module": ("f = nn.LeakyReLU(0.1)", "", "f.negative_slope += n"),
    "mode": ("m = nn.Dropout(0.5)", "m(x)", "m.train(n == 2)"),
    "mode of a part": ("m = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))", "m(x)", "m[1].train(n == 2)"),
    "mode of a batch norm": (
        "m = nn.BatchNorm1d(3)", "m(x.detach().repeat(2, 1) * engine.arange(2.0)[:, None])", "m.train(n == 2)",
    ),
    "probability": ("m = nn.Dropout(0.5)", "m(x)", "m.p = 0.25 * n"),
    "momentum of a batch norm": (
        "m = nn.BatchNorm1d(3)", "m(x.detach().repeat(2, 1) * engine.arange(2.0)[:, None])\nreturn m.running_mean * 1",
        "m.momentum = 0.25 * n",
    ),
    "part replaced": ("m = nn.Sequential(nn.ReLU())", "m(x)", "m[0] = nn.Tanh() if n == 1 else nn.SiLU()"),
    "part appended": ("m = nn.Sequential(nn.ReLU())", "m(x)", "m.append(nn.Tanh())"),
    "part deleted": ("m = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())", "m(x)", "del m[0]"),
    "module list": ("m = nn.ModuleList([nn.ReLU()])", "sum(one(x) for one in m)", "m.append(nn.Tanh())"),
    "module dict": ("m = nn.ModuleDict({'a': nn.ReLU()})", "m['a'](x)", "m['a'] = nn.Tanh() if n == 1 else nn.SiLU()"),
    "parameter list": (
        "m = nn.ParameterList([nn.Parameter(engine.ones(3))])", "sum(x * one for one in m)",
        "m.append(nn.Parameter(engine.ones(3)))",
    ),
    "parameter replaced": ("m = nn.Linear(3, 3)", "m(x)", "m.weight = nn.Parameter(engine.ones(3, 3) * n)"),
    "parameter removed": ("m = nn.Linear(3, 3)", "m(x)", "m.bias = None"),
    "data of a parameter": ("m = nn.Linear(3, 3)", "m(x)", "m.weight.data = engine.ones(3, 3) * n"),
    "parameter written": ("m = nn.Linear(3, 3); w = m.weight", "m(x)", "m.weight.data.mul_(2)"),
    "parameter frozen": (
        "m = nn.Linear(3, 3); w = m.weight", "m(x)", "m.weight.requires_grad_(n == 2); m.weight.grad = None",
    ),
    "all frozen": ("m = nn.Linear(3, 3); w = m.weight", "m(x.detach())", "m.requires_grad_(n == 2); m.zero_grad()"),
    "weights loaded": (
        "m = nn.Linear(3, 3)", "m(x)", "m.load_state_dict({'weight': engine.eye(3) * n, 'bias': engine.zeros(3)})",
    ),
    "weights that are tied": ("m = nn.Linear(3, 3); o = nn.Linear(3, 3)", "o(m(x))", "o.weight = m.weight"),
    "buffer written": ("m = nn.Module(); m.register_buffer('b', engine.ones(3))", "x * m.b", "m.b.add_(n)"),
    "buffer replaced": (
        "m = nn.Module(); m.register_buffer('b', engine.ones(3))", "x * m.b", "m.b = engine.full((3,), 1.0 + n)",
    ),
    "dtype of a module": (
        "m = nn.Linear(3, 3)", "m(x.to(m.weight.dtype))", "m.to(engine.float64 if n == 1 else engine.float32)",
    ),
    "forward hook": ("m = nn.ReLU()", "m(x)", "m.register_forward_hook(lambda m, a, y: y * 2)"),
    "forward pre-hook": ("m = nn.ReLU()", "m(x)", "m.register_forward_pre_hook(lambda m, a: (a[0] * 2,))"),
    "hook removed": ("m = nn.ReLU(); h = m.register_forward_hook(lambda m, a, y: y * 2)", "m(x)", "h.remove()"),
    "state of a hook": (
        "m = nn.ReLU(); k = [2.0]; m.register_forward_hook(lambda m, a, y: y * k[0])", "m(x)", "k[0] += n",
    ),
    "backward hook": ("m = nn.Tanh()", "m(x)", "m.register_full_backward_hook(lambda m, i, o: (i[0] * 2,))"),
    "hook of all modules": (
        "m = nn.ReLU(); h = nn.module_hooks.register_module_forward_hook(lambda m, a, y: y * 2)", "m(x)", "h.remove()",
    ),
    "forward of a module": ("m = nn.ReLU()", "m(x)", "m.forward = lambda x, n=n: x * (n + 1)"),
    "class of a module": ("m = nn.ReLU()", "m(x)", "m.__class__ = nn.Tanh if n == 1 else nn.ReLU"),
    "parametrization": (
        "m = nn.Linear(3, 3)", "m(x)", "nn.utils.parametrize.register_parametrization(m, 'weight', nn.Tanh())",
    ),
    "functional call": (
        "m = nn.Linear(3, 3); p = {'weight': engine.eye(3), 'bias': engine.zeros(3)}",
        "engine.func.functional_call(m, p, (x,))", "p['weight'] = engine.eye(3) * (1 + n)",
    ),
}  # fmt: skip

_STEP = "o.zero_grad()\nloss = (x.detach() * w).square().sum()\nloss.backward()\no.step()\nreturn loss.detach()"
_MADE = "trains = True; w, v = nn.Parameter(engine.ones(3)), nn.Parameter(engine.ones(3)); "
_SGD, _ADAM = _MADE + "o = optim.SGD([w], lr=0.01, momentum=0.5)", _MADE + "o = optim.Adam([w], lr=0.01)"
_TWO, _STEP_OF_TWO = _SGD.replace("[w]", "[w, v]"), _STEP.replace("* w", "* w * v")

OPTIMIZERS: dict[str, Case] = {
    "learning rate": (_SGD, _STEP, "o.param_groups[0]['lr'] *= 1 + n"),
    "learning rate that is a tensor": (
        _SGD.replace("0.01", "engine.tensor(0.01)"), _STEP, "o.param_groups[0]['lr'].mul_(1 + n)",
    ),
    "momentum": (_SGD, _STEP, "o.param_groups[0]['momentum'] = 0.1 * n"),
    "weight decay": (_SGD, _STEP, "o.param_groups[0]['weight_decay'] = 0.1 * n"),
    "maximize": (_SGD, _STEP, "o.param_groups[0]['maximize'] = n == 1"),
    "nesterov": (_SGD, _STEP, "o.param_groups[0]['nesterov'] = n == 1"),
    "betas": (_ADAM, _STEP, "o.param_groups[0]['betas'] = (0.5 + 0.1 * n, 0.9)"),
    "epsilon": (_ADAM, _STEP, "o.param_groups[0]['eps'] = 0.1 * n"),
    "schedule": (_SGD + "; s = optim.lr_scheduler.ExponentialLR(o, 0.5)", _STEP, "s.step()"),
    "schedule inside": (
        _SGD + "; s = optim.lr_scheduler.ExponentialLR(o, 0.5)", _STEP.replace("return", "s.step()\nreturn"),
        "s.gamma = 0.1 * n",
    ),
    "parameters added": (_SGD, _STEP_OF_TWO, "o.add_param_group({'params': [v]}) if n == 1 else None"),
    "parameters taken away": (_TWO, _STEP_OF_TWO, "del o.param_groups[0]['params'][-1]"),
    "state cleared": (_SGD, _STEP, "o.state.clear()"),
    "state loaded": (_ADAM + "; s = copy.deepcopy(o.state_dict())", _STEP, "o.load_state_dict(s)"),
    "state written": (_SGD, _STEP, "o.state[w]['momentum_buffer'].zero_()"),
    "optimizer replaced": (_SGD, _STEP, "o = optim.SGD([w], lr=0.01 * (1 + n))"),
    "hook before steps": (_SGD, _STEP, "o.register_step_pre_hook(lambda o, a, k: seen.append(1))"),
    "hook after steps": (_SGD, _STEP, "o.register_step_post_hook(lambda o, a, k: w.data.mul_(0.5))"),
    "gradients kept": (
        _SGD + "; k = [True]", _STEP.replace("o.zero_grad()", "if k[0]: o.zero_grad()"), "k[0] = not k[0]",
    ),
    "clipping": (
        _SGD + "; k = [1.0]", _STEP.replace("o.step()", "nn.utils.clip_grad_value_([w], k[0])\no.step()"),
        "k[0] *= 0.1",
    ),
    "steps left out": (_SGD + "; k = [True]", _STEP.replace("o.step()", "if k[0]: o.step()"), "k[0] = not k[0]"),
    "weight of a loss": (_SGD + "; k = [1.0]", _STEP.replace(".sum()", ".sum() * k[0]"), "k[0] += n"),
    "parameter frozen between steps": (_TWO, _STEP_OF_TWO,
                                       "w.requires_grad_(n == 2)"),
    "parameter written between steps": (_SGD, _STEP, "w.data.fill_(n)"),
    "gradient hook between steps": (_SGD, _STEP, "w.register_hook(lambda g: g * 2)"),
}  # fmt: skip

__all__ = ["MODELS", "OPTIMIZERS", "TENSORS", "Case"]
