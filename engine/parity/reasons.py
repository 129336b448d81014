"""Why the engine is without some of PyTorch's public names: patterns of names by reason. The first match counts."""

from __future__ import annotations

from typing import Final

REASONS: Final[dict[str, tuple[str, ...]]] = {
    "complex numbers: the engine's tensors are real": (
        "torch.chalf", "torch.cfloat", "torch.cdouble", "torch.complex*", "torch.polar", "torch.view_as_*",
        "torch.stft", "torch.istft", "torch.Complex*Storage", "torch.cuda.Complex*",
        "torch.Tensor.chalf", "torch.Tensor.cfloat", "torch.Tensor.cdouble",
        "torch.Tensor.stft", "torch.Tensor.istft",
    ),
    "sparse tensors: the engine's tensors are dense": (
        "torch.sparse*", "torch.*_indices_copy", "torch.indices_copy", "torch.values_copy", "torch.hspmm", "torch.smm",
        "torch.sspaddmm", "torch.Tensor.sparse*", "torch.Tensor.to_sparse*", "torch.Tensor.is_sparse_csr",
        "torch.Tensor.*coalesce*", "torch.Tensor.*_indices",
        "torch.Tensor.indices", "torch.Tensor.values", "torch.Tensor.smm", "torch.Tensor.sspaddmm",
        "torch.Tensor.dense_dim", "torch.optim.SparseAdam",
    ),
    "quantized tensors": (
        "torch.q*int*[0-9]*", "torch.q_*", "torch.qscheme", "torch.per_*_affine*", "torch.per_*_symmetric",
        "torch.quantize*", "torch.quantized*",
        "torch.dequantize", "torch.int_repr", "torch.fake_quantize*", "torch.Q*Storage", "torch.ao",
        "torch.Tensor.q_*", "torch.Tensor.qscheme", "torch.Tensor.dequantize", "torch.Tensor.int_repr",
        "torch.nn.qat", "torch.nn.quant*", "torch.nn.intrinsic",
        "torch.nn.functional.scaled_mm", "torch.nn.functional.*grouped_mm", "torch.nn.functional.ScalingType",
        "torch.nn.functional.SwizzleType",
    ),
    "nested, masked and padded-to tensors": (
        "torch.nested", "torch.masked", "torch.jagged", "torch.Tensor.to_padded_tensor",
    ),
    "element types that NumPy and CuPy cannot compute with": (
        "torch.bit*[0-9]", "torch.bit", "torch.bits*x*", "torch.float8*", "torch.float4*", "torch.int[1-7]",
        "torch.uint[1-7]",
    ),
    "training over several processes or machines": (
        "torch.distributed", "torch.futures", "torch.multiprocessing", "torch.nn.DataParallel", "torch.nn.parallel",
        "torch.nn.SyncBatchNorm",
    ),
    "TorchScript, tracing and compilation of PyTorch's own kind": (
        "torch.jit", "torch.fx", "torch.export", "torch.package", "torch.ops",
        "torch.classes", "torch.Script*", "torch.Sym*", "torch.sym_*", "torch.parse_*",
        "torch.import_ir_*", "torch.merge_type*", "torch.unify_type*", "torch.fork", "torch.wait", "torch.FatalError",
        "torch.DisableTorchFunction*", "torch.*.has_torch_function*", "torch.cond", "torch.while_loop",
    ),
    "told to PyTorch's compiler of its traces, guards and caches: here Python runs on every call": (
        "torch.compiler.assume_constant_result", "torch.compiler.*_in_graph",
        "torch.compiler.cudagraph_mark_step_begin", "torch.compiler.*guard*", "torch.compiler.*_cache_artifacts",
        "torch.compiler.load_compiled_function", "torch.compiler.nested_compile_region",
        "torch.compiler.set_default_backend", "torch.compiler.set_stance", "torch.compiler.wrap_numpy",
    ),
    "made for traces of a function, and nothing is traced for these here": (
        "torch.func.functionalize", "torch.func.debug_unwrap",
    ),
    "other kinds of devices: the engine's are cpu, cuda and meta": (
        "torch.*Accelerator*", "torch.Tensor.ipu", "torch.Tensor.xpu", "torch.Tensor.mtia", "torch.Tensor.to_mkldnn",
        "torch.utils.*privateuse1*",
    ),
    "inner workings of PyTorch": (
        "torch.autograd.NestedIOFunction", "torch.autograd.enforce_grad_layout_policy",
        "torch.autograd.set_multithreading_enabled", "torch.autograd.graph.region_activation_memory_budget",
        "torch.autograd.graph.set_override_*", "torch.autograd.graph.set_warn_on_*", "torch.hash_tensor",
        "torch.Tensor.hash_tensor", "torch.monitor", "torch.init_num_threads", "torch.compiled_with_cxx11_abi",
        "torch.utils.backcompat", "torch.utils.ThroughputBenchmark", "torch.utils.get_cpp_backtrace",
        "torch.utils.set_module", "torch.utils.swap_tensors", "torch.utils.checkpoint.[DG]*",
        "torch.utils.checkpoint.CheckpointFunction",
        "torch.utils.checkpoint.*_device_states", "torch.utils.checkpoint.check_backward_validity",
        "torch.utils.checkpoint.detach_variable",
        "torch.utils.checkpoint.set_checkpoint_debug_enabled", "torch.nn.factory_kwargs",
        "torch.native_channel_shuffle",
        "torch.Tensor.as_subclass", "torch.Tensor.module_load", "torch.Tensor.grad_dtype",
        "torch.Tensor.const_data_ptr", "torch.Tensor.__setstate__", "torch.optim.swap_in_optimizer_*",
        "torch.utils.dlpack.DLDeviceType", "torch.thread_safe_generator", "torch.random.thread_safe_generator",
    ),
    "choosing op by op what a checkpoint keeps: put the cheap parts alone into checkpoints": (
        "torch.utils.checkpoint.*elective*", "torch.utils.checkpoint.CheckpointPolicy",
    ),
    "kernels of attention to choose among: there is one": ("torch.nn.attention.*_flash_attention_impl*",),
    "functions that only copy what a view shows: clone() the view": ("torch.[!in]*_copy",),
    "gone from PyTorch as well: what is left there raises, or says which name it has now": (
        "torch.eig", "torch.lstsq", "torch.solve", "torch.matrix_rank", "torch.Tensor.eig", "torch.Tensor.lstsq",
        "torch.Tensor.solve", "torch.Tensor.volatile", "torch.nn.Container", "torch.quantization",
        "torch.cuda.*_cached", "torch.cuda.reset_max_*", "torch.cuda.amp.amp_*", "torch.legacy_contiguous_format",
    ),
    "Python 2's names of methods": (
        "torch.Tensor.__div__", "torch.Tensor.__idiv__", "torch.Tensor.__rdiv__", "torch.Tensor.__long__",
        "torch.Tensor.__nonzero__",
    ),
    "typed storages and tensor classes of old versions: give a dtype to engine.tensor": (
        "torch.*Storage", "torch.StorageBase", "torch.cuda.*Storage", "torch.Tensor.storage",
        "torch.Tensor.storage_type",
    ),
    "memory layouts: NumPy and CuPy arrays have none to choose": (
        "torch.nn.utils.convert_conv*_memory_format", "torch.empty_permuted",
    ),
    "CUDA's streams, graphs and allocator, which CuPy keeps": (
        "torch.Stream", "torch.Event", "torch.cuda.CUDA*", "torch.cuda.*Stream*", "torch.cuda.*stream*",
        "torch.cuda.GreenContext", "torch.cuda.MemPool", "torch.cuda.*caching_allocator*",
        "torch.cuda.*mem_pool", "torch.cuda.*current_*_handle", "torch.cuda.*allocator*", "torch.cuda.graph*",
        "torch.cuda.make_graphed_callables", "torch.cuda.*host_memory*", "torch.cuda.*accumulated_memory*",
        "torch.cuda.memory_s*", "torch.cuda.*_process_memory_fraction",
        "torch.cuda.*_sync_debug_mode", "torch.cuda.cudart", "torch.cuda.cudaStatus", "torch.cuda.check_error",
        "torch.cuda.CudaError", "torch.cuda.DeferredCudaCallError", "torch.cuda.can_device_access_peer",
        "torch.cuda.device_of", "torch.Tensor.record_stream",
    ),
    "figures of the driver: nvidia-smi shows them": (
        "torch.cuda.clock_rate", "torch.cuda.power_draw", "torch.cuda.temperature", "torch.cuda.utilization",
        "torch.cuda.memory_usage", "torch.cuda.device_memory_used", "torch.cuda.list_gpu_processes",
        "torch.cuda.get_arch_list", "torch.cuda.get_gencode_flags", "torch.cuda.is_tf32_supported",
    ),
    "data pipes, which PyTorch gave up; datasets and loaders do the same": (
        "torch.utils.data.*DataPipe*", "torch.utils.data.*datapipe*", "torch.utils.data.DataChunk",
        "torch.utils.data.*runtime_validation*", "torch.utils.data.argument_validation",
        "torch.utils.data.non_deterministic",
    ),
    "a few eigenvalues of large sparse matrices by iteration: linalg.eigh finds all of a dense one": ("torch.lobpcg",),
    "nn.functional has these under the same name, with words for the numbers that these take": (
        "torch.batch_norm", "torch.instance_norm", "torch.embedding*", "torch.*_loss", "torch.kl_div",
        "torch.binary_cross_entropy_with_logits",
    ),
    "nn.functional's pooling functions without it in their names take return_indices=True": (
        "torch.*_with_indices", "torch.nn.functional.*_with_indices",
    ),
    "a convolution of time × batch × channels: transpose, and conv1d": (
        "torch.conv_tbc", "torch.nn.functional.conv_tbc",
    ),
    "names without use: tensors cannot be deleted from, and have neither names nor an index method": (
        "torch.Tensor.__delitem__", "torch.Tensor.index", "torch.Tensor.name",
    ),
    "libraries of their own beside tensors, modules and training": (
        "torch.profiler", "torch.utils.data.datapipes",
    ),
    "files mapped into memory: numpy.memmap and from_numpy": ("torch.from_file",),
}  # fmt: skip
