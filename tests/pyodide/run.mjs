// Runs pytest in CPython for WebAssembly: node run.mjs PYODIDE ROOT PACKAGES ARGUMENT...
import { pathToFileURL } from "node:url";
const [pyodideFolder, root, packages, ...words] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodideFolder}/pyodide.mjs`));
const python = await loadPyodide({ indexURL: `${pyodideFolder}/`, env: { HOME: "/tmp", PATH: "/nowhere" } });
for (const folder of [root, packages]) {
  python.FS.mkdirTree(folder);
  python.FS.mount(python.FS.filesystems.NODEFS, { root: folder }, folder);
}
python.globals.set("root", root);
python.globals.set("packages", packages);
python.globals.set("words", python.toPy(words));
process.exitCode = await python.runPythonAsync(`
import os, sys
sys.dont_write_bytecode = True
sys.path[:0] = [f"{root}/tests/pyodide", root, f"{root}/plugins", f"{root}/tests", packages]
os.chdir(root)
import stand_ins
import pytest
int(pytest.main(["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:anyio", "-p", "no:hypothesispytest", "-c", f"{root}/tests/pyodide/pytest.ini",
                 "--rootdir", root, "--import-mode=importlib", *words]))
`);
