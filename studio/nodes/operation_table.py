"""The functions of the engine that are nodes: what cannot be derived from their signatures and docstrings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from engine.registry import Parameter, Range
from studio.nodes.einsum_text import equation_problem, operands

COUNT = Range(ge=1)
EQUATION = "nqd,nkd->nqk"
OUTPUTS = Range(ge=1, le=64)
DECIMALS = Range(ge=-30, le=30)
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool")


@dataclass(frozen=True, slots=True)
class Operation:
    """One function that is a node."""

    title: str
    tags: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ("output",)
    sizes: str = ""
    """The argument that is a shape, in which N stands for the size of the batch."""
    numbers: tuple[str, ...] = ()
    """Arguments without a type in the signature that are numbers instead of tensors."""
    either: tuple[str, ...] = ()
    """Arguments that are a tensor or a number: an input with a parameter of the same name."""
    required: tuple[str, ...] = ()
    """Inputs that the function declares as optional."""
    hidden: tuple[str, ...] = ()
    """Arguments that the node does not have."""
    params: tuple[Parameter, ...] = ()
    """Parameters that differ from those in the signature, or that it does not have."""
    inputs: tuple[str, ...] = ()
    """Inputs of a function whose signature does not name them."""
    counted: str = ""
    """The parameter that says how many outputs there are."""
    presets: Mapping[str, int] = field(default_factory=dict[str, int])
    """Defaults that differ from those of the function, because dimension 0 is the batch."""
    names: Callable[[str], tuple[str, ...]] | None = None
    """Reads the names of the inputs from the first parameter, which is a text."""
    grows: bool = False
    """Whether the function is associative, so that the node takes any number of inputs."""
    icon: str = ""
    """Icon, if it is not that of the group."""


OPERATIONS: Mapping[str, Mapping[str, Operation]] = {
    "Arithmetic": {
        "ops.add": Operation("Add", ("sum", "plus", "residual", "skip connection", "+"), grows=True, icon="plus"),
        "ops.sub": Operation("Subtract", ("minus", "difference", "-"), icon="minus"),
        "ops.mul": Operation("Multiply", ("times", "product", "gate", "scale", "*"), grows=True, icon="multiply"),
        "ops.div": Operation("Divide", ("quotient", "/")),
        "ops.floor_divide": Operation("Floor divide", ("quotient", "//")),
        "ops.remainder": Operation("Remainder", ("modulo", "%")),
        "ops.pow": Operation("Power", ("exponent", "**", "^")),
        "ops.square": Operation("Square", ("x²",)),
        "ops.sqrt": Operation("Square root", ("√",)),
        "ops.rsqrt": Operation("Reciprocal square root", ("1/√",)),
        "ops.reciprocal": Operation("Reciprocal", ("inverse", "1/x")),
        "ops.neg": Operation("Negate", ("negative", "minus")),
        "ops.abs": Operation("Absolute value", ("magnitude", "|x|")),
        "ops.sign": Operation("Sign", ("signum",)),
        "ops.maximum": Operation("Maximum", ("larger",), grows=True),
        "ops.minimum": Operation("Minimum", ("smaller",), grows=True),
        "ops.clamp": Operation("Clamp", ("clip", "limit", "bounds"), numbers=("min", "max")),
        "ops.lerp": Operation("Interpolate linearly", ("blend", "mix"), either=("weight",)),
        "ops.addcmul": Operation("Add a product", ("fused",)),
        "ops.addcdiv": Operation("Add a quotient", ("fused",)),
        "ops.floor": Operation("Round down", ("⌊x⌋",)),
        "ops.ceil": Operation("Round up", ("⌈x⌉",)),
        "ops.trunc": Operation("Truncate", ("integer part",)),
        "ops.round": Operation(
            "Round",
            ("nearest",),
            params=(Parameter("decimals", "int", 0, range=DECIMALS, help="number of decimal places"),),
        ),
        "ops.frac": Operation("Fractional part", ("modulo 1",)),
        "ops.nan_to_num": Operation("Replace NaN", ("infinity", "missing")),
    },
    "Exponential": {
        "ops.exp": Operation("Exponential", ("eˣ",)),
        "ops.exp2": Operation("Exponential to base 2", ("2ˣ",)),
        "ops.expm1": Operation("Exponential minus 1", ("eˣ − 1",)),
        "ops.log": Operation("Logarithm", ("ln",)),
        "ops.log2": Operation("Logarithm to base 2", ("lb",)),
        "ops.log10": Operation("Logarithm to base 10", ("decibel",)),
        "ops.log1p": Operation("Logarithm of 1 + x", ("ln",)),
        "ops.logaddexp": Operation("Log-add-exp", ("ln", "sum")),
        "ops.logit": Operation("Logit", ("inverse sigmoid", "log odds")),
        "ops.xlogy": Operation("x log y", ("entropy",)),
        "ops.erf": Operation("Error function", ("gaussian",)),
        "ops.erfc": Operation("Complementary error function", ("gaussian",)),
        "ops.erfinv": Operation("Inverse error function", ("gaussian",)),
        "ops.lgamma": Operation("Logarithm of gamma", ("factorial",)),
        "ops.digamma": Operation("Digamma", ("psi",)),
    },
    "Trigonometry": {
        "ops.sin": Operation("Sine", ("wave", "periodic")),
        "ops.cos": Operation("Cosine", ("wave", "periodic")),
        "ops.tan": Operation("Tangent"),
        "ops.asin": Operation("Arc sine", ("arcsin", "inverse")),
        "ops.acos": Operation("Arc cosine", ("arccos", "inverse")),
        "ops.atan": Operation("Arc tangent", ("arctan", "inverse")),
        "ops.atan2": Operation("Arc tangent of x / y", ("arctan2", "angle")),
        "ops.sinh": Operation("Hyperbolic sine"),
        "ops.cosh": Operation("Hyperbolic cosine"),
        "ops.asinh": Operation("Inverse hyperbolic sine", ("arcsinh",)),
        "ops.acosh": Operation("Inverse hyperbolic cosine", ("arccosh",)),
        "ops.atanh": Operation("Inverse hyperbolic tangent", ("arctanh",)),
        "ops.sinc": Operation("Sinc", ("sin(πx) / πx",)),
        "ops.hypot": Operation("Hypotenuse", ("norm", "√(x² + y²)")),
        "ops.deg2rad": Operation("Degrees to radians", ("angle",)),
        "ops.rad2deg": Operation("Radians to degrees", ("angle",)),
    },
    "Comparison": {
        "ops.eq": Operation("Equal", ("==",)),
        "ops.ne": Operation("Not equal", ("!=",)),
        "ops.lt": Operation("Less", ("<", "below")),
        "ops.le": Operation("Less or equal", ("<=",)),
        "ops.gt": Operation("Greater", (">", "above", "threshold")),
        "ops.ge": Operation("Greater or equal", (">=",)),
        "ops.isclose": Operation("Is close", ("almost equal", "tolerance")),
        "ops.isnan": Operation("Is NaN", ("missing",)),
        "ops.isfinite": Operation("Is finite", ("NaN", "infinity")),
        "ops.logical_and": Operation("And", ("logical", "&"), grows=True),
        "ops.logical_or": Operation("Or", ("logical", "|"), grows=True),
        "ops.logical_xor": Operation("Exclusive or", ("logical", "xor", "^")),
        "ops.logical_not": Operation("Not", ("logical", "invert", "~")),
        "ops.where": Operation("Where", ("select", "if", "condition", "mask"), either=("x", "y")),
    },
    "Reduction": {
        "ops.sum": Operation("Sum", ("total", "reduce")),
        "ops.mean": Operation("Mean", ("average", "pool", "reduce")),
        "ops.prod": Operation("Product", ("reduce",)),
        "ops.amax": Operation("Maximum over dimensions", ("max", "pool", "reduce")),
        "ops.amin": Operation("Minimum over dimensions", ("min", "reduce")),
        "ops.argmax": Operation("Index of the maximum", ("class", "prediction")),
        "ops.argmin": Operation("Index of the minimum", ("nearest",)),
        "ops.var": Operation("Variance", ("spread",), hidden=("unbiased",)),
        "ops.std": Operation("Standard deviation", ("spread",), hidden=("unbiased",)),
        "linalg.vector_norm": Operation("Norm", ("length", "L2", "L1", "euclidean")),
        "functional.normalize": Operation("Normalize vectors", ("unit length", "L2", "cosine")),
        "ops.logsumexp": Operation("Log-sum-exp", ("softmax",)),
        "ops.nansum": Operation("Sum without NaN", ("missing",)),
        "ops.nanmean": Operation("Mean without NaN", ("missing", "average")),
        "ops.count_nonzero": Operation("Count of nonzero elements", ("number",)),
        "ops.any": Operation("Any", ("or", "exists")),
        "ops.all": Operation("All", ("and", "every")),
        "ops.cumsum": Operation("Cumulative sum", ("prefix", "scan", "running")),
        "ops.cumprod": Operation("Cumulative product", ("prefix", "scan", "running")),
        "ops.cummax": Operation("Cumulative maximum", ("running",), ("values", "indices")),
        "ops.cummin": Operation("Cumulative minimum", ("running",), ("values", "indices")),
        "ops.logcumsumexp": Operation("Cumulative log-sum-exp", ("running",)),
        "ops.diff": Operation("Difference of neighbors", ("derivative", "delta"), hidden=("prepend", "append")),
        "ops.topk": Operation("Top k", ("largest", "beam"), ("values", "indices"), hidden=("sorted",)),
        "ops.sort": Operation("Sort", ("order", "rank"), ("values", "indices"), hidden=("stable",)),
        "ops.argsort": Operation("Indices that sort", ("order", "rank"), hidden=("stable",)),
    },
    "Shape": {
        "ops.reshape": Operation("Reshape", ("view", "heads", "flatten"), sizes="shape"),
        "ops.transpose": Operation("Transpose", ("swap", "swapaxes", "T")),
        "ops.permute": Operation("Permute", ("reorder", "dimensions", "rearrange")),
        "ops.movedim": Operation("Move dimensions", ("moveaxis", "channels last")),
        "ops.squeeze": Operation("Squeeze", ("remove dimension",)),
        "ops.unsqueeze": Operation("Unsqueeze", ("add dimension", "newaxis")),
        "Tensor.expand": Operation("Expand", ("broadcast", "class token"), sizes="size"),
        "Tensor.repeat": Operation("Repeat", ("tile", "copy")),
        "ops.repeat_interleave": Operation(
            "Repeat elements",
            ("upsample", "copy"),
            hidden=("output_size",),
            params=(Parameter("repeats", "int", range=COUNT, help="number of copies of each element"),),
        ),
        "ops.cat": Operation("Concatenate", ("concat", "join", "merge"), icon="concat"),
        "ops.stack": Operation("Stack", ("join", "new dimension"), presets={"dim": 1}, icon="concat"),
        "ops.split_with_sizes": Operation(
            "Split", ("divide", "separate"), counted="split_sizes", presets={"dim": 1}, icon="split"
        ),
        "ops.chunk": Operation(
            "Chunk", ("divide", "split", "halves"), counted="chunks", presets={"dim": 1}, icon="split"
        ),
        "ops.unbind": Operation(
            "Unbind",
            ("split", "unstack", "steps"),
            counted="outputs",
            presets={"dim": 1},
            params=(Parameter("outputs", "int", 2, range=OUTPUTS, help="size of the dimension"),),
            icon="split",
        ),
        "ops.flip": Operation("Flip", ("reverse", "mirror")),
        "ops.roll": Operation("Roll", ("shift", "rotate", "circular")),
        "ops.rot90": Operation("Rotate by 90°", ("turn",)),
        "functional.pad": Operation("Pad", ("zero padding", "border", "crop")),
        "functional.interpolate": Operation(
            "Interpolate", ("upsample", "resize", "nearest", "bilinear"), hidden=("recompute_scale_factor",)
        ),
        "functional.grid_sample": Operation("Sample on a grid", ("warp", "spatial transformer")),
    },
    "Indexing": {
        "ops.select": Operation("Select", ("index", "last step", "class token", "[]")),
        "ops.narrow": Operation("Narrow", ("slice", "crop")),
        "ops.gather": Operation("Gather", ("index", "lookup"), hidden=("sparse_grad",)),
        "ops.take_along_dim": Operation("Take along a dimension", ("index", "argsort")),
        "ops.index_select": Operation("Select by index", ("rows", "reorder", "lookup")),
        "ops.masked_fill": Operation("Fill by mask", ("attention mask", "causal"), numbers=("value",)),
        "ops.scatter_add": Operation("Scatter and add", ("segment sum", "graph")),
        "functional.one_hot": Operation("One-hot", ("classes", "encode"), icon="onehot"),
        "ops.tril": Operation("Lower triangle", ("causal mask",)),
        "ops.triu": Operation("Upper triangle", ("causal mask",)),
        "ops.diagonal": Operation("Diagonal", ("main",)),
        "ops.diag_embed": Operation("Diagonal matrix", ("embed",)),
    },
    "Linear algebra": {
        "ops.matmul": Operation("Matrix product", ("dot", "@")),
        "ops.bmm": Operation("Batched matrix product", ("dot", "@")),
        "functional.scaled_dot_product_attention": Operation(
            "Scaled dot-product attention",
            ("sdpa", "flash", "transformer", "causal", "query", "key", "value"),
            hidden=("dropout_p", "enable_gqa"),
            icon="attention",
        ),
        "ops.einsum": Operation(
            "Einsum",
            ("einstein", "contraction", "tensor product", "attention"),
            inputs=("a", "b"),
            params=(
                Parameter(
                    "equation",
                    "str",
                    EQUATION,
                    is_preset=True,
                    help="a letter for each dimension of each input, then those of the result",
                    grammar=equation_problem,
                ),
            ),
            names=operands,
        ),
        "ops.outer": Operation("Outer product", ("vectors",)),
        "linalg.vecdot": Operation("Dot product of vectors", ("inner", "similarity")),
        "ops.cdist": Operation("Pairwise distances", ("euclidean", "kernel"), hidden=("compute_mode",)),
        "linalg.cross": Operation("Cross product", ("vectors",)),
        "ops.det": Operation("Determinant", ("volume",)),
        "ops.logdet": Operation("Log determinant", ("normalizing flow",)),
        "ops.inverse": Operation("Inverse matrix", ("invert",)),
        "linalg.solve": Operation("Solve", ("linear system",), hidden=("left",)),
        "linalg.cholesky": Operation("Cholesky factor", ("covariance",)),
        "ops.matrix_exp": Operation("Matrix exponential", ("rotation", "ODE")),
        "ops.matrix_power": Operation("Matrix power", ("repeated product",)),
    },
    "Gradient and dtype": {
        "ops.detach": Operation("Detach", ("stop gradient", "no gradient", "target network")),
        "Tensor.to": Operation(
            "Cast",
            ("dtype", "float", "int", "bool", "convert"),
            inputs=("x",),
            params=(Parameter("dtype", "choice", choices=DTYPES, help="dtype of the result"),),
        ),
    },
    "Creation": {
        "ops.zeros_like": Operation("Zeros like", ("empty",)),
        "ops.ones_like": Operation("Ones like", ("mask",)),
        "ops.rand_like": Operation("Uniform noise like", ("random",)),
        "ops.randn_like": Operation("Normal noise like", ("random", "reparameterization", "VAE")),
    },
}
"""Functions by group and key."""
