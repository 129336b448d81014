"""Functions of a tensor `x` whose Python state changes between calls: as source, in three parts.

Each case is what is there before the first call, the function's body or its result, and the change. `n` is the number
of the change. `seen` is a list for side effects; `w` a tensor whose values and gradient are compared as well.
"""

from __future__ import annotations

from tests.engine.compiler.tensor_changes import MODELS, OPTIMIZERS, TENSORS, Case

CONTAINERS: dict[str, Case] = {
    "list entry": ("k = [2.0]", "x * k[0]", "k[0] = 5.0 + n"),
    "whole number in a list": ("k = [2]", "x * k[0]", "k[0] = 5 + n"),
    "truth in a list": ("k = [True]", "x if k[0] else -x", "k[0] = not k[0]"),
    "nested list": ("k = [[2.0]]", "x * k[0][0]", "k[0][0] += n"),
    "list in a tuple": ("k = ([2.0],)", "x * k[0][0]", "k[0][0] += n"),
    "list length": ("k = []", "x * len(k)", "k.append(0)"),
    "empty list": ("k = []", "x * 2 if k else x * 3", "k.append(0)"),
    "list sum": ("k = [1.0]", "x * sum(k)", "k.append(3.0)"),
    "list maximum": ("k = [1.0]", "x * max(k)", "k.append(3.0 + n)"),
    "list slice": ("k = [1.0, 2.0]", "x * sum(k[-2:])", "k.append(3.0 + n)"),
    "list loop": ("k = [1.0]", "for v in k: x = x + v\nreturn x", "k.append(3.0)"),
    "list comprehension": ("k = [1.0]", "sum([x * v for v in k])", "k.append(3.0)"),
    "generator expression": ("k = [1.0]", "sum(x * v for v in k)", "k.append(3.0)"),
    "list search": ("k = [1.0]", "x * (3.0 if 7 in k else 2.0)", "k.append(6 + n)"),
    "list index": ("k = [0, 9]", "x * k.index(9)", "k.insert(0, 0)"),
    "list count": ("k = [9]", "x * k.count(9)", "k.append(9)"),
    "list order": ("k = [1.0, 2.0]", "x * k[0]", "k.reverse()"),
    "list sorted": ("k = [3.0, 1.0, 2.0]", "x * k[0]", "k.sort(reverse=n == 2)"),
    "list replaced": ("k = [2.0]", "x * k[0]", "k = [5.0 + n]"),
    "list deleted from": ("k = [1.0, 2.0, 3.0]", "x * k[0]", "del k[0]"),
    "enumerate": ("k = [1.0]", "for i, v in enumerate(k): x = x * (i + v)\nreturn x", "k.append(3.0)"),
    "zip": ("k = [1.0]; m = [2.0, 4.0, 6.0]", "for a, b in zip(k, m): x = x * a + b\nreturn x", "k.append(3.0)"),
    "map": ("k = [1.0]", "x * sum(map(abs, k))", "k.append(-3.0)"),
    "unpacking": ("k = [1.0, 2.0]", "a, *b = k\nreturn x * a + len(b)", "k.append(3.0)"),
    "star arguments": ("k = [1.0]; g = lambda x, *a: x * sum(a)", "g(x, *k)", "k.append(3.0)"),
    "keyword arguments": ("k = {'a': 1.0}; g = lambda x, a: x * a", "g(x, **k)", "k['a'] += n"),
    "dict entry": ("k = {'a': 2.0}", "x * k['a']", "k['a'] = 5.0 + n"),
    "dict entry by number": ("k = {3: 2.0}", "x * k[3]", "k[3] = 5.0 + n"),
    "dict entry by tuple": ("k = {(1, 2): 2.0}", "x * k[1, 2]", "k[1, 2] = 5.0 + n"),
    "dict entry by variable": ("k = {'a': 2.0, 'b': 3.0}; key = 'a'", "x * k[key]", "key = 'b' if n == 1 else 'a'"),
    "dict get": ("k = {}", "x * k.get('a', 2.0)", "k['a'] = 5.0 + n"),
    "dict key": ("k = {}", "x * (2.0 if 'a' in k else 3.0)", "k['a'] = 1"),
    "dict key deleted": ("k = {'a': 1}", "x * (2.0 if 'a' in k else 3.0)", "k.pop('a', None)"),
    "dict length": ("k = {}", "x * len(k)", "k[n] = 0"),
    "dict values": ("k = {}", "x * sum(k.values())", "k[n] = 2.0"),
    "dict items": ("k = {1: 1.0}", "for a, b in k.items(): x = x * a + b\nreturn x", "k[n + 1] = 2.0"),
    "dict order": ("k = {1.0: 0, 2.0: 0}", "x * next(iter(k))", "first = next(iter(k)); k[first] = k.pop(first)"),
    "nested dict": ("k = {'a': {'b': 2.0}}", "x * k['a']['b']", "k['a']['b'] += n"),
    "dict written by the function": ("k = {}", "k['a'] = k.get('a', 0.0) + 1.0\nreturn x * k['a']", "k.clear()"),
    "default dict": ("k = collections.defaultdict(float)", "x * k['a']", "k['a'] += n"),
    "ordered dict": (
        "k = collections.OrderedDict(a=1.0, b=2.0)", "x * next(iter(k.values()))", "k.move_to_end(next(iter(k)))",
    ),
    "chain map": ("a = {}; k = collections.ChainMap(a, {'a': 2.0})", "x * k['a']", "a['a'] = 3.0 + n"),
    "mapping proxy": ("a = {'a': 2.0}; k = types.MappingProxyType(a)", "x * k['a']", "a['a'] += n"),
    "counter": ("k = collections.Counter()", "x * k['a']", "k['a'] += n"),
    "set member": ("k = set()", "x * (2.0 if 1 in k else 3.0)", "k.add(n)"),
    "set length": ("k = set()", "x * len(k)", "k.add(n)"),
    "set sum": ("k = {1.0}", "x * sum(k)", "k.add(5.0 + n)"),
    "frozen set replaced": ("k = frozenset()", "x * len(k)", "k = k | {n}"),
    "deque entry": ("k = collections.deque([2.0, 3.0])", "x * k[0]", "k.rotate(1)"),
    "deque length": ("k = collections.deque()", "x * len(k)", "k.append(0)"),
    "bounded deque": ("k = collections.deque([1.0], maxlen=2)", "x * sum(k)", "k.append(3.0 + n)"),
    "deque that the function consumes": (
        "k = collections.deque(map(float, range(9)))", "x * k.popleft()", "k.appendleft(9.0)",
    ),
    "heap": ("k = [5.0]", "x * k[0]", "heapq.heappush(k, 4.0 - n)"),
    "array": ("k = array.array('d', [2.0])", "x * k[0]", "k[0] += n"),
    "bytes": ("k = bytearray(b'ab')", "x * k[0]", "k[0] += n"),
    "memory view": ("a = bytearray(b'ab'); k = memoryview(a)", "x * k[0]", "a[0] += n"),
    "text replaced": ("k = 'ab'", "x * len(k)", "k += 'c'"),
    "tuple replaced": ("k = (2.0,)", "x * k[0]", "k = (2.0 + n,)"),
    "range replaced": ("k = range(2)", "for _ in k: x = x * 2\nreturn x", "k = range(2 + n)"),
    "slice replaced": ("k = slice(0, 1)", "x[k] * 2", "k = slice(0, 1 + n)"),
    "named tuple": ("k = collections.namedtuple('K', 'a')(2.0)", "x * k.a", "k = k._replace(a=2.0 + n)"),
    "enum replaced": ("E = enum.Enum('E', {'A': 2.0, 'B': 3.0}); k = E.A", "x * k.value", "k = E.B if n == 1 else E.A"),
}  # fmt: skip

