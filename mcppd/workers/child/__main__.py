"""A worker in an interpreter of a module's own: `python -E -B <this directory> <wire's descriptor>`.

Written so that an interpreter that is too old can read it and say so.
"""

import sys

if sys.version_info < (3, 10):  # noqa: UP036 - the interpreter is one that somebody named in tools.yaml
    sys.stderr.write("mcppd: tools need Python 3.10 or newer, and ")
    sys.stderr.write(sys.executable + " is Python " + sys.version.split()[0])
    sys.exit(". Name another interpreter with `python:` in tools.yaml.")

sys.dont_write_bytecode = False  # our own files may have caches: compiling them takes half of the start
del sys.path[0]  # this directory: its files must not be importable by their bare names

import importlib  # noqa: E402 - not before this directory is off the search path
import os  # noqa: E402
import types  # noqa: E402

package = types.ModuleType("_mcppd")
package.__path__ = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
sys.modules[package.__name__] = package
importlib.import_module(package.__name__ + ".child.process").main(int(sys.argv[1]))
