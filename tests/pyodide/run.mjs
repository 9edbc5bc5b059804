// Runs pytest in CPython for WebAssembly: node run.mjs PYODIDE PURE ROOT PACKAGES ARGUMENT...
import { pathToFileURL } from "node:url";
const [pyodideFolder, pure, root, packages, ...words] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodideFolder}/pyodide.mjs`));
const python = await loadPyodide({ indexURL: `${pyodideFolder}/`, env: { HOME: "/tmp", PATH: "/nowhere" } });
for (const folder of [pure, root, packages]) {
  python.FS.mkdirTree(folder);
  python.FS.mount(python.FS.filesystems.NODEFS, { root: folder }, folder);
}
// What is in machine code there is for another Python: the packages in pure Python come first.
const places = ["tests/pyodide", "", "plugins", "tests"].map((place) => `${root}/${place}`);
python.globals.set("places", python.toPy([...places, pure, packages]));
python.globals.set("root", root);
python.globals.set("words", python.toPy(words));
process.exitCode = await python.runPythonAsync(`
import os, sys
sys.dont_write_bytecode = True
sys.path[:0] = places
os.chdir(root)
import pytest
import stand_ins
options = ["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:anyio"]
# What a skip cut off is destroyed later, in whatever test that is.
options += ["-W", "ignore::pytest.PytestUnraisableExceptionWarning"]
options += ["-o", "addopts=--strict-config --strict-markers --import-mode=importlib"]
int(pytest.main([*options, *words], plugins=[stand_ins]))
`);