OBJECTS: dict[str, Case] = {
    "attribute": ("class C: a = 2.0\nk = C(); k.a = 2.0", "x * k.a", "k.a += n"),
    "attribute of an attribute": (
        "k = types.SimpleNamespace(b=types.SimpleNamespace(a=2.0))", "x * k.b.a", "k.b.a += n",
    ),
    "object replaced": ("k = types.SimpleNamespace(a=2.0)", "x * k.a", "k = types.SimpleNamespace(a=2.0 + n)"),
    "object in a list": ("k = [types.SimpleNamespace(a=2.0)]", "x * k[0].a", "k[0].a += n"),
    "object in a dict": ("k = {1: types.SimpleNamespace(a=2.0)}", "x * k[1].a", "k[1].a += n"),
    "list of an object": ("k = types.SimpleNamespace(a=[2.0])", "x * k.a[0]", "k.a[0] += n"),
    "class attribute": ("class C: a = 2.0\nk = C()", "x * k.a", "C.a += n"),
    "class attribute by name": ("class C: a = 2.0", "x * C.a", "C.a += n"),
    "inherited attribute": ("class B: a = 2.0\nclass C(B): pass\nk = C()", "x * k.a", "B.a += n"),
    "attribute over that of the class": ("class C: a = 2.0\nk = C()", "x * k.a", "k.a = 2.0 + n"),
    "attribute deleted": ("class C: a = 2.0\nk = C(); k.a = 3.0", "x * k.a", "vars(k).pop('a', None)"),
    "slot": ("class C: __slots__ = ('a',)\nk = C(); k.a = 2.0", "x * k.a", "k.a += n"),
    "property": ("class C: a = property(lambda self: self.b)\nk = C(); k.b = 2.0", "x * k.a", "k.b += n"),
    "property of a global": ("b = 2.0\nclass C: a = property(lambda self: b)\nk = C()", "x * k.a", "b += n"),
    "property replaced": (
        "class C: a = property(lambda self: 2.0)\nk = C()", "x * k.a", "C.a = property(lambda self, n=n: 2.0 + n)",
    ),
    "descriptor": (
        "class D:\n def __get__(self, *_): return self.a\nd = D(); d.a = 2.0\nclass C: a = d\nk = C()", "x * k.a",
        "d.a += n",
    ),
    "cached property": (
        "b = [2.0]\nclass C:\n @functools.cached_property\n def a(self): return b[0]\nk = C()", "x * k.a",
        "b[0] += n; vars(k).pop('a', None)",
    ),
    "missing attribute": ("class C:\n def __getattr__(self, name): return b\nb = 2.0; k = C()", "x * k.a", "b += n"),
    "every attribute": ("class C:\n def __getattribute__(self, name): return b\nb = 2.0; k = C()", "x * k.a", "b += n"),
    "hasattr": ("k = types.SimpleNamespace()", "x * (2.0 if hasattr(k, 'a') else 3.0)", "k.a = 1"),
    "getattr": ("k = types.SimpleNamespace()", "x * getattr(k, 'a', 2.0)", "k.a = 3.0 + n"),
    "getattr by a name that changes": (
        "k = types.SimpleNamespace(a=2.0, b=3.0); name = 'a'", "x * getattr(k, name)", "name = 'b' if n == 1 else 'a'",
    ),
    "vars": ("k = types.SimpleNamespace(a=2.0)", "x * vars(k)['a']", "k.a += n"),
    "number of attributes": ("k = types.SimpleNamespace()", "x * len(vars(k))", "setattr(k, 'a' * n, 0)"),
    "setattr by the function": ("k = types.SimpleNamespace(a=1.0)", "k.a += 1.0\nreturn x * k.a", "k.a = 10.0 * n"),
    "class of an object": (
        "class A: a = 2.0\nclass B: a = 3.0\nk = A()", "x * k.a", "k.__class__ = B if n == 1 else A",
    ),
    "isinstance": ("k = 1", "x * (2.0 if isinstance(k, int) else 3.0)", "k = 1.0 if n == 1 else 1"),
    "issubclass registered": (
        "class A(abc.ABC): pass\nclass B: pass", "x * (2.0 if issubclass(B, A) else 3.0)", "A.register(B)",
    ),
    "method of a class replaced": (
        "class C: m = lambda self: 2.0\nk = C()", "x * k.m()", "C.m = lambda self, n=n: 2.0 + n",
    ),
    "method of an object replaced": (
        "class C: m = lambda self: 2.0\nk = C()", "x * k.m()", "k.m = lambda n=n: 2.0 + n",
    ),
    "static method": ("class C: m = staticmethod(lambda: 2.0)", "x * C.m()", "C.m = staticmethod(lambda n=n: 2.0 + n)"),
    "class method": ("class C: m = classmethod(lambda cls: cls.a); a = 2.0", "x * C.m()", "C.a += n"),
    "base class replaced": (
        "class A: a = 2.0\nclass B: a = 3.0\nclass C(A): pass", "x * C.a", "C.__bases__ = (B,) if n == 1 else (A,)",
    ),
    "length": ("class C: __len__ = lambda self: self.a\nk = C(); k.a = 2", "x * len(k)", "k.a += n"),
    "truth": ("class C: __bool__ = lambda self: self.a\nk = C(); k.a = True", "x if k else -x", "k.a = not k.a"),
    "index": ("class C: __index__ = lambda self: self.a\nk = C(); k.a = 0", "x[k] * 2", "k.a = n"),
    "membership": (
        "class C: __contains__ = lambda self, one: self.a\nk = C(); k.a = True", "x * (2.0 if 1 in k else 3.0)",
        "k.a = not k.a",
    ),
    "iteration": (
        "class C: __iter__ = lambda self: iter(self.a)\nk = C(); k.a = [1.0]", "sum(x * v for v in k)",
        "k.a.append(2.0)",
    ),
    "item": ("class C: __getitem__ = lambda self, key: self.a\nk = C(); k.a = 2.0", "x * k[0]", "k.a += n"),
    "equality": (
        "class C: __eq__ = lambda self, other: self.a\nk = C(); k.a = True", "x * (2.0 if k == 1 else 3.0)",
        "k.a = not k.a",
    ),
    "product": ("class C: __mul__ = lambda self, other: other * self.a\nk = C(); k.a = 2.0", "k * x", "k.a += n"),
    "call of an object": ("class C: __call__ = lambda self, x: x * self.a\nk = C(); k.a = 2.0", "k(x)", "k.a += n"),
    "conversion": ("class C: __float__ = lambda self: self.a\nk = C(); k.a = 2.0", "x * float(k)", "k.a += n"),
    "format": ("class C: __str__ = lambda self: self.a\nk = C(); k.a = 'a'", "x * len(f'{k}')", "k.a += 'b'"),
    "dataclass": ("@dataclasses.dataclass\nclass C: a: float = 2.0\nk = C()", "x * k.a", "k.a += n"),
    "frozen dataclass": (
        "@dataclasses.dataclass(frozen=True)\nclass C: a: float = 2.0\nk = C()", "x * k.a",
        "k = dataclasses.replace(k, a=2.0 + n)",
    ),
    "weak reference": ("class C: pass\nk = C(); r = weakref.ref(k)", "x * (2.0 if r() is None else 3.0)", "k = None"),
    "identity": ("a = object(); b = a", "x * (2.0 if a is b else 3.0)", "b = object() if n == 1 else a"),
    "metaclass": (
        "class M(type): a = property(lambda cls: cls.b)\nclass C(metaclass=M): b = 2.0", "x * C.a", "C.b += n",
    ),
    "argument's attribute": ("k = types.SimpleNamespace(a=2.0); args = lambda x: (x, k)", "x * k.a", "k.a += n"),
    "argument's list": ("k = types.SimpleNamespace(a=[2.0]); args = lambda x: (x, k)", "x * k.a[0]", "k.a[0] += n"),
    "list as an argument": ("k = [2.0]; args = lambda x: (x, k)", "x * k[0]", "k[0] += n"),
    "dict as an argument": ("k = {'a': [2.0]}; args = lambda x: (x, k)", "x * k['a'][0]", "k['a'][0] += n"),
    "callable object": ("class C: __call__ = lambda self, x: x * self.a\nf = C(); f.a = 2.0", "", "f.a += n"),
    "list of a callable object": (
        "class C: __call__ = lambda self, x: x * self.a[0]\nf = C(); f.a = [2.0]", "", "f.a[0] += n",
    ),
    "bound method": ("class C: m = lambda self, x: x * self.a\nk = C(); k.a = 2.0; f = k.m", "", "k.a += n"),
    "list of a bound method": (
        "class C: m = lambda self, x: x * self.a[0]\nk = C(); k.a = [2.0]; f = k.m", "", "k.a[0] += n",
    ),
    "slot of a bound method": (
        "class C:\n __slots__ = ('a',)\n m = lambda self, x: x * self.a\nk = C(); k.a = 2.0; f = k.m", "", "k.a += n",
    ),
}  # fmt: skip

