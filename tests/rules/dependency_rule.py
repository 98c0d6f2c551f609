#!/usr/bin/env python3
"""The dependency rule of docs/architecture.md, read from the #include lines.

Usage: dependency_rule.py SOURCE_DIR
"""
import pathlib
import re
import sys

# folder -> folders it may include (itself and what these may include too).
DIRECT = {
    "base": [],
    "tensor": ["base"],
    "io": ["tensor"],
    "text": ["io"],
    "attention": ["tensor"],
    "bench": ["attention"],
    "lens": ["attention"],
    "nn": ["attention"],
    "model": ["text", "io", "nn"],
    "render": ["lens", "io"],
    "train": ["nn", "model"],
    "lab": ["nn", "model"],
}
EVERYTHING = {"cli", "capi"}

# Which folder owns a public header.
OWNER = {
    "version": "base", "error": "base", "threads": "base", "tensor": "tensor", "mask": "attention",
    "attention": "attention", "kv_cache": "attention", "nn": "nn",
    "tokenizer": "text", "model": "model", "lens": "lens", "io": "io",
    "render": "render", "regard_c": "capi", "regard": "capi",
}

# Third-party headers and the only places that may include them.
LIBRARIES = {
    r"hwy/": ["attention/kernels", "bench", "tensor", "nn", "lens"],
    r"oneapi/dnnl/|dnnl": ["nn"],
    r"unicode/": ["text"],
    r"cairo|pango|png\.h|glib": ["render"],
    r"simdjson|nlohmann": ["base", "io"],
    r"zlib\.h": ["io", "render"],
    r"minizip|nettle/": ["io"],
    r"CLI/": ["cli"],
}


def allowed(folder):
    seen, todo = set(), [folder]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += DIRECT[name]
    return seen


def violations(root):
    src = root / "src"
    for path in sorted([*src.rglob("*.cc"), *src.rglob("*.h")]):
        inside = path.relative_to(src)
        folder = inside.parts[0]
        if folder not in DIRECT and folder not in EVERYTHING:
            yield f"{inside}: folder {folder} is not in the dependency rule"
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
            if not match:
                continue
            target = match.group(1)
            where = f"src/{inside}:{number}"
            for pattern, places in LIBRARIES.items():
                if re.match(pattern, target) and not any(
                    str(inside).startswith(place + "/") for place in places
                ):
                    yield f"{where}: {target} belongs only in {', '.join(places)}"
            if folder in EVERYTHING:
                continue
            public = re.fullmatch(r"regard/(\w+)\.h", target)
            owner = OWNER.get(public.group(1)) if public else target.split("/")[0]
            if public and owner is None:
                yield f"{where}: {target} has no owner in the dependency rule"
            elif public or (src / owner).is_dir():
                is_test = path.name.endswith("_test.cc")
                if owner not in allowed(folder) and not is_test:
                    yield f"{where}: {folder} may not depend on {owner} ({target})"


def main():
    root = pathlib.Path(sys.argv[1])
    found = list(violations(root))
    print("\n".join(found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
