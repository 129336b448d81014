"""Reasons why the engine does not have some of PyTorch's names: patterns by reason. The first match counts."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

REASONS: Final[dict[str, tuple[str, ...]]] = {
    "its results are complex, and there are no complex tensors; use numpy.fft on arrays": (
        "torch.fft.*fft", "torch.fft.*fft2", "torch.fft.*fftn", "torch.stft", "torch.istft", "torch.Tensor.stft",
        "torch.Tensor.istft", "torch.functional.*stft", "torch.backends.cuda.*cuFFT*", "torch.backends.cuda.cufft*",
    ),
    "there are no complex tensors": (
        "torch.chalf", "torch.cfloat", "torch.cdouble", "torch.complex*", "torch.polar", "torch.view_as_*",
        "torch.Complex*Storage", "torch.cuda.Complex*", "torch.Tensor.chalf", "torch.Tensor.cfloat",
        "torch.Tensor.cdouble",
    ),
    "there are no sparse tensors": (
        "torch.sparse*", "torch.sparse.*", "torch.optim.sparse_adam", "torch.cuda.sparse", "torch.*_indices_copy",
        "torch.indices_copy", "torch.values_copy", "torch.hspmm", "torch.smm", "torch.sspaddmm",
        "torch.Tensor.sparse*", "torch.Tensor.to_sparse*", "torch.Tensor.is_sparse_csr", "torch.Tensor.*coalesce*",
        "torch.Tensor.*_indices", "torch.Tensor.indices", "torch.Tensor.values", "torch.Tensor.smm",
        "torch.Tensor.sspaddmm", "torch.Tensor.dense_dim", "torch.optim.SparseAdam",
    ),
    "there are no quantized tensors": (
        "torch.q*int*[0-9]*", "torch.q_*", "torch.qscheme", "torch.per_*_affine*", "torch.per_*_symmetric",
        "torch.quantize*", "torch.quantized*", "torch.dequantize", "torch.int_repr", "torch.fake_quantize*",
        "torch.Q*Storage", "torch.ao", "torch.Tensor.q_*", "torch.Tensor.qscheme", "torch.Tensor.dequantize",
        "torch.Tensor.int_repr", "torch.nn.qat", "torch.nn.quant*", "torch.nn.intrinsic", "torch.nn.qat*.*",
        "torch.nn.quant*.*", "torch.nn.intrinsic*.*", "torch.quantization", "torch.quantization*.*", "torch.ao*.*",
        "torch.backends.quantized", "torch.backends.*nnpack", "torch.nn.functional.scaled_mm",
        "torch.nn.functional.*grouped_mm", "torch.nn.functional.ScalingType", "torch.nn.functional.SwizzleType",
    ),
    "there are no nested or masked tensors; use nn.utils.rnn.pad_sequence, or masked_fill": (
        "torch.nested", "torch.masked", "torch.masked*.*", "torch.jagged", "torch.Tensor.to_padded_tensor",
    ),
    "NumPy and CuPy do not support this dtype": (
        "torch.bit*[0-9]", "torch.bit", "torch.bits*x*", "torch.float8*", "torch.float4*", "torch.int[1-7]",
        "torch.uint[1-7]",
    ),
    "distributed training is not supported; a program runs in one process": (
        "torch.distributed.*", "torch.distributed.*.*", "torch.futures", "torch.cuda.nccl", "torch.cuda.comm",
    ),
    "multi-GPU modules are not supported; nn.DataParallel uses the first GPU": (
        "torch.nn.parallel.gather", "torch.nn.parallel.parallel_apply", "torch.nn.parallel.replicate",
        "torch.nn.parallel.scatter*", "torch.nn.parallel.comm",
    ),
    "TorchScript is not supported; use engine.compile for speed, and engine.export for a file with ops and weights": (
        "torch.jit.*", "torch.utils.jit", "torch.utils.jit.*", "torch.utils.mobile_optimizer",
        "torch.utils.bundled_inputs", "torch.utils.model_dump", "torch.nativert", "torch.nativert.*",
    ),
    "engine.onnx writes files and compares them with the model; it has no symbolic functions and graph formats": (
        "torch.onnx.*",
    ),
    "PyTorch's graph formats are not supported; engine.inspect.trace lists the ops of a call, and engine.export writes "
    "them with the weights to a file": (
        "torch.fx", "torch.fx.*", "torch.fx.*.*", "torch.export.*", "torch.export.*.*",
        "torch.package", "torch.package.*", "torch.package.*.*", "torch.ops", "torch.library", "torch.classes",
        "torch.Script*", "torch.Sym*", "torch.sym_*", "torch.parse_*", "torch.import_ir_*", "torch.merge_type*",
        "torch.unify_type*", "torch.fork", "torch.wait", "torch.FatalError", "torch.cond", "torch.while_loop",
    ),
    "the engine's functions do not dispatch to __torch_function__; see engine.overrides": (
        "torch.DisableTorchFunction*", "torch.nn.functional.has_torch_function*", "torch.overrides.*",
    ),
    "use engine.profiler.profile for ops, or time.perf_counter for any function": (
        "torch.profiler.DeviceType", "torch.profiler.ExecutionTraceObserver", "torch.profiler.itt",
        "torch.profiler.python_tracer", "torch.autograd.profiler.[!pr]*",
        "torch.autograd.profiler.parse_nvprof_trace", "torch.autograd.profiler_*", "torch.utils.benchmark",
        "torch.utils.benchmark.*", "torch.utils.benchmark.*.*", "torch.cuda.profiler", "torch.cuda.nvtx",
        "torch.mps.profiler", "torch.utils.flop_counter", "torch.utils.throughput_benchmark",
        "torch.utils.ThroughputBenchmark",
    ),
    "this distribution or transform is not implemented yet": ("torch.distributions.*",),
    "the engine downloads nothing; install the model's package, and download its weights yourself": (
        "torch.hub.help", "torch.hub.list", "torch.hub.load", "torch.hub.download_url_to_file",
    ),
    "load and save do not pickle and need no settings": ("torch.serialization.*", "torch.utils.show_pickle"),
    "CuPy controls CUDA's libraries": ("torch.backends.cuda.*",),
    "the engine does not use this library": (
        "torch.backends.cpu", "torch.backends.cudnn.rnn", "torch.backends.cusparselt", "torch.backends.kleidiai",
        "torch.backends.mha", "torch.backends.miopen", "torch.backends.mkl.verbose", "torch.backends.mps.*",
        "torch.backends.python_native", "torch.backends.xeon", "torch.backends.xeon.*", "torch.utils.mkldnn",
        "torch.cuda.has_magma",
    ),
    "engine.compile has other guards and caches than PyTorch's compiler": (
        "torch.compiler.config", "torch.compiler.assume_constant_result", "torch.compiler.substitute_in_graph",
        "torch.compiler.cudagraph_mark_step_begin", "torch.compiler.*guard*", "torch.compiler.*_cache_artifacts",
        "torch.compiler.load_compiled_function", "torch.compiler.nested_compile_region",
        "torch.compiler.set_default_backend", "torch.compiler.set_stance", "torch.compiler.wrap_numpy",
    ),
    "it belongs to PyTorch's function tracing, which the engine does not have": (
        "torch.func.functionalize", "torch.func.debug_unwrap",
    ),
    "the engine's devices are cpu, cuda and meta": (
        "torch.*Accelerator*", "torch.Tensor.ipu", "torch.Tensor.xpu", "torch.Tensor.mtia", "torch.Tensor.to_mkldnn",
        "torch.utils.*privateuse1*", "torch.utils.backend_registration", "torch.mps.event", "torch.mtia.*",
        "torch.xpu.*", "torch.accelerator.graphs", "torch.accelerator.memory",
    ),
    "it is internal to PyTorch": (
        "torch.autograd.NestedIOFunction", "torch.autograd.enforce_grad_layout_policy",
        "torch.autograd.set_multithreading_enabled", "torch.autograd.graph.region_activation_memory_budget",
        "torch.autograd.graph.set_override_*", "torch.autograd.graph.set_warn_on_*", "torch.hash_tensor",
        "torch.Tensor.hash_tensor", "torch.monitor", "torch.init_num_threads", "torch.compiled_with_cxx11_abi",
        "torch.utils.backcompat", "torch.utils.get_cpp_backtrace", "torch.utils.checkpoint.SAC_IGNORED_OPS",
        "torch.utils.cpp_backtrace", "torch.utils.debug_log", "torch.utils.file_baton", "torch.utils.hipify",
        "torch.utils.hipify.*", "torch.utils.module_tracker", "torch.utils.serialization", "torch.utils.viz",
        "torch.utils.serialization.config", "torch.utils.weak", "torch.utils.hooks.BackwardHook",
        "torch.utils.hooks.unserializable_hook", "torch.utils.hooks.warn_if_has_hooks", "torch.contrib",
        "torch.nn.backends", "torch.nn.backends.thnn", "torch.nn.cpp", "torch.nn.utils.init", "torch.numa",
        "torch.numa.binding", "torch.torch_version", "torch.cuda.amp.common", "torch.cuda.default_generators",
        "torch.cuda.has_half", "torch.utils.tensorboard.summary", "torch.multiprocessing.pool",
        "torch.multiprocessing.queue", "torch.multiprocessing.reductions", "torch.utils.set_module",
        "torch.utils.swap_tensors", "torch.utils.checkpoint.[DG]*", "torch.utils.checkpoint.CheckpointFunction",
        "torch.utils.checkpoint.check_backward_validity",
        "torch.utils.checkpoint.detach_variable", "torch.utils.checkpoint.set_checkpoint_debug_enabled",
        "torch.nn.factory_kwargs", "torch.native_channel_shuffle", "torch.Tensor.as_subclass",
        "torch.Tensor.module_load", "torch.Tensor.grad_dtype", "torch.Tensor.const_data_ptr",
        "torch.Tensor.__setstate__", "torch.optim.swap_in_optimizer_*", "torch.utils.dlpack.DLDeviceType",
        "torch.thread_safe_generator", "torch.random.thread_safe_generator",
    ),
    "selective checkpointing is not supported; checkpoint only the parts that are cheap to recompute": (
        "torch.utils.checkpoint.*elective*", "torch.utils.checkpoint.CheckpointPolicy",
    ),
    "there is one attention kernel; use nn.functional.scaled_dot_product_attention": (
        "torch.nn.attention.*_flash_attention_impl*", "torch.nn.attention.WARN_FOR_UNFUSED_KERNELS",
        "torch.nn.attention.bias", "torch.nn.attention.experimental", "torch.nn.attention.flex_attention",
        "torch.nn.attention.varlen",
    ),
    'it is a deprecated path; use autocast("cpu")': ("torch.cpu.amp", "torch.cpu.amp.*"),
    "use autograd.grad for gradients of convolutions": ("torch.nn.grad",),
    "use scipy.stats.qmc for quasirandom numbers": ("torch.quasirandom",),
    "C++ extensions are not supported; call Python and NumPy functions directly": ("torch.utils.cpp_extension",),
    "use show_config()": ("torch.utils.collect_env",),
    "there is no setting to fill uninitialized memory": ("torch.utils.deterministic",),
    "use clone() on the view": ("torch.[!in]*_copy",),
    "it is removed or deprecated in PyTorch as well": (
        "torch.eig", "torch.lstsq", "torch.solve", "torch.matrix_rank", "torch.Tensor.eig", "torch.Tensor.lstsq",
        "torch.Tensor.solve", "torch.Tensor.volatile", "torch.nn.Container", "torch.cuda.*_cached",
        "torch.cuda.reset_max_*", "torch.cuda.amp.amp_*", "torch.legacy_contiguous_format",
    ),
    "it is a method name of Python 2": (
        "torch.Tensor.__div__", "torch.Tensor.__idiv__", "torch.Tensor.__rdiv__", "torch.Tensor.__long__",
        "torch.Tensor.__nonzero__",
    ),
    "typed storages are deprecated; pass a dtype to engine.tensor": (
        "torch.*Storage", "torch.StorageBase", "torch.cuda.*Storage", "torch.Tensor.storage",
        "torch.Tensor.storage_type",
    ),
    "memory layouts cannot be chosen for NumPy and CuPy arrays": (
        "torch.nn.utils.convert_conv*_memory_format", "torch.empty_permuted", "torch.nn.utils.memory_format",
    ),
    "CuPy manages CUDA's streams, graphs and allocator": (
        "torch.Stream", "torch.Event", "torch.cuda.CUDA*", "torch.cuda.*Stream*", "torch.cuda.*stream*",
        "torch.cuda.GreenContext", "torch.cuda.MemPool", "torch.cuda.*caching_allocator*", "torch.cuda.*mem_pool",
        "torch.cuda.*current_*_handle", "torch.cuda.*allocator*", "torch.cuda.graph*",
        "torch.cuda.make_graphed_callables", "torch.cuda.*host_memory*", "torch.cuda.*accumulated_memory*",
        "torch.cuda.memory_s*", "torch.cuda.*_process_memory_fraction", "torch.cuda.*_sync_debug_mode",
        "torch.cuda.cudart", "torch.cuda.cudaStatus", "torch.cuda.check_error", "torch.cuda.CudaError",
        "torch.cuda.DeferredCudaCallError", "torch.cuda.can_device_access_peer", "torch.cuda.device_of",
        "torch.Tensor.record_stream", "torch.cuda.gds", "torch.cuda.green_contexts", "torch.cuda.jiterator",
        "torch.cuda.tunable",
    ),
    "use nvidia-smi for values of the driver": (
        "torch.cuda.clock_rate", "torch.cuda.power_draw", "torch.cuda.temperature", "torch.cuda.utilization",
        "torch.cuda.memory_usage", "torch.cuda.device_memory_used", "torch.cuda.list_gpu_processes",
        "torch.cuda.get_arch_list", "torch.cuda.get_gencode_flags", "torch.cuda.is_tf32_supported",
    ),
    "PyTorch has deprecated data pipes; use datasets and loaders": (
        "torch.utils.data.*DataPipe*", "torch.utils.data.*datapipe*", "torch.utils.data.DataChunk",
        "torch.utils.data.*runtime_validation*", "torch.utils.data.argument_validation",
        "torch.utils.data.non_deterministic", "torch.utils.data.datapipes", "torch.utils.data.datapipes.*",
        "torch.utils.data.datapipes.*.*", "torch.utils.data.backward_compatibility", "torch.utils.data.graph*",
    ),
    "there are no sparse matrices; use linalg.eigh": (
        "torch.lobpcg",
    ),
    "use the function of the same name in nn.functional": (
        "torch.batch_norm", "torch.instance_norm", "torch.embedding*", "torch.*_loss", "torch.kl_div",
        "torch.binary_cross_entropy_with_logits",
    ),
    "use the pooling function of nn.functional with return_indices=True": (
        "torch.*_with_indices", "torch.nn.functional.*_with_indices",
    ),
    "use conv1d on transposed tensors": (
        "torch.conv_tbc", "torch.nn.functional.conv_tbc",
    ),
    "tensors have no names, no index method, and no item deletion": (
        "torch.Tensor.__delitem__", "torch.Tensor.index", "torch.Tensor.name",
    ),
    "use numpy.memmap and from_numpy": ("torch.from_file",),
}  # fmt: skip


def reason(path: str) -> str:
    """Return why a name such as "torch.fft.rfft" is left out; empty if there is no reason."""
    return next(
        (
            reason_text
            for reason_text, patterns in REASONS.items()
            if any(matches(path, pattern) for pattern in patterns)
        ),
        "",
    )


def matches(path: str, pattern: str) -> bool:
    """Match namespace and name separately, so that `torch.*_` matches only names directly in `torch`."""
    parts = zip(path.rpartition("."), pattern.rpartition("."), strict=True)
    return all(fnmatchcase(part, sub_pattern) for part, sub_pattern in parts)


def explanation(module: str, name: str) -> str:
    """The text of the AttributeError for a name that a module such as "engine.fft" does not have."""
    reason_text = "" if name.startswith("_") else reason(f"{module.replace('engine', 'torch', 1)}.{name}")
    return (
        f"{module}.{name} is not available: {reason_text}"
        if reason_text
        else f"module {module!r} has no attribute {name!r}"
    )


PARENT_MODULES: Final = frozenset(
    pattern.rpartition(".")[0].replace("torch", "engine", 1) for patterns in REASONS.values() for pattern in patterns
)
"""Modules of the engine with missing names."""
