"""Lets threadpoolctl see and bound the threads that computations use by themselves."""

from __future__ import annotations

import threadpoolctl

from . import _shoal


class _ShoalController(threadpoolctl.LibController):
    user_api = "shoal"
    internal_api = "shoal"
    filename_prefixes = ("_shoal.",)

    def get_num_threads(self):
        # Programs ask for other libraries' sake too: a variable that is no number is told by the fit that needs it.
        try:
            return _shoal.default_threads()
        except ValueError:
            return None

    def set_num_threads(self, num_threads):
        # Limits end by setting what there was: then variables and processors count again.
        _shoal.set_default_threads(0)
        if num_threads is not None and num_threads != self.get_num_threads():
            _shoal.set_default_threads(num_threads)

    def get_version(self):
        return _shoal.version


threadpoolctl.register(_ShoalController)