FUNCTIONS: dict[str, Case] = {
    "global": ("k = 2.0", "x * k", "k += n"),
    "whole global": ("k = 2", "x * k", "k += n"),
    "global deleted": ("abs = lambda v: 2.0", "x * abs(-3.0)", "globals().pop('abs', None)"),
    "global written by the function": ("k = 1.0", "global k\nk += 1.0\nreturn x * k", "k = 10.0 * n"),
    "built-in shadowed": ("", "x * abs(-3.0)", "abs = lambda v, n=n: 5.0 + n"),
    "attribute of a function": ("g = lambda: 0; g.a = 2.0", "x * g.a", "g.a += n"),
    "own attribute": ("def f(x): return x * f.a\nf.a = 2.0; g = f", "", "g.a += n"),
    "default list": ("g = lambda x, k=[2.0]: x * k[0]", "g(x)", "g.__defaults__[0][0] += n"),
    "defaults replaced": ("g = lambda x, k=2.0: x * k", "g(x)", "g.__defaults__ = (2.0 + n,)"),
    "own defaults replaced": ("def f(x, k=2.0): return x * k\ng = f", "", "g.__defaults__ = (2.0 + n,)"),
    "keyword defaults": ("def g(x, *, k=2.0): return x * k", "g(x)", "g.__kwdefaults__['k'] += n"),
    "code replaced": (
        "g = lambda x: x * 2.0; h = lambda x: x * 3.0", "g(x)", "g.__code__, h.__code__ = h.__code__, g.__code__",
    ),
    "own code replaced": (
        "def f(x): return x * 2.0\ng = f; h = lambda x: x * 3.0", "",
        "g.__code__, h.__code__ = h.__code__, g.__code__",
    ),
    "closure": (
        "def made(k):\n def change(n):\n  nonlocal k; k += n\n return (lambda x: x * k), change\nf, change = made(2.0)",
        "", "change(n)",
    ),
    "closure over a list": ("def made(k): return (lambda x: x * k[0]), k\nf, k = made([2.0])", "", "k[0] += n"),
    "cell of a closure": (
        "def made(k): return lambda x: x * k\nf = made(2.0); g = f", "", "g.__closure__[0].cell_contents = 2.0 + n",
    ),
    "closure written by the function": (
        "def made(k):\n def f(x):\n  nonlocal k; k += 1.0; return x * k\n return f\nf = made(1.0); g = f", "",
        "g.__closure__[0].cell_contents = 10.0 * n",
    ),
    "closure of a helper": ("def made(k): return lambda x: x * k[0]\nk = [2.0]; g = made(k)", "g(x)", "k[0] += n"),
    "helper replaced": ("g = lambda x: x * 2", "g(x)", "g = lambda x, n=n: x * (2.0 + n)"),
    "global of a helper": ("k = 2.0; g = lambda x: x * k", "g(x)", "k += n"),
    "global of a helper's helper": ("k = 2.0; g = lambda x: x * k; h = lambda x: g(x)", "h(x)", "k += n"),
    "helper in a list": ("g = [lambda x: x * 2]", "g[0](x)", "g[0] = lambda x, n=n: x * (2.0 + n)"),
    "helper in a dict": ("g = {'a': lambda x: x * 2}", "g['a'](x)", "g['a'] = lambda x, n=n: x * (2.0 + n)"),
    "global of a helper in a list": ("k = 2.0; g = [lambda x: x * k]", "g[0](x)", "k += n"),
    "partial": ("g = functools.partial(lambda k, x: x * k[0], [2.0])", "g(x)", "g.args[0][0] += n"),
    "partial keywords": ("g = functools.partial(lambda x, k: x * k, k=2.0)", "g(x)", "g.keywords['k'] += n"),
    "own partial": ("f = functools.partial(lambda k, x: x * k[0], [2.0]); g = f", "", "g.args[0][0] += n"),
    "own partial's keywords": ("f = functools.partial(lambda x, k: x * k, k=2.0); g = f", "", "g.keywords['k'] += n"),
    "global of a partial's function": ("k = 2.0; g = functools.partial(lambda x: x * k)", "g(x)", "k += n"),
    "decorator": ("k = [2.0]\ndef d(g): return lambda x: g(x) * k[0]\n@d\ndef g(x): return x", "g(x)", "k[0] += n"),
    "cache": ("k = [2.0]\n@functools.cache\ndef g(): return k[0]", "x * g()", "k[0] += n; g.cache_clear()"),
    "cache that is kept": (
        "k = [2.0]\n@functools.cache\ndef g(i): return k[0]\ni = 0", "x * g(i)", "k[0] += n; i = n // 2",
    ),
    "single dispatch": (
        "g = functools.singledispatch(lambda v: 2.0)", "x * g(1)", "g.register(int, lambda v, n=n: 2.0 + n)",
    ),
    "attrgetter": ("k = types.SimpleNamespace(a=2.0, b=3.0); g = operator.attrgetter('a')", "x * g(k)", "k.a += n"),
    "recursion": ("k = 1\ndef g(x, d): return x if d == 0 else g(x * 2, d - 1)", "g(x, k)", "k += n"),
    "generator": ("g = (float(i) for i in range(99))", "x * next(g)", "g = (3.0 * i for i in range(99))"),
    "generator that is sent to": (
        "def made():\n a = 1.0\n while True: a += (yield a) or 0.0\ng = made()", "x * next(g)", "g.send(n)",
    ),
    "generator function": ("k = [1.0]\ndef g():\n yield from k", "sum(x * v for v in g())", "k.append(2.0)"),
    "count": ("g = itertools.count(1)", "x * float(next(g))", "g = itertools.count(10 * n)"),
    "cycle": ("g = itertools.cycle([1.0, 2.0, 3.0])", "x * next(g)", "next(g)"),
    "accumulate": ("k = [1.0]", "x * list(itertools.accumulate(k))[-1]", "k.append(2.0)"),
    "iterator over a list": ("k = [1.0] * 9; g = iter(k)", "x * next(g)", "k.extend([2.0 + n] * 3); next(g)"),
    "iterator until a sentinel": (
        "k = [1.0]; g = lambda: k.pop() if k else None", "sum(x * v for v in iter(g, None)) + x",
        "k.extend([2.0] * n)",
    ),
    "side effect": ("", "seen.append(len(seen))\nreturn x * 2", "seen.clear()"),
    "side effect on an argument": (
        "k = [0]; args = lambda x: (x, k)", "k[0] += 1\nseen.append(k[0])\nreturn x * 2", "k[0] = 9",
    ),
    "walrus": ("k = [2.0]", "x * (v := k[0]) + v", "k[0] += n"),
    "match": ("k = 1", "match k:\n case 1: return x * 2\n case _: return x * 3", "k = n % 2 + 1"),
    "while": ("k = [1]", "i = 0\nwhile i < k[0]: x = x * 2; i += 1\nreturn x", "k[0] += n"),
    "range": ("k = [1]", "for i in range(k[0]): x = x + i\nreturn x", "k[0] += n + 1"),
    "early return": ("k = [False]", "if k[0]: return x\nreturn x * 2", "k[0] = not k[0]"),
    "result's structure": ("k = [1]", "return [x * 2] * k[0]", "k[0] += n"),
    "result that is a number": ("k = [1.0]", "x * 2, k[0]", "k[0] += n"),
    "result that is an object": ("k = types.SimpleNamespace(a=1.0)", "{'y': x * 2, 'k': k.a}", "k.a += n"),
    "exec": ("k = 'x * 2'", "eval(k)", "k = f'x * {n + 3}'"),
    "locals of a class body": ("k = [2.0]", "class C: a = k[0]\nreturn x * C.a", "k[0] += n"),
    "raising": ("k = [False]", "if k[0]: raise KeyError('k')\nreturn x * 2", "k[0] = not k[0]"),
    "raised and caught": ("k = {}", "try: return x * k['a']\nexcept KeyError: return x * 2", "k['a'] = 2.0 + n"),
    "finally": ("k = [0]", "try: return x * 2\nfinally: k[0] += 1; seen.append(k[0])", "k[0] = 10 * n"),
    "else of a try": (
        "k = [1]", "try: 1 / k[0]\nexcept ZeroDivisionError: x = x * 3\nelse: x = x * 2\nreturn x", "k[0] = n - 1",
    ),
    "assert": ("k = [1]", "assert k[0]\nreturn x * 2", "k[0] = n - 1"),
    "context manager": (
        "k = [2.0]\n@contextlib.contextmanager\ndef g(): yield k[0]", "with g() as v: return x * v", "k[0] += n",
    ),
    "suppress": (
        "k = [1]", "with contextlib.suppress(ZeroDivisionError): x = x * (2 / k[0])\nreturn x", "k[0] = n - 1",
    ),
    "exit stack": (
        "k = [1]",
        "with contextlib.ExitStack() as s:\n for i in range(k[0]): s.callback(seen.append, i)\nreturn x * 2",
        "k[0] += n",
    ),
}  # fmt: skip

