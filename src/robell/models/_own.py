"""Whether a method is this package's own: only then may a shortcut stand in for it."""

from __future__ import annotations

from inspect import isfunction

from sklearn.base import ClassifierMixin, RegressorMixin

# What ``fit`` calls, and fits of rows that come in parts do not, or not with all rows at hand.
PASSED_OVER = ("fit", "_prepare", "_fit_prepared", "_fit_weighted", "_fit_rows", "_fit_features")
PASSED_OVER += ("_solve_system",)
PASSED_OVER += ("_fit", "_fit_ridge", "_leaves_out", "_use_left_out", "_targets", "_class_cost")
PASSED_OVER += ("_fit_weights", "_memberships", "_with_cost", "_fit_penalty", "_calibration")
PASSED_OVER += ("_check_training", "_validate_training", "_importances")


def require_own_fit(estimator, what, called=()):
    """Raise where an estimator has a method of its own that a fit in parts would not call.

    ``called`` names those of the methods that this one does call.
    """
    if method := first_foreign(estimator, [name for name in PASSED_OVER if name not in called]):
        raise TypeError(
            f"{type(estimator).__name__} has a {method} of its own, which {what} would not call: "
            "fit it in memory"
        )


def first_foreign(estimator, names):
    """Return the first of the named methods that is not this package's own, or None.

    Looked up as Python does, on the object and then on its classes in their order: a subclass
    elsewhere, a mixin and a function put in afterwards all count. ``score`` is scikit-learn's.
    """
    return next((name for name in names if not _is_own(estimator, name)), None)


def _is_own(estimator, name):
    if name in vars(estimator):
        return False
    owner = next((cls for cls in type(estimator).__mro__ if name in vars(cls)), None)
    if owner is None:
        return True  # nobody has it, so nothing can stand in for it
    if owner is (ClassifierMixin if isinstance(estimator, ClassifierMixin) else RegressorMixin):
        return True
    found = vars(owner)[name]
    function = getattr(found, "fn", None) or getattr(found, "fget", None) or found
    modules = [owner.__module__] + ([function.__module__] if isfunction(function) else [])
    return all(module.partition(".")[0] == "robell" for module in modules)
