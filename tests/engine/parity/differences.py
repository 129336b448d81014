"""Differences of arguments from PyTorch's, by reason, as printed by `signatures.py`."""

from __future__ import annotations

DIFFERENCES: dict[str, tuple[str, ...]] = {
    "what Python or C takes by position": (
        "torch.Tensor.__getitem__(indices)",
        "torch.Tensor.__setitem__(indices)",
        "torch.Tensor.polygamma(n)",
        "torch.set_num_interop_threads(num)",
        "torch.set_num_threads(num)",
    ),
    "precision of the result, which PyTorch takes on GPUs alone, or which cuDNN is asked for": (
        "torch.Tensor.expand(implicit)",
        "torch.Tensor.to_dense(masked_grad=True)",
        "torch.addmm(out_dtype)",
        "torch.baddbmm(out_dtype)",
        "torch.bmm(out_dtype)",
        "torch.group_norm(cudnn_enabled)",
        "torch.layer_norm(cudnn_enable)",
        "torch.mm(out_dtype)",
    ),
    "limits of PyTorch's recompilation; recordings here are found by the called ops": (
        "torch.compile(isolate_recompiles)",
        "torch.compile(recompile_limit)",
        "torch.compile(shapes_spec)",
    ),
    "the functions of nn.functional, which `torch` has with other names for the same places": (
        "torch.rrelu(generator)",
        "torch.rrelu_(generator)",
    ),
    "PyTorch's binding gives it another name, or none, than its documentation": (
        "torch.Tensor.__contains__(item)",
        "torch.Tensor.new_tensor(data)",
        "torch.Tensor.requires_grad_(mode)",
        "torch.autograd.backward(grad_variables)",
        "torch.autograd.enable_grad(orig_func)",
        "torch.autograd.graph.GradientEdge(ownership_token)",
        "torch.cuda.amp.custom_bwd(bwd=None)",
        "torch.enable_grad(orig_func)",
        "torch.detach_(input)",
        "torch.index_put(input)",
        "torch.index_put_(input)",
        "torch.linalg.vander(x)",
        "torch.nn.functional.one_hot(tensor)",
        "torch.nn.utils.rnn.PackedSequence(batch_sizes=<class 'inspect._empty'>)",
        "torch.put(input)",
        "torch.result_type(other)",
        "torch.result_type(scalar)",
        "torch.result_type(scalar1)",
        "torch.result_type(scalar2)",
        "torch.result_type(tensor)",
        "torch.tensor(data)",
    ),
    "no pickle: files hold numbers only": (
        *(
            f"torch.serialization.{one}"
            for one in (
                "load(mmap)",
                "load(pickle_module)",
                "load(weights_only=True)",
                "save(pickle_module)",
                "save(pickle_protocol)",
            )
        ),
        "torch.load(mmap)",
        "torch.load(pickle_module)",
        "torch.load(weights_only=True)",
        "torch.save(pickle_module)",
        "torch.save(pickle_protocol)",
    ),
    "a sensible default where PyTorch has none, or warns": (
        "torch.functional.meshgrid(indexing='ij')",
        "torch.meshgrid(indexing='ij')",
        "torch.random.fork_rng(device_type='cuda')",
        "torch.utils.checkpoint.checkpoint(use_reentrant=False)",
        "torch.utils.checkpoint.checkpoint_sequential(use_reentrant=False)",
        "torch.utils.data.BatchSampler(drop_last=False)",
    ),
    "one signature for several overloads of PyTorch": (
        "torch.Tensor.repeat_interleave(repeats=None)",
        "torch.Tensor.set_(source=None)",
        "torch.arange(end=None)",
        "torch.asarray(requires_grad=False)",
        "torch.randint(high=None)",
        "torch.randint(size=None)",
        "torch.randint_like(high=None)",
        "torch.range(end=None)",
        "torch.range(start=0)",
        "torch.repeat_interleave(repeats=None)",
    ),
}