SURROUNDINGS: dict[str, Case] = {
    "module attribute": ("m = types.ModuleType('m'); m.a = 2.0", "x * m.a", "m.a += n"),
    "list of a module": ("m = types.ModuleType('m'); m.a = [2.0]", "x * m.a[0]", "m.a[0] += n"),
    "function of a module": (
        "m = types.ModuleType('m'); m.g = lambda x: x * 2", "m.g(x)", "m.g = lambda x, n=n: x * (2.0 + n)",
    ),
    "module's __getattr__": ("m = types.ModuleType('m'); b = 2.0; m.__getattr__ = lambda name: b", "x * m.a", "b += n"),
    "module replaced": ("m = types.ModuleType('m'); m.a = 2.0", "x * m.a", "m = types.ModuleType('m'); m.a = 2.0 + n"),
    "import in the function": (
        "m = types.ModuleType('m'); m.a = 2.0; patch.setitem(sys.modules, 'm_of_a_test', m)",
        "import m_of_a_test\nreturn x * m_of_a_test.a", "m.a += n",
    ),
    "constant of math": ("", "x * math.pi", "patch.setattr(math, 'pi', 3.0 + n)"),
    "function of math": ("", "x * math.sqrt(4.0)", "patch.setattr(math, 'sqrt', lambda v, n=n: 2.0 + n)"),
    "function of the engine": ("", "functional.relu(x)", "patch.setattr(functional, 'relu', lambda x, n=n: x * n)"),
    "method of tensors": ("", "x.relu()", "patch.setattr(engine.Tensor, 'relu', lambda x, n=n: x * (n + 1))"),
    "forward of a library class": (
        "m = nn.ReLU()", "m(x)", "patch.setattr(nn.ReLU, 'forward', lambda self, x, n=n: x * n)",
    ),
    "environment": (
        "patch.setenv('A_OF_A_TEST', '2')", "x * float(os.environ['A_OF_A_TEST'])",
        "patch.setenv('A_OF_A_TEST', str(2 + n))",
    ),
    "environment variable that appears": (
        "", "x * (2.0 if 'B_OF_A_TEST' in os.environ else 3.0)", "patch.setenv('B_OF_A_TEST', '')",
    ),
    "arguments of the program": ("patch.setattr(sys, 'argv', ['a'])", "x * len(sys.argv)", "sys.argv.append('b')"),
    "time": (
        "patch.setattr(time, 'time', lambda: 2.0)", "x * time.time()",
        "patch.setattr(time, 'time', lambda n=n: 2.0 + n)",
    ),
    "clock": (
        "ticks = itertools.count(); patch.setattr(time, 'monotonic', lambda: float(next(ticks)))",
        "x * time.monotonic()", "next(ticks)",
    ),
    "working directory": (
        "patch.setattr(os, 'getcwd', lambda: 'a')", "x * len(os.getcwd())",
        "patch.setattr(os, 'getcwd', lambda n=n: 'a' * (n + 1))",
    ),
    "file": ("k = io.StringIO('2.0')", "x * float(k.getvalue())", "k = io.StringIO(f'{n}.5')"),
    "position in a file": ("k = io.StringIO('123456789')", "x * float(k.read(1))", "k.seek(0)"),
    "random numbers of Python": ("r = random.Random(0)", "x * r.random()", "r.seed(n)"),
    "random choice": ("r = random.Random(0)", "x * 2 if r.random() < 0.5 else x * 3", "r.seed(n)"),
    "random numbers of NumPy": (
        "r = np.random.default_rng(0)", "x * float(r.random())", "r = np.random.default_rng(n)",
    ),
    "context variable": ("c = contextvars.ContextVar('c', default=2.0)", "x * c.get()", "c.set(2.0 + n)"),
    "thread's own variable": ("k = threading.local(); k.a = 2.0", "x * k.a", "k.a += n"),
    "decimal context": (
        "decimal.setcontext(decimal.Context(prec=3))", "x * float(decimal.Decimal(1) / 3)",
        "decimal.setcontext(decimal.Context(prec=3 + n))",
    ),
    "log level": ("k = logging.Logger('k')", "x * k.level", "k.setLevel(10 * n)"),
    "queue": ("k = queue.SimpleQueue(); [k.put(float(i)) for i in range(99)]", "x * k.get()", "k.put(k.get())"),
    "lock": ("k = threading.Lock()", "x * (2.0 if k.locked() else 3.0)", "k.acquire() if n == 1 else k.release()"),
    "object that is counted": (
        "class C:\n made = 0\n def __init__(self): C.made += 1", "C()\nreturn x * C.made", "C.made = 10 * n",
    ),
}  # fmt: skip

CASES = CONTAINERS | OBJECTS | FUNCTIONS | SURROUNDINGS | TENSORS | MODELS | OPTIMIZERS

__all__ = ["CASES", "Case"]
